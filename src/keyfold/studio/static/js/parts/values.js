// Values of attributes, in DynamoDB's JSON. Text from data is only ever a text node.
import { html, useState } from "../html.js";
import { showBytes, showCount } from "./text.js";

const SHOWN_MEMBERS = 20;
const FOLD_DEPTH = 3;

/** Return the kind and the data of a value. */
export function unwrap(value) {
  return Object.entries(value)[0];
}

/** A value in one line, or as a tree if it is a list or a map. */
export function Value({ value, depth = 0, onOpen }) {
  if (value === null || value === undefined) return html`<i class="none">not set</i>`;
  const [kind, data] = unwrap(value);
  switch (kind) {
    case "cut":
      return html`<${Cut} cut=${data} onOpen=${onOpen} />`;
    case "S":
      return data === "" ? html`<i class="none">empty text</i>` : html`<span class="text" translate="no">${data}</span>`;
    case "N":
      return html`<span class="num" translate="no">${data}</span>`;
    case "B":
      return html`<span class="faint">binary, ${showBytes(Math.floor((data.length * 3) / 4))}</span> <span translate="no">${data.slice(0, 40)}</span>`;
    case "BOOL":
      return html`<span>${String(data)}</span>`;
    case "NULL":
      return html`<i class="none">null</i>`;
    case "SS":
    case "NS":
    case "BS":
      return html`<span class="badge" title="a set">${kind}</span> <span translate="no">${data.slice(0, SHOWN_MEMBERS).map((each) => (kind === "NS" ? each : JSON.stringify(each))).join(", ")}</span>${data.length > SHOWN_MEMBERS ? html` <span class="faint">+ ${data.length - SHOWN_MEMBERS}</span>` : ""}`;
    default:
      return html`<${Tree} kind=${kind} data=${data} depth=${depth} />`;
  }
}

function Cut({ cut, onOpen }) {
  const size = showBytes(cut.bytes);
  const label = cut.members === undefined ? cut.start : `${cut.kind === "M" ? "map" : "list"} of ${showCount(cut.members, "member")}`;
  return html`<span class="cut"><span class="clip" translate="no">${label}</span>
    ${onOpen ? html`<button type="button" class="ref" onClick=${onOpen}>${size}</button>` : html`<span class="faint">${size}</span>`}</span>`;
}

function Tree({ kind, data, depth }) {
  const members = kind === "M" ? Object.entries(data) : data.map((each, number) => [String(number), each]);
  const [isOpen, setOpen] = useState(depth < FOLD_DEPTH && members.length <= SHOWN_MEMBERS);
  const [shown, setShown] = useState(SHOWN_MEMBERS);
  const label = kind === "M" ? `{ ${showCount(members.length, "member")} }` : `[ ${showCount(members.length, "member")} ]`;
  if (!members.length) return html`<span class="faint">${kind === "M" ? "{ }" : "[ ]"}</span>`;
  return html`<span class="tree">
    <button type="button" class="ref" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>${label}</button>
    ${isOpen &&
    html`<ul>
      ${members.slice(0, shown).map(([name, each]) => html`<li><span class="faint" translate="no">${name}</span> <${Value} value=${each} depth=${depth + 1} /></li>`)}
      ${members.length > shown && html`<li><button type="button" class="ref" onClick=${() => setShown(shown + 200)}>${members.length - shown} more</button></li>`}
    </ul>`}
  </span>`;
}

/** Return a value as one line of text, for cards and cells. */
export function showInline(value, most = 120) {
  if (value === null || value === undefined) return "";
  const [kind, data] = unwrap(value);
  let text;
  if (kind === "cut") text = data.start ?? `${data.kind === "M" ? "{ … }" : "[ … ]"}`;
  else if (kind === "M") text = `{ ${showCount(Object.keys(data).length, "member")} }`;
  else if (kind === "L") text = data.length ? `[ ${showCount(data.length, "member")} ]` : "[ ]";
  else if (kind.endsWith("S") && kind.length === 2) text = data.join(", ");
  else if (kind === "NULL") text = "null";
  else text = String(data);
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
