// The diagram: everything drawn faint, and the lines of the selection strong in its hue.
import { html, useEffect, useMemo, useState } from "../../html.js";
import { hueOf } from "../../parts/entity.js";
import { setQuery } from "../../router.js";
import { layOut } from "./layout.js";
import { EntityNode, GroupBox, IndexNode, PatternNode, StackBox } from "./nodes.js";
import { endsOf, strengthOf, writeSelection } from "./selection.js";
import { Stage } from "./stage.js";
import { nextNode } from "./walk.js";

const LEVELS = ["note", "warning", "error"];

/** Return the most serious severity of the open findings about each node, by its id. */
function worstByNode(findings) {
  const worst = new Map();
  for (const { subject, severity, accepted } of findings ?? []) {
    const id = `${subject.kind}:${subject.name}`;
    if (accepted === null && LEVELS.indexOf(severity) > LEVELS.indexOf(worst.get(id))) worst.set(id, severity);
  }
  return worst;
}

export function Diagram({ table, here, diagram, selected, findings, svg }) {
  const [stage, setStage] = useState({ width: 0, height: 0 });
  const room = stage.width;
  const open = (here.query.open ?? "").split(",").filter(Boolean);
  const layout = useMemo(() => layOut(table, diagram, { open, selected, room }), [table, diagram, here.query.open, here.query.sel, room]);
  const worst = useMemo(() => worstByNode(findings), [findings]);
  const lines = layout.lines.map((line) => ({ ...line, strength: strengthOf(line, selected, diagram) }));
  const related = new Set(lines.filter((line) => line.strength).flatMap(endsOf));
  const chosen = selected ? `${selected.kind}:${selected.name}` : null;
  const [focused, setFocused] = useState(null);
  const places = useMemo(() => listPlaces(layout), [layout]);
  const current = [focused, chosen, places[0]?.id].find((id) => id && places.some((each) => each.id === id));
  useEffect(() => {
    // A link may select what is out of sight, and the side pane may cover it when it comes.
    const node = svg.current?.querySelector(".sel");
    if (node) bringIntoView(svg.current.parentNode, node);
  }, [chosen, stage.height]);

  const select = (thing) => setQuery({ sel: chosen === `${thing.kind}:${thing.name}` ? "" : writeSelection(table, thing) });
  const toggle = (name) => setQuery({ open: (open.includes(name) ? open.filter((each) => each !== name) : [...open, name]).join(",") });
  const press = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const id = event.target.closest?.("[data-node]")?.dataset.node;
    if (!id) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      event.target.closest("[data-node]").dispatchEvent(new MouseEvent("click", { bubbles: true }));
    } else if (event.key === "Escape" && selected) {
      setQuery({ sel: "" });
    } else {
      const next = nextNode(places, layout.lines, id, event.key);
      if (next === null) return;
      event.preventDefault();
      svg.current.querySelector(`[data-node="${CSS.escape(next)}"]`).focus();
    }
  };
  const focusOf = (id) => ({ "data-node": id, tabindex: id === current ? 0 : -1, onFocus: () => setFocused(id) });
  const stateOf = (id) => ({ isSelected: chosen === id, isOn: related.has(id), isDim: Boolean(selected) && chosen !== id && !related.has(id) });
  const labelOf = (id, text) => (worst.has(id) ? `${text}, ${worst.get(id)}` : text);
  const faint = lines.filter((line) => !line.strength && !line.isQuiet);
  const strong = lines.filter((line) => line.strength);
  const reads = diagram.patterns.filter((each) => each.writes === false).length;
  const keyNames = [...table.key.partition, ...table.key.sort].join(" · ");
  return html`<${Stage} width=${layout.width} height=${layout.height} onRoom=${setStage}>
    ${(scale) => html`<svg ref=${svg} class="dg" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${layout.width} ${layout.height}" width=${Math.round(layout.width * scale)} height=${Math.round(layout.height * scale)} role="group" aria-label="${table.name}: entities, indexes and patterns" onKeyDown=${press}>
      <rect class="fr" ...${layout.frame} rx="8" />
      <text x=${layout.frame.x + 12} y="31"><tspan class="tt">${table.name}</tspan><tspan class="fa" dx="8">table · ${countEntities(table.entities.length)}</tspan></text>
      <text class="mo" x=${layout.frame.x + layout.frame.width - 12} y="31" text-anchor="end">${keyNames}</text>
      ${diagram.patterns.length > 0 && html`<text x=${layout.patternLeft + 2} y="31"><tspan class="tt">Patterns</tspan><tspan class="fa" dx="8">${reads} read · ${diagram.patterns.length - reads} write</tspan></text>`}
      ${layout.groups.map((group) => html`<${GroupBox} key=${group.name} group=${group} count=${countEntities(group.entities.length)} focus=${focusOf(`group:${group.name}`)} onToggle=${() => toggle(group.name)} />`)}
      <g class="lines faint">${faint.map((line) => html`<path key=${line.id} d=${line.path} class=${shapeOf(line)} />`)}</g>
      <g class="lines">${strong.map((line) => html`<path key=${line.id} d=${line.path} class="${line.strength} ${shapeOf(line)}" data-line=${line.id} ...${line.strength === "hue" ? hueOf(layout.entities.get(line.entity)) : {}} />`)}</g>
      ${[...layout.entities.values()].filter((each) => !each.isHidden).map((entity) => {
        const id = `entity:${entity.name}`;
        return html`<${EntityNode} key=${id} entity=${entity} state=${stateOf(id)} severity=${worst.get(id)} label=${labelOf(id, `entity ${entity.name}`)} focus=${focusOf(id)} onSelect=${() => select({ kind: "entity", name: entity.name })} />`;
      })}
      ${[...layout.indexes.values()].map((index) => {
        const id = `index:${index.name}`;
        return html`<${IndexNode} key=${id} index=${index} members=${countMembers(diagram, index, table)} state=${stateOf(id)} severity=${worst.get(id)} label=${labelOf(id, `index ${index.name}`)} focus=${focusOf(id)} onSelect=${() => select({ kind: "index", name: index.name })} />`;
      })}
      ${layout.stacks.map((stack) => html`<${StackBox} key=${stack.group} stack=${stack} onOpen=${() => toggle(stack.group)} />`)}
      ${[...layout.patterns.values()].filter((each) => !each.isHidden).map((pattern) => {
        const id = `pattern:${pattern.name}`;
        const kind = pattern.writes === null ? "pattern" : pattern.writes ? "writing pattern" : "reading pattern";
        return html`<${PatternNode} key=${id} pattern=${pattern} state=${stateOf(id)} severity=${worst.get(id)} label=${labelOf(id, `${kind} ${pattern.title}`)} focus=${focusOf(id)} onSelect=${() => select({ kind: "pattern", name: pattern.name })} />`;
      })}
      <${LineLegend} at=${layout.legend} hasIndexes=${layout.indexes.size > 0} />
    </svg>`}
  <//>`;
}

