// One item as a card: its entity, sort key, and what a person would want to know of it first.
import { html } from "../../html.js";
import { Mark, findEntity, hueOf } from "../../parts/entity.js";
import { shortenId, showExactTime, showExpiry } from "../../parts/text.js";
import { cardLines, isChild, madeAt, nameItem, sortPieces } from "./shapes.js";

export const CARD_WIDTH = 150;
export const CHILD_WIDTH = 122;
export const GAP = 6;

const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const dayAndYear = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "2-digit" });

function showDay(text) {
  const date = new Date(text);
  return (date.getFullYear() === new Date().getFullYear() ? day : dayAndYear).format(date);
}

export function Card({ table, item, isCurrent, isFocusable, isNew, onOpen, onFocus, id }) {
  const entity = findEntity(table, item.entity);
  const made = madeAt(item, table);
  const hasFoot = item.expires !== null || item.problem;
  const lines = cardLines(table, item, hasFoot ? 2 : 3);
  const className = `card${isChild(table, item) ? " slim" : ""}${item.expired ? " expired" : ""}${entity ? "" : " alien"}${isNew ? " changed" : ""}`;
  return html`<button type="button" id=${id} class=${className} ...${hueOf(entity)} aria-current=${isCurrent ? "true" : undefined} tabindex=${isFocusable ? 0 : -1} onClick=${onOpen} onFocus=${onFocus} title=${item.keys.at(-1).text} aria-label=${nameItem(table, item)}>
    <span class="h"><${Mark} entity=${entity} expired=${item.expired} /><span class="clip">${entity?.name ?? (item.own ? "Keyfold’s own" : "no entity")}</span>${made && html`<span class="when" title=${showExactTime(made)}>${showDay(made)}</span>`}</span>
    <span class="sk" translate="no">${sortPieces(table, item).map((piece) => (piece.part ? html`<b>${shortenId(piece.text)}</b>` : piece.text))}</span>
    ${lines.map((line) => html`<span class="f" translate="no">${line.name && html`<span>${line.name}</span> `}${line.isSet ? line.text : html`<i class="faint">not set</i>`}</span>`)}
    ${item.partial && !lines.length && html`<span class="f faint">keys only</span>`}
    ${item.problem ? html`<span class="foot err-ink" title=${item.problem}>does not fit ${entity?.name}</span>` : item.expires !== null ? html`<span class="foot" title=${showExactTime(item.expires)}>${showExpiry(item)}</span>` : ""}
  </button>`;
}
