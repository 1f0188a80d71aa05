// The bands that a view has loaded: pages of partitions, and a window of cards in each of them.
// One request is in flight for pages, and one for each band; all are aborted when the view goes.
import { useCallback, useEffect, useRef, useState } from "../../html.js";
import { act } from "../../api.js";

// A band keeps this many cards; those at its other end are let go.
const KEPT_CARDS = 400;
// Bands further away than this from the visible ones let go of their cards.
const FAR_BANDS = 300;
const PATIENCE = 150;
const EMPTY = { bands: [], cursor: null, isLoading: true, isSlow: false, error: null, read: 0, own: 0, units: 0, round: 0 };

/** Return a text that is different for every band. */
export function nameBand(band) {
  return JSON.stringify([band.key, band.sort]);
}

/** Return where a read goes on after a card: its keys in the index and in the table. */
export function positionOf(card) {
  return { ...card.place, ...card.key };
}

// `added` counts the cards that came before the first ones, less those that were let go there.
function prepare(band) {
  return { ...band, id: nameBand(band), before: null, offset: 0, added: 0, round: 0, isLoading: false, error: null };
}

/** Return what changes when a band shows another part of its partition. */
function replaceCards(band, result, before, offset) {
  return { cards: result.cards, cursor: result.cursor, before, offset, added: 0, round: band.round + 1, isDropped: false };
}

/** Return the bands of a request, and functions that load more of them. */
export function useBands(request) {
  const [state, setState] = useState(EMPTY);
  const current = useRef(EMPTY);
  const flight = useRef(null);
  const bandFlights = useRef(new Map());
  const text = JSON.stringify(request);
  const change = (next) => {
    current.current = typeof next === "function" ? next(current.current) : next;
    setState(current.current);
  };
  const abort = () => {
    flight.current?.abort();
    bandFlights.current.forEach((each) => each.abort());
    bandFlights.current.clear();
  };

  const load = async (cursor) => {
    flight.current?.abort();
    const aborting = new AbortController();
    flight.current = aborting;
    change((old) => ({ ...old, isLoading: true, isSlow: false, error: null }));
    const timer = setTimeout(() => change((old) => ({ ...old, isSlow: true })), PATIENCE);
    try {
      const answer = await act("items/page", cursor ? { ...request, near: undefined, cursor } : request, { signal: aborting.signal });
      change((old) => (cursor ? addPage(old, answer) : { ...EMPTY, ...readPage(answer), through: request.through, isLoading: false, round: old.round + 1 }));
    } catch (error) {
      if (error.name !== "AbortError") change((old) => ({ ...old, error, isLoading: false }));
      else if (flight.current === aborting) change((old) => ({ ...old, isLoading: false, wasCancelled: true }));
    } finally {
      clearTimeout(timer);
    }
  };
  useEffect(() => {
    load(null);
    return abort;
  }, [text]);

  const more = useCallback(() => {
    const { cursor, isLoading } = current.current;
    if (cursor && !isLoading) load(cursor);
  }, [text]);
  const cancel = useCallback(() => flight.current?.abort(), []);
  const reload = useCallback(() => load(null), [text]);

  const changeBand = (id, change_) =>
    change((old) => ({ ...old, bands: old.bands.map((each) => (each.id === id ? { ...each, ...change_(each) } : each)) }));
  // What shows another part of a band does not wait for what reads on in this one.
  const loadBand = async (id, asked, merge, isUrgent = false) => {
    const band = current.current.bands.find((each) => each.id === id);
    if (!band || (bandFlights.current.has(id) && !isUrgent)) return;
    bandFlights.current.get(id)?.abort();
    const aborting = new AbortController();
    bandFlights.current.set(id, aborting);
    changeBand(id, () => ({ isLoading: true, error: null }));
    const body = { through: request.through, where: request.where, only: request.only, raw: request.raw, partition: band.key, sort: band.sort ?? undefined, ...asked };
    try {
      const { result } = await act("items/partition", body, { signal: aborting.signal });
      changeBand(id, (each) => ({ ...merge(each, result), isLoading: false }));
    } catch (error) {
      if (error.name !== "AbortError") changeBand(id, () => ({ isLoading: false, error }));
    } finally {
      if (bandFlights.current.get(id) === aborting) bandFlights.current.delete(id);
    }
  };
  const bandOf = (id) => current.current.bands.find((each) => each.id === id);

  // Bands of another index have other keys: they do not stay while these are loaded.
  const isOfRequest = state.through === request.through;
  return {
    ...(isOfRequest ? state : { ...EMPTY, isSlow: state.isSlow, error: state.error, isLoading: state.isLoading }),
    more,
    cancel,
    reload,
    /** Return the bands as they are now, which the next rendering shows. */
    now: () => current.current.bands,
    /** Load the cards after those of a band. */
    next: (id) => {
      const band = bandOf(id);
      if (band?.isDropped) return loadBand(id, {}, (each, result) => replaceCards(each, result, null, 0));
      return band?.cursor ? loadBand(id, { start: band.cursor }, addAfter) : undefined;
    },
    /** Load the cards before those of a band. */
    previous: (id) => {
      const band = bandOf(id);
      return band?.before ? loadBand(id, { start: band.before, backwards: true }, addBefore) : undefined;
    },
    /** Show the end of a band. */
    last: (id) => loadBand(id, { backwards: true }, (each, result) => replaceCards(each, { ...result, cursor: null }, result.cursor && positionOf(result.cards[0]), each.complete ? each.count - result.cards.length : null), true),
    /** Show the beginning of a band again. */
    first: (id) => loadBand(id, {}, (each, result) => replaceCards(each, result, null, 0), true),
    /** Show a band from a position of its barcode on. */
    jump: (id, start, offset) => loadBand(id, { start: start ?? undefined }, (each, result) => replaceCards(each, result, start && positionOf(result.cards[0]), offset), true),
    /** Show an item of a band, and its neighbours. */
    around: (id, position) => loadBand(id, { start: position, around: true }, (each, result) => replaceCards(each, result, result.before, null), true),
    /** Read the ticks of a band that is longer than what was read. */
    bars: (id) => loadBand(id, { bars: true }, (each, { ticks, each: step, starts, count, complete, bytes }) => ({ ticks, each: step, starts, count, complete, bytes, hasBars: true })),
    /** Let go of the cards of bands that are far from these, but for one. */
    forget: (first, last, kept) => {
      const { bands } = current.current;
      if (bands.length < 2 * FAR_BANDS) return;
      const isFar = (number) => number !== kept && (number < first - FAR_BANDS || number > last + FAR_BANDS);
      if (!bands.some((each, number) => isFar(number) && each.cards.length)) return;
      change((old) => ({ ...old, bands: old.bands.map((each, number) => (isFar(number) && each.cards.length ? { ...each, cards: [], isDropped: true } : each)) }));
    },
  };
}

