// The boxes of the diagram. Names that do not fit are shortened; the whole name is in the title.
import { html } from "../../html.js";
import { hueOf } from "../../parts/entity.js";
import { measure, measureTemplate, shorten, shortenTemplate } from "./measure.js";

const ICONS = {
  warning: "M8 2.2 14.5 13.5h-13zM8 6.5v3M8 11.4v.1",
  error: "M8 2.2 14.5 13.5h-13zM8 6.5v3M8 11.4v.1",
  note: "M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0zM8 7.4v3.4M8 5.2v.1",
};

/** The most serious finding about a node, as an icon: drawn here, so that an exported picture has it. */
function FindingIcon({ severity, x, y }) {
  if (!severity) return null;
  return html`<g class="fi ${severity}" transform="translate(${x} ${y}) scale(.75)"><path d=${ICONS[severity]} /></g>`;
}

function TemplateText({ template, x, y, most }) {
  const pieces = measureTemplate(template) <= most ? template.pieces : shortenTemplate(template, most);
  return html`<text class="mo" x=${x} y=${y} text-anchor="end">${pieces.map((piece) => (piece.part ? html`<tspan class="tp">${piece.text}</tspan>` : piece.text))}</text>`;
}

function classOf(name, { isSelected, isOn, isDim }) {
  return [name, isSelected ? "sel" : "", isOn ? "on" : "", isDim ? "dim" : ""].filter(Boolean).join(" ");
}

export function GroupBox({ group, count, focus, onToggle }) {
  const { x, y, width, height } = group;
  const name = shorten(group.kind === "partition" ? "partition" : group.name, width - 40, "bold");
  const room = width - 30 - measure(name, "bold");
  const head = html`<rect class="sh" x=${x} y=${y} width=${width} height=${height} rx="6" />
    <text class="st" x=${x + 10} y=${y + 17}>${group.canFold ? `${group.isFolded ? "▸" : "▾"} ` : ""}${name}${group.isFolded ? html`<tspan class="fa" dx="6">${count}</tspan>` : ""}</text>
    ${group.template && html`<${TemplateText} template=${group.template} x=${x + width - 8} y=${y + 17} most=${group.isFolded ? room - 70 : room} />`}`;
  if (!group.canFold) return html`<g class="gr">${head}</g>`;
  return html`<g class="gr can" ...${focus} role="button" aria-expanded=${!group.isFolded} aria-label="${group.name}, ${count}" onClick=${onToggle}>${head}</g>`;
}

export function EntityNode({ entity, state, severity, label, focus, onSelect }) {
  const { x, y, width, height } = entity;
  const middle = y + height / 2;
  const name = shorten(entity.name, width * 0.6, "bold");
  const after = x + 31 + measure(name, "bold");
  const key = entity.keys.at(-1);
  return html`<g class=${classOf("en", state)} ...${hueOf(entity)} ...${focus} role="button" aria-pressed=${state.isSelected} aria-label=${label} onClick=${onSelect}>
    <title>${entity.name}: ${entity.keys.map((each) => `${each.attribute} ${each.text}`).join(", ")}</title>
    <rect class="eb" x=${x} y=${y} width=${width} height=${height} rx="4" />
    <rect class="mkbox${entity.hollow ? " hollow" : ""}" x=${x + 5} y=${middle - 8} width="20" height="16" rx="3" />
    <text class="mm${entity.hollow ? " hollow" : ""}" x=${x + 15} y=${middle + 3.5} text-anchor="middle">${entity.letters}</text>
    <text class="et" x=${x + 31} y=${middle + 4}>${name}</text>
    <${FindingIcon} severity=${severity} x=${after + 6} y=${middle - 6} />
    <${TemplateText} template=${key} x=${x + width - 5} y=${middle + 4} most=${x + width - 5 - after - 26} />
  </g>`;
}

export function IndexNode({ index, members, state, severity, label, focus, onSelect }) {
  const { x, y, width, height } = index;
  const key = [...index.key.partition, ...index.key.sort].join(" · ");
  const name = shorten(index.name, width * 0.66, "bold");
  const after = x + 12 + measure(name, "bold");
  return html`<g class=${classOf("ix", state)} ...${focus} role="button" aria-pressed=${state.isSelected} aria-label=${label} onClick=${onSelect}>
    <title>${index.name}: ${key}</title>
    <rect class="ib" x=${x} y=${y} width=${width} height=${height} rx="6" />
    <text class="et" x=${x + 12} y=${y + 19}>${name}</text>
    <${FindingIcon} severity=${severity} x=${after + 6} y=${y + 9} />
    <text class="mo" x=${x + width - 12} y=${y + 19} text-anchor="end">${shorten(key, width - 60 - measure(name, "bold"), "mono")}</text>
    <text class="fa" x=${x + 12} y=${y + 36}>${shorten(`${members} · ${index.projection}`, width - 70, "small")}</text>
    <text class="fa" x=${x + width - 12} y=${y + 36} text-anchor="end">${index.local ? "local" : "index"}</text>
  </g>`;
}

export function PatternNode({ pattern, state, severity, label, focus, onSelect }) {
  const { x, y, width, height } = pattern;
  const middle = y + height / 2;
  const letter = pattern.writes === null ? "?" : pattern.writes ? "W" : "R";
  return html`<g class=${classOf("pt", state)} ...${focus} role="button" aria-pressed=${state.isSelected} aria-label=${label} onClick=${onSelect}>
    <title>${pattern.title} · ${pattern.name}</title>
    <rect class="pb" x=${x} y=${y} width=${width} height=${height} rx="5" />
    <text class="rw" x=${x + 9} y=${middle + 4}>${letter}</text>
    <text class="pn" x=${x + 25} y=${middle + 4}>${shorten(pattern.title, width - 25 - (severity ? 24 : 8), "bold")}</text>
    <${FindingIcon} severity=${severity} x=${x + width - 19} y=${middle - 6} />
  </g>`;
}

/** The patterns of a folded shard. A click opens the shard, as the keyboard does at the shard itself. */
export function StackBox({ stack, onOpen }) {
  const { x, y, width, height } = stack;
  const reads = stack.patterns.filter((each) => each.writes === false).length;
  return html`<g class="pt stack" aria-hidden="true" onClick=${onOpen}>
    <rect class="pb" x=${x + 3} y=${y + 3} width=${width} height=${height} rx="5" />
    <rect class="pb" x=${x} y=${y} width=${width} height=${height} rx="5" />
    <text class="pn" x=${x + 25} y=${y + height / 2 + 4}>${stack.patterns.length} patterns <tspan class="fa" dx="6">${reads} read · ${stack.patterns.length - reads} write</tspan></text>
  </g>`;
}