function countEntities(number) {
  return number === 1 ? "1 entity" : `${number} entities`;
}

function shapeOf(line) {
  if (line.kind === "writes") return "w";
  return line.kind === "member" && line.belongs !== "always" ? "opt" : "r";
}

function countMembers(diagram, index, table) {
  const members = diagram.memberships.filter((each) => each.index === index.name && each.belongs !== "never");
  const total = table.entities.length;
  if (members.length === total && members.every((each) => each.belongs === "always")) return "every item";
  return `${members.length} of ${countEntities(total)}`;
}

function LineLegend({ at, hasIndexes }) {
  const shown = [["r", "reads"], ["w", "writes"], ...(hasIndexes ? [["opt", "in the index if set"]] : [])];
  return html`<g class="kx" transform="translate(${at.x} ${at.y})" aria-hidden="true">
    ${shown.map(([shape, text], number) => html`<path class="ink ${shape}" d="M${number * 84} 4h22" /><text x=${number * 84 + 28} y="8">${text}</text>`)}
  </g>`;
}

// What is closer to the edge than this may be under the zoom buttons.
const EDGE = 56;

function bringIntoView(stage, node) {
  const [outer, inner] = [stage.getBoundingClientRect(), node.getBoundingClientRect()];
  const isHigh = inner.top < outer.top + 8 || inner.bottom > outer.bottom - EDGE;
  const isAside = inner.left < outer.left || inner.right > outer.right;
  stage.scrollBy(isAside ? inner.left - outer.left - 16 : 0, isHigh ? (inner.top + inner.bottom - outer.top - outer.bottom) / 2 : 0);
}

/** Return where the focusable nodes are, top to bottom, left column first. */
function listPlaces(layout) {
  const left = [
    ...layout.groups.filter((each) => each.canFold).map((each) => ({ id: `group:${each.name}`, column: 0, y: each.y })),
    ...[...layout.entities.values()].filter((each) => !each.isHidden).map((each) => ({ id: `entity:${each.name}`, column: 0, y: each.y + 1 })),
    ...[...layout.indexes.values()].map((each) => ({ id: `index:${each.name}`, column: 0, y: each.y })),
  ].sort((one, other) => one.y - other.y);
  const right = [...layout.patterns.values()].filter((each) => !each.isHidden).map((each) => ({ id: `pattern:${each.name}`, column: 1, y: each.y }));
  return [...left, ...right];
}
