// One partition: its decoded key, counts and size, its cards, and its barcode.
import { html, useEffect, useLayoutEffect, useMemo, useRef } from "../../html.js";
import { Key } from "../../parts/key.js";
import { Icon } from "../../parts/icon.js";
import { showBytes, showCount } from "../../parts/text.js";
import { isSameKey } from "../../parts/itemkey.js";
import { Barcode } from "./barcode.js";
import { CARD_WIDTH, CHILD_WIDTH, Card, GAP } from "./card.js";
import { isChild } from "./shapes.js";
import { findWindow, sumUp, useScroll } from "./windowing.js";

const EXTRA_CARDS = 4;
const MORE_WIDTH = 104;

/** Return the id of a card's element. */
export function cardId(number, column) {
  return `card-${number}-${column}`;
}

/** Return the column of the focused card, which moves when cards come or go before it. */
export function columnOf(focus, band) {
  return focus.column + (focus.bandRound === band.round ? band.added - focus.added : 0);
}

export function Band({ table, index, band, number, style, at, focus, isFolded, isNarrow, actions, onFold, onOpen, onFocus }) {
  return html`<section class="band fixed${isFolded ? " folded" : ""}${band.denied ? " denied" : ""}" style=${style} aria-label=${`partition ${band.keys.map((key) => key.text).join(", ")}`}>
    <${Header} band=${band} index=${index} isFolded=${isFolded} isNarrow=${isNarrow} onFold=${onFold} onCount=${() => actions.bars(band.id)} />
    ${band.denied ? html`<div class="strip denial"><${Icon} name="deny" /> <span>${band.denied.message}</span></div>` : html`<${Strip} table=${table} band=${band} number=${number} at=${at} focus=${focus} isFolded=${isFolded} actions=${actions} onOpen=${onOpen} onFocus=${onFocus} />`}
  </section>`;
}

function Header({ band, index, isFolded, isNarrow, onFold, onCount }) {
  const title = index ? [...index.key.partition].join(" · ") : band.title ?? "partition";
  const key = html`<span class="keyline">${band.keys.map((each) => html`<${Key} shown=${each} brief flat=${isFolded || isNarrow} />`)}</span>`;
  if (band.denied) return html`<header><span class="shard"><${Icon} name="lock" />${title}</span>${key}</header>`;
  return html`<header>
    <span class="shard"><button type="button" class="fold" aria-expanded=${!isFolded} aria-label="${isFolded ? "Open" : "Fold"} ${title} ${band.keys.map((each) => each.text).join(", ")}" onClick=${onFold}><${Icon} name=${isFolded ? "right" : "down"} /></button><span class="clip" title=${title}>${title}</span></span>
    ${key}
    <span class="meta num"><span>${sayCount(band)}</span>${!isFolded && html`<span>${band.complete || band.hasBars ? showBytes(band.bytes) : html`<button type="button" class="ref" onClick=${onCount} title="Read on, up to 10 units">count on</button>`}</span>`}</span>
  </header>`;
}

function sayCount(band) {
  const items = showCount(band.count, band.matching ? "match" : "item").replace("matchs", "matches");
  return `${items}${band.complete ? "" : " and more"}${band.expired ? `, ${band.expired} expired` : ""}`;
}

