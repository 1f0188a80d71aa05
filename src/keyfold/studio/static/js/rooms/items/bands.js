// All bands of a view, of which only the visible ones are mounted. One tab stop a band; arrows move.
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../../html.js";
import { isSameKey } from "../../parts/itemkey.js";
import { Band, cardId, columnOf } from "./band.js";
import { findWindow, sumUp, useScroll } from "./windowing.js";

const EXTRA_BANDS = 4;
const MOST_BANDS = 40;
// How much of the pane a narrow window shows beside the inspector.
const UNDER_SHEET = 0.44;
const HEIGHTS = { open: 140, folded: 42, denied: 66 };
const NARROW_HEIGHTS = { open: 178, folded: 60, denied: 84 };

export function BandList({ table, index, model, pane, at, isNarrow, canGoOn, onOpen }) {
  const { bands } = model;
  const list = useRef(null);
  const view = useScroll(pane);
  const [folded, setFolded] = useState(() => new Set());
  const [focus, setPlace] = useState({ number: 0, column: 0, round: 0 });
  // A column is that of the cards which the band has now.
  const setFocus = (change) =>
    setPlace((old) => {
      const next = typeof change === "function" ? change(old) : change;
      if (next === old) return old;
      const band = model.now()[next.number];
      return { ...next, column: Math.max(0, Math.min(next.column, (band?.cards.length ?? 1) - 1)), added: band?.added ?? 0, bandRound: band?.round ?? 0 };
    });
  const heights = isNarrow ? NARROW_HEIGHTS : HEIGHTS;
  const offsets = useMemo(() => sumUp(bands.length, (each) => heights[bands[each].denied ? "denied" : folded.has(bands[each].id) ? "folded" : "open"]), [bands.length, folded, heights, model.round]);
  const top = list.current?.offsetTop ?? 0;
  const [first, last] = findWindow(offsets, view.start - top, view.start - top + view.size, EXTRA_BANDS);
  const shown = [];
  for (let each = first; each < Math.min(last, first + MOST_BANDS); each += 1) shown.push(each);
  if (focus.number < bands.length && (focus.number < first || focus.number >= last)) shown.push(focus.number);

  useEffect(() => {
    if (canGoOn && view.size && view.start + view.size > 0.8 * (top + offsets.at(-1))) model.more();
    model.forget(first, last, focus.number);
  }, [view.start, view.size, bands.length, canGoOn, model.isLoading]);
  useEffect(() => setFocus({ number: Math.max(0, bands.findIndex((each) => each.cards.length)), column: 0, round: 0 }), [model.round]);

  // The item of the address comes into view, with its band.
  const wanted = useMemo(() => (at ? bands.findIndex((band) => (index ? band.cards.some((each) => isSameKey(each.key, at)) : isPartitionOf(band, at))) : -1), [JSON.stringify(at), bands]);
  const revealed = useRef("");
  useLayoutEffect(() => {
    const name = JSON.stringify([at, model.round]);
    if (wanted < 0 || revealed.current === name || !pane.current) return;
    revealed.current = name;
    const band = bands[wanted];
    if (!index && !band.cards.some((each) => isSameKey(each.key, at))) model.around(band.id, at);
    scrollTo(pane.current, top + offsets[wanted], top + offsets[wanted + 1], isNarrow ? UNDER_SHEET : 1);
  }, [wanted, model.round, JSON.stringify(at)]);

  // Focus follows the arrows after the card is mounted.
  useLayoutEffect(() => {
    const band = bands[focus.number];
    const held = document.activeElement;
    if (focus.round && band && (held === document.body || list.current.contains(held))) document.getElementById(cardId(focus.number, columnOf(focus, band)))?.focus({ preventScroll: true });
  }, [focus, bands]);
  const go = (number, column) => {
    if (number < 0 || number >= bands.length) return;
    scrollTo(pane.current, top + offsets[number], top + offsets[number + 1]);
    setFocus((old) => ({ number, column, round: old.round + 1 }));
  };
  const skip = (number, step) => {
    let next = number + step;
    while (next >= 0 && next < bands.length && (!bands[next].cards.length || folded.has(bands[next].id))) next += step;
    return next;
  };
  const end = async (number) => {
    if (bands[number].cursor) await model.last(bands[number].id);
    setFocus((old) => ({ number, column: Number.MAX_SAFE_INTEGER, round: old.round + 1 }));
  };
  const press = async (event) => {
    if (!event.target.classList?.contains("card") || event.ctrlKey || event.altKey || event.metaKey) return;
    const { number } = focus;
    const column = columnOf(focus, bands[number]);
    const moves = {
      ArrowRight: () => go(number, column + 1),
      ArrowLeft: () => go(number, column - 1),
      ArrowDown: () => go(skip(number, 1), column),
      ArrowUp: () => go(skip(number, -1), column),
      Home: async () => {
        if (bands[number].before) await model.first(bands[number].id);
        setFocus((old) => ({ number, column: 0, round: old.round + 1 }));
      },
      End: () => end(number),
    };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === "ArrowRight" && column >= bands[number].cards.length - 8 && bands[number].cursor) model.next(bands[number].id);
    await move();
  };
  const fold = (id) => setFolded((old) => (old.has(id) ? new Set([...old].filter((each) => each !== id)) : new Set([...old, id])));
  return html`<div class="bandlist" ref=${list} style=${{ height: `${offsets.at(-1)}px` }} onKeyDown=${press} data-loaded=${bands.length}>
    ${shown.map((each) => html`<${Band} key=${bands[each].id} table=${table} index=${index} band=${bands[each]} number=${each} style=${{ top: `${offsets[each]}px`, height: `${offsets[each + 1] - offsets[each]}px` }} at=${each === wanted ? at : null} focus=${each === focus.number ? focus : null} isFolded=${folded.has(bands[each].id)} isNarrow=${isNarrow} actions=${model} onFold=${() => fold(bands[each].id)}
      onOpen=${(item, column) => { setFocus((old) => ({ number: each, column, round: old.round })); onOpen(item); }} onFocus=${(column) => setFocus((old) => (old.number === each && columnOf(old, bands[each]) === column ? old : { number: each, column, round: 0 }))} />`)}
  </div>`;
}

function isPartitionOf(band, at) {
  return !band.sort && band.keys.every((key) => JSON.stringify(at[key.attribute]) === JSON.stringify(key.value));
}

function scrollTo(pane, start, end, share = 1) {
  const height = pane.clientHeight * share;
  if (start < pane.scrollTop) pane.scrollTop = start;
  else if (end > pane.scrollTop + height) pane.scrollTop = Math.min(start, end - height);
}