function readPage(answer) {
  const { result, units, calls } = answer;
  return { ...result, bands: result.bands.map(prepare), units: units.read, calls };
}

/** A search may go on in the partition where it stopped: its band grows then. */
function addPage(old, answer) {
  const page = readPage(answer);
  const known = new Map(old.bands.map((each) => [each.id, each]));
  const bands = [...old.bands];
  for (const band of page.bands) {
    const same = known.get(band.id);
    if (!same) bands.push(band);
    else if (band.matching) bands[bands.indexOf(same)] = { ...same, cards: [...same.cards, ...band.cards], count: same.count + band.count, ticks: [...same.ticks, ...band.ticks], bytes: same.bytes + band.bytes };
  }
  return { ...old, bands, cursor: page.cursor, read: old.read + page.read, own: old.own + page.own, units: old.units + page.units, isLoading: false, isSlow: false };
}

function addAfter(band, result) {
  const cards = [...band.cards, ...result.cards];
  const extra = Math.max(0, cards.length - KEPT_CARDS);
  const kept = cards.slice(extra);
  return { cards: kept, cursor: result.cursor, before: extra ? positionOf(kept[0]) : band.before, offset: band.offset === null ? null : band.offset + extra, added: band.added - extra };
}

function addBefore(band, result) {
  const cards = [...result.cards, ...band.cards];
  const kept = cards.slice(0, KEPT_CARDS);
  return {
    cards: kept,
    before: result.cursor && positionOf(kept[0]),
    cursor: kept.length < cards.length ? positionOf(kept.at(-1)) : band.cursor,
    offset: band.offset === null ? null : Math.max(0, band.offset - result.cards.length),
    added: band.added + result.cards.length,
  };
}