function Strip({ table, band, number, at, focus, isFolded, actions, onOpen, onFocus }) {
  const scroller = useRef(null);
  const view = useScroll(scroller, true);
  const { cards } = band;
  const offsets = useMemo(() => sumUp(cards.length, (each) => (isChild(table, cards[each]) ? CHILD_WIDTH : CARD_WIDTH) + GAP), [cards, table]);
  const width = offsets.at(-1) + (band.cursor || band.isDropped ? MORE_WIDTH : 0);
  const [first, last] = findWindow(offsets, view.start, view.start + view.size, EXTRA_CARDS);
  const column = focus ? columnOf(focus, band) : null;
  const focused = column !== null && column >= 0 && column < cards.length ? column : null;
  // One tab stop a band: the focused card, or the first visible one.
  const stop = focused ?? Math.min(cards.length - 1, findFirst(offsets, view.start));
  const shown = [];
  for (let each = first; each < last; each += 1) shown.push(each);
  if (focused !== null && (focused < first || focused >= last)) shown.push(focused);

  useEffect(() => {
    if (isFolded) return;
    if (band.isDropped || (band.cursor && !band.error && cards.length && view.start && view.start + view.size > 0.8 * width)) actions.next(band.id);
    else if (band.before && view.size && view.start < view.size / 2) actions.previous(band.id);
  }, [view.start, view.size, cards, band.isDropped, isFolded]);
  // Cards that come or go before the visible ones must not move these.
  const seen = useRef({ added: 0, round: 0, offsets });
  useLayoutEffect(() => {
    const old = seen.current;
    const many = band.round === old.round ? band.added - old.added : 0;
    if (scroller.current && many > 0) scroller.current.scrollLeft += offsets[Math.min(many, cards.length)];
    if (scroller.current && many < 0) scroller.current.scrollLeft -= old.offsets[Math.min(-many, old.offsets.length - 1)];
    seen.current = { added: band.added, round: band.round, offsets };
  }, [band.added, band.round, offsets]);
  // The current card comes into view, also when the inspector makes the strip narrower.
  const wanted = at ? cards.findIndex((each) => isSameKey(each.key, at)) : -1;
  useLayoutEffect(() => {
    if (wanted >= 0) reveal(scroller.current, offsets, wanted);
  }, [wanted >= 0 ? JSON.stringify(at) : null, wanted >= 0, view.size]);
  useLayoutEffect(() => {
    if (focused !== null) reveal(scroller.current, offsets, focused);
  }, [focused, focus?.round]);

  const jump = async (tick) => {
    const place = tick * band.each;
    if (band.offset !== null && place >= band.offset && place < band.offset + cards.length) {
      scroller.current.scrollLeft = offsets[place - band.offset];
      return;
    }
    if (band.each > 1) await actions.jump(band.id, band.starts[tick], place);
    else await actions.next(band.id);
    if (scroller.current) scroller.current.scrollLeft = band.each > 1 ? 1 : scroller.current.scrollWidth;
  };
  const visible = band.offset === null ? null : [band.offset + findFirst(offsets, view.start), band.offset + Math.min(cards.length, findFirst(offsets, view.start + view.size) + 1)];
  return html`<div class="strip">
    ${!isFolded &&
    html`<ul class="cards windowed" ref=${scroller} role="list" aria-label="items by sort key" aria-busy=${band.isLoading ? "true" : undefined}>
      <li class="filler" aria-hidden="true" style=${{ width: `${Math.max(0, width - GAP)}px` }}></li>
      ${shown.map((each) => html`<li key=${JSON.stringify(cards[each].key)} class="place${isChild(table, cards[each]) || !each ? "" : " starts"}" style=${{ left: `${offsets[each]}px`, width: `${offsets[each + 1] - offsets[each] - GAP}px` }} aria-setsize=${band.complete ? band.count : -1} aria-posinset=${band.offset === null ? undefined : band.offset + each + 1}>
        <${Card} table=${table} item=${cards[each]} id=${cardId(number, each)} isCurrent=${each === wanted} isFocusable=${stop === each} onOpen=${() => onOpen(cards[each], each)} onFocus=${() => onFocus(each)} />
      </li>`)}
      ${band.cursor && html`<li class="place" style=${{ left: `${offsets.at(-1)}px`, width: `${MORE_WIDTH}px` }}><button type="button" class="card more" tabindex="-1" onClick=${() => actions.next(band.id)}>${band.isLoading ? "reading" : sayRest(band)}</button></li>`}
    </ul>`}
    <${Barcode} table=${table} band=${band} visible=${isFolded ? null : visible} onJump=${jump} />
    ${band.error && html`<p class="err-ink small" role="alert">${band.error.message} <button type="button" class="ref" onClick=${() => actions.next(band.id)}>Try again</button></p>`}
  </div>`;
}

function sayRest(band) {
  if (!band.complete || band.offset === null) return "more items";
  return `${band.count - band.offset - band.cards.length} more`;
}

function findFirst(offsets, place) {
  let number = 0;
  while (number < offsets.length - 2 && offsets[number + 1] <= place) number += 1;
  return number;
}

function reveal(scroller, offsets, column) {
  if (!scroller) return;
  const left = offsets[column];
  const right = offsets[column + 1];
  if (left < scroller.scrollLeft) scroller.scrollLeft = Math.max(0, left - GAP);
  else if (right > scroller.scrollLeft + scroller.clientWidth) scroller.scrollLeft = right - scroller.clientWidth + GAP;
}
