// Where everything of the diagram is. Entities and, below them, indexes are on the left, patterns on the right,
// and nothing is between the two: lines run there, and in the lanes left of the table, so none passes under a box.
import { measure, measureTemplate } from "./measure.js";

export const ENTITY_ROW = 26;
export const PATTERN_ROW = 22;
export const INDEX_HEIGHT = 46;
const PATTERN_GAP = 3;
const GROUP_HEAD = 26;
const GROUP_PAD = 5;
const GROUP_GAP = 8;
const TOP = 44;
const MARGIN = 12;
const LANE = 7;
const MOST_LANES = 12;
const [LEAST_LEFT, MOST_LEFT] = [250, 430];
const [LEAST_RIGHT, MOST_RIGHT] = [190, 330];
const [LEAST_CHANNEL, MOST_CHANNEL] = [120, 300];
// With more entities than this, shards are folded to one row.
export const FOLD_FROM = 40;

/**
 * Return the diagram's boxes and lines: {width, height, frame, groups, stacks, entities, indexes, patterns, lines, legend}.
 *
 * `open` has the names of shards that are not folded; that of what is selected is not, either. `room` is how wide
 * the diagram may be without being scaled. The patterns of a folded shard are one box, a stack.
 */
export function layOut(table, diagram, { open = [], selected = null, room = 0 } = {}) {
  const folds = table.entities.length > FOLD_FROM;
  const entities = new Map(table.entities.map((each) => [each.name, each]));
  const lanes = Math.min(diagram.indexes.length, MOST_LANES);
  const left = MARGIN + (lanes ? lanes * LANE + 6 : 0);
  const inner = clamp(widestLeft(table, diagram, entities), LEAST_LEFT, MOST_LEFT);
  const frameWidth = inner + 20;
  const rightWidth = clamp(widestRight(diagram), LEAST_RIGHT, MOST_RIGHT);
  const channel = clamp(room - left - frameWidth - rightWidth - MARGIN, LEAST_CHANNEL, MOST_CHANNEL);
  const patternLeft = left + frameWidth + channel;
  const rows = makeRows(table, diagram);

  const made = { groups: [], stacks: [], entities: new Map(), indexes: new Map(), patterns: new Map(), lines: [] };
  let leftY = TOP;
  let rightY = TOP;
  let bottom = TOP;
  for (const row of rows) {
    const isIndex = Boolean(row.index);
    const isFolded = folds && Boolean(row.group) && !open.includes(row.group.name) && !hasSelected(row, selected);
    const patterns = isFolded && row.patterns.length ? [row.patterns[0]] : row.patterns;
    if (isIndex && !made.indexes.size) leftY = Math.max(leftY, bottom + 10 + 14);
    const top = Math.max(leftY, rightY);
    if (row.group) {
      const height = heightOf(row.group, isFolded);
      // Beside the middle of its patterns, so that lines are short.
      const y = top + Math.max(0, (heightOfPatterns(patterns) - height) / 2);
      const box = { ...row.group, isFolded, canFold: folds, x: left + 10, y, width: inner, height };
      made.groups.push(box);
      placeEntities(made, box, entities);
      bottom = y + height;
      leftY = bottom + GROUP_GAP;
    }
    if (isIndex) {
      const y = top + Math.max(0, (heightOfPatterns(patterns) - INDEX_HEIGHT) / 2);
      made.indexes.set(row.index.name, { ...row.index, x: left, y, width: frameWidth, height: INDEX_HEIGHT });
      leftY = y + INDEX_HEIGHT + GROUP_GAP;
    }
    let patternY = top;
    const size = { x: patternLeft, width: rightWidth, height: PATTERN_ROW };
    if (isFolded && row.patterns.length) made.stacks.push({ ...size, y: top, group: row.group.name, patterns: row.patterns });
    for (const pattern of row.patterns) {
      made.patterns.set(pattern.name, { ...pattern, ...size, y: patternY, isHidden: isFolded });
      if (!isFolded) patternY += PATTERN_ROW + PATTERN_GAP;
    }
    if (isFolded && row.patterns.length) patternY += PATTERN_ROW + PATTERN_GAP;
    rightY = row.patterns.length ? patternY + 9 : rightY;
  }
  const frame = { x: left, y: 10, width: frameWidth, height: bottom + 10 - 10 };
  const end = Math.max(leftY, rightY, frame.y + frame.height + 10);
  const layout = { ...made, frame, width: patternLeft + rightWidth + MARGIN, height: end + 34, patternLeft, legend: { x: left, y: end + 14 } };
  layout.lines = [...memberLines(layout, diagram), ...patternLines(layout, diagram)];
  return layout;
}

