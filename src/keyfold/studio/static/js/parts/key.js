// A key is read, not decoded by eye: literals recede, parts stand, their names are under them.
import { html } from "../html.js";
import { shortenId, showTime } from "./text.js";

/** A decoded key attribute, as the server shows it ({text, pieces, matches}). `flat` leaves the names out. */
export function Key({ shown, flat = false, brief = false }) {
  const title = shown.matches ? shown.text : `${shown.text} — it does not match its template`;
  return html`<span class="key${flat ? " flat" : ""}${shown.matches ? "" : " bad"}" title=${title} translate="no">
    ${shown.pieces.map((piece) =>
      piece.part
        ? html`<span class="p"><b>${brief ? shortenId(piece.text) : piece.text}</b><i>${piece.part}${piece.at ? ` · made ${showTime(piece.at)}` : ""}</i></span>`
        : html`<span class="l">${piece.text}</span>`,
    )}
  </span>`;
}

/** The template of a key attribute ({text, pieces}). */
export function Template({ shown }) {
  return html`<span class="tmpl" title=${`${shown.attribute}: ${shown.text}`} translate="no">
    ${shown.pieces.map((piece) => (piece.part ? html`<b>${piece.text}</b>` : html`<span class="l">${piece.text}</span>`))}
  </span>`;
}
