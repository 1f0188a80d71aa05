// What is selected: an entity, an index or a pattern, as `sel` of the address; and what belongs to it.

/** Return what an address selects: {kind, name}, or null. Names that several things have need their kind, as index:Order. */
export function findSelection(table, text) {
  if (!text) return null;
  const [, kind, name] = /^(?:(entity|index|pattern):)?(.*)$/s.exec(text);
  return listThings(table).find((each) => each.name === name && (!kind || each.kind === kind)) ?? null;
}

function listThings(table) {
  return [
    ...table.entities.map((each) => ({ kind: "entity", name: each.name })),
    ...table.indexes.map((each) => ({ kind: "index", name: each.name })),
    ...table.patterns.map((each) => ({ kind: "pattern", name: each.name })),
  ];
}

/** Return the text for `sel`: the name, with its kind if another thing has the name. */
export function writeSelection(table, thing) {
  if (!thing || thing.kind === "table") return "";
  const found = findSelection(table, thing.name);
  return found?.kind === thing.kind ? thing.name : `${thing.kind}:${thing.name}`;
}

/** Return how strongly a line is drawn: "hue", "ink" or "" for a faint one. */
export function strengthOf(line, selected, diagram) {
  if (!selected) return "";
  const { kind, name } = selected;
  if (line.kind === "member") return memberStrength(line, selected, diagram);
  if (kind === "pattern") return line.pattern === name ? (line.entity ? "hue" : "ink") : "";
  if (kind === "index") return line.index === name ? "ink" : "";
  if (line.index) {
    const concerns = line.entities.includes(name) || (line.entities.includes(null) && isIn(diagram, name, line.index));
    return concerns ? "ink" : "";
  }
  return line.entity === name ? "hue" : "";
}

function memberStrength(line, { kind, name }, diagram) {
  if (kind === "entity") return line.entity === name ? "hue" : "";
  if (kind === "index") return line.index === name && !line.isQuiet ? (line.entity ? "hue" : "ink") : "";
  const uses = diagram.lines.filter((each) => each.pattern === name && each.index === line.index);
  if (uses.some((each) => each.entity === null)) return line.isQuiet ? "" : line.entity ? "hue" : "ink";
  return line.entity && uses.some((each) => each.entity === line.entity) ? "hue" : "";
}

function isIn(diagram, entity, index) {
  return diagram.memberships.some((each) => each.entity === entity && each.index === index && each.belongs !== "never");
}

/** Return the ids of the nodes at the ends of a line. */
export function endsOf(line) {
  if (line.kind === "member") return [line.entity ? `entity:${line.entity}` : "table", `index:${line.index}`];
  return [line.index ? `index:${line.index}` : line.entity ? `entity:${line.entity}` : "table", `pattern:${line.pattern}`];
}

/** Return whether a finding concerns what is selected: itself, or a pattern or index that uses it. */
export function isNear(finding, selected, diagram) {
  const { kind, name } = finding.subject;
  if (!selected) return true;
  if (kind === selected.kind && name === selected.name) return true;
  if (!diagram || kind === "table") return false;
  const touches = (line) => (kind === "pattern" ? line.pattern === name : kind === "index" ? line.index === name : line.entity === name);
  const chosen = (line) => (selected.kind === "pattern" ? line.pattern === selected.name : selected.kind === "index" ? line.index === selected.name : line.entity === selected.name);
  return diagram.lines.some((line) => touches(line) && chosen(line));
}