function hasSelected(row, selected) {
  if (selected?.kind === "entity") return row.group.entities.includes(selected.name);
  return selected?.kind === "pattern" && row.patterns.some((each) => each.name === selected.name);
}

function clamp(value, least, most) {
  return Math.max(least, Math.min(most, value));
}

function heightOf(group, isFolded) {
  return isFolded ? GROUP_HEAD + 2 : GROUP_HEAD + group.entities.length * ENTITY_ROW + GROUP_PAD;
}

function heightOfPatterns(patterns) {
  return patterns.length * (PATTERN_ROW + PATTERN_GAP) - PATTERN_GAP;
}

function widestLeft(table, diagram, entities) {
  const widths = diagram.groups.map((group) => measure(group.name, "bold") + (group.template ? measureTemplate(group.template) : 60) + 44);
  for (const entity of entities.values()) {
    const key = entity.keys.at(-1);
    widths.push(measure(entity.name, "bold") + measureTemplate(key) + 86);
  }
  for (const index of diagram.indexes) widths.push(measure(index.name, "bold") + measure([...index.key.partition, ...index.key.sort].join(" · "), "mono") + 44);
  return Math.max(0, ...widths);
}

function widestRight(diagram) {
  return Math.max(0, ...diagram.patterns.map((each) => measure(each.title, "bold") + 52));
}

/** Return rows of the diagram: a group or an index, with the patterns that are mostly about it. */
function makeRows(table, diagram) {
  const groupOf = new Map(diagram.groups.flatMap((group) => group.entities.map((name) => [name, group])));
  const rows = new Map();
  for (const group of diagram.groups) rows.set(group, { group, patterns: [] });
  for (const index of diagram.indexes) rows.set(index.name, { index, patterns: [] });
  const other = { patterns: [] };
  const byPattern = Map.groupBy(diagram.lines, (line) => line.pattern);
  const ordered = [...diagram.patterns.filter((each) => each.writes === false), ...diagram.patterns.filter((each) => each.writes !== false)];
  for (const pattern of ordered) {
    const lines = byPattern.get(pattern.name) ?? [];
    const entity = mainEntity(lines, groupOf) ?? (lines.length && !lines[0].index ? table.fallback : null);
    const index = lines.find((each) => each.index)?.index;
    const row = entity ? rows.get(groupOf.get(entity)) : index ? rows.get(index) : null;
    (row ?? other).patterns.push(pattern);
  }
  return other.patterns.length ? [...rows.values(), other] : [...rows.values()];
}

const WEIGHTS = { writes: 4, reads: 2, checks: 1 };

/** Return an entity of the group that most lines of a pattern lead to; null if they lead to none. */
function mainEntity(lines, groupOf) {
  const weights = new Map();
  for (const line of lines) {
    if (line.entity) weights.set(groupOf.get(line.entity), (weights.get(groupOf.get(line.entity)) ?? 0) + WEIGHTS[line.deed]);
  }
  const most = Math.max(...weights.values());
  return lines.find((line) => line.entity && weights.get(groupOf.get(line.entity)) === most)?.entity ?? null;
}

function placeEntities(made, box, entities) {
  box.entities.forEach((name, number) => {
    const y = box.isFolded ? box.y : box.y + GROUP_HEAD - 2 + number * ENTITY_ROW;
    const height = box.isFolded ? box.height : ENTITY_ROW - 2;
    made.entities.set(name, { ...entities.get(name), group: box, isHidden: box.isFolded, x: box.x + 5, y, width: box.width - 10, height });
  });
}

