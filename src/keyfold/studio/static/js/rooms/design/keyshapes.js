// The key of an entity: its template, the type of each part under it, and an example beside it.
import { html } from "../../html.js";
import { shortenId } from "../../parts/text.js";

const KINDS = { S: "String", N: "Number", B: "Binary" };

/** A template with the types of its parts. */
export function TypedTemplate({ shown }) {
  return html`<span class="key" title=${`${shown.attribute}: ${shown.text}`} translate="no">
    ${shown.template.pieces.map((piece) => (piece.part ? html`<span class="p"><b>${piece.text}</b><i>${shown.types[piece.part] ?? KINDS[shown.kind]}</i></span>` : html`<span class="l">${piece.text}</span>`))}
  </span>`;
}

/** All attributes of a key, one in a row. */
export function KeyShapes({ keys }) {
  return html`<dl class="kg">
    ${keys.map((each) => html`<dt class="lbl" title="${each.role} key, ${KINDS[each.kind]}">${each.attribute}</dt>
      <dd><${TypedTemplate} shown=${each} />${each.text !== each.template.text && html`<span class="mono faint"> ${each.text}</span>`}</dd>
      <dd class="mono dim clip ex" title=${each.example ? `for example ${each.example.text}` : undefined} translate="no">${each.example ? shortenId(each.example.text) : ""}</dd>`)}
  </dl>`;
}