function memberLines(layout, diagram) {
  const lines = [];
  const order = [...layout.indexes.keys()];
  for (const [name, index] of layout.indexes) {
    const lane = layout.frame.x - 8 - (order.indexOf(name) % MOST_LANES) * LANE;
    const members = diagram.memberships.filter((each) => each.index === name && each.belongs !== "never");
    const isWhole = members.length > 1 && members.every((each) => each.belongs === "always") && members.length === layout.entities.size;
    const end = index.y + index.height / 2;
    if (isWhole) {
      const start = layout.frame.y + layout.frame.height - 12;
      lines.push({ id: `table in ${name}`, kind: "member", isWhole, entity: null, index: name, belongs: "always", path: bend(layout.frame.x, start, lane, end, index.x) });
    }
    for (const { entity, belongs } of members) {
      const box = layout.entities.get(entity);
      const path = bend(box.x, box.y + box.height / 2, lane, end, index.x);
      // An index of every item has one line from the table; that of an entity shows while it is selected.
      lines.push({ id: `${entity} in ${name}`, kind: "member", isQuiet: isWhole, entity, index: name, belongs, path });
    }
  }
  return lines;
}

/** A path that leaves to the left, runs down a lane, and comes back. */
function bend(x1, y1, lane, y2, x2) {
  const r = Math.min(5, Math.abs(y2 - y1) / 2, x1 - lane, x2 - lane);
  const down = y2 >= y1 ? 1 : -1;
  return `M${x1} ${y1}H${lane + r}Q${lane} ${y1} ${lane} ${y1 + r * down}V${y2 - r * down}Q${lane} ${y2} ${lane + r} ${y2}H${x2}`;
}

function patternLines(layout, diagram) {
  const merged = new Map();
  for (const line of diagram.lines) {
    const id = line.index ? `${line.index} to ${line.pattern}` : `${line.entity ?? "any"} ${line.deed} ${line.pattern}`;
    const known = merged.get(id);
    if (known) known.entities.push(line.entity);
    else merged.set(id, { id, kind: line.deed, entity: line.index ? null : line.entity, entities: [line.entity], index: line.index, pattern: line.pattern });
  }
  const lines = [...merged.values()].map((line) => ({ ...line, from: startOf(layout, line) }));
  // Patterns of one stack have one box, and lines from one place to it are one line.
  const boxOf = (line) => layout.patterns.get(line.pattern);
  for (const arriving of Map.groupBy(lines, (line) => `${boxOf(line).x} ${boxOf(line).y}`).values()) {
    const box = boxOf(arriving[0]);
    const same = [...Map.groupBy(arriving, (line) => `${line.from.x} ${line.from.y} ${line.kind === "writes"}`).values()];
    same.sort((one, other) => one[0].from.y - other[0].from.y);
    same.forEach((alike, number) => {
      const y = box.y + (box.height * (number + 1)) / (same.length + 1);
      alike.forEach((line, place) => {
        line.path = curve(line.from.x, line.from.y, box.x, y);
        line.isQuiet = place > 0;
      });
    });
  }
  return lines;
}

function startOf(layout, line) {
  const { frame } = layout;
  if (line.index) {
    const box = layout.indexes.get(line.index);
    return { x: box.x + box.width, y: box.y + box.height / 2 };
  }
  if (line.entity) {
    const box = layout.entities.get(line.entity);
    return { x: box.x + box.width, y: box.y + box.height / 2 };
  }
  // Whatever the table has: the line begins at the table's edge, beside the pattern.
  const pattern = layout.patterns.get(line.pattern);
  return { x: frame.x + frame.width, y: clamp(pattern.y + pattern.height / 2, frame.y + 10, frame.y + frame.height - 24) };
}

function curve(x1, y1, x2, y2) {
  const bow = (x2 - x1) / 2;
  return `M${x1} ${y1}C${x1 + bow} ${y1} ${x2 - bow} ${y2} ${x2} ${y2}`;
}
