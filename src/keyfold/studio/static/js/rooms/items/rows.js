// Items as tables: one for each kind of entity, with its fields as columns; an index has one for all.
import { html, useEffect, useMemo, useRef } from "../../html.js";
import { EntityName, findEntity, hueOf } from "../../parts/entity.js";
import { isSameKey, writeItemKey } from "../../parts/itemkey.js";
import { Key } from "../../parts/key.js";
import { shortenId, showCount, showExpiry } from "../../parts/text.js";
import { showInline, unwrap } from "../../parts/values.js";
import { showShort, summarise } from "./shapes.js";
import { findWindow, sumUp, useScroll } from "./windowing.js";

const ROW = 29;
const HEAD = 26;
const TITLE = 40;
const EXTRA_ROWS = 12;

/** The loaded items of all bands, grouped by entity, in the order of the declaration. */
export function RowTables({ table, model, pane, at, canGoOn, onOpen }) {
  const kinds = useMemo(() => groupItems(table, model.bands), [table, model.bands]);
  const view = useScroll(pane);
  const list = useRef(null);
  const top = list.current?.offsetTop ?? 0;
  const offsets = sumUp(kinds.length, (each) => TITLE + HEAD + kinds[each].items.length * ROW + 17);
  useGoOn(model, view, top + offsets.at(-1), canGoOn);
  return html`<div class="rowtables" ref=${list}>
    ${kinds.map((kind, number) => html`<${KindTable} key=${kind.name} table=${table} kind=${kind} at=${at} start=${view.start - top - offsets[number] - TITLE - HEAD} size=${view.size} onOpen=${onOpen} />`)}
  </div>`;
}

function groupItems(table, bands) {
  const kinds = new Map(table.entities.map((each) => [each.name, { name: each.name, entity: each, items: [] }]));
  const others = { name: "no entity", entity: null, items: [] };
  for (const band of bands) for (const item of band.cards) (kinds.get(item.entity) ?? others).items.push(item);
  return [...kinds.values(), others].filter((kind) => kind.items.length);
}

/** Ask for more when the end comes near: first the rest of bands, then the next page. */
function useGoOn(model, view, height, canGoOn) {
  useEffect(() => {
    if (!view.size || view.start + view.size < 0.8 * height) return;
    const unfinished = model.bands.find((each) => each.cursor && !each.error && each.cards.length < 400);
    if (unfinished) model.next(unfinished.id);
    else if (canGoOn) model.more();
  }, [view.start, view.size, model.bands, canGoOn, model.isLoading]);
}

function KindTable({ table, kind, at, start, size, onOpen }) {
  const columns = useMemo(() => listColumns(table, kind), [table, kind]);
  const [first, last] = findWindow(sumUp(kind.items.length, () => ROW), start, start + size, EXTRA_ROWS);
  const isSeen = start + size + EXTRA_ROWS * ROW > 0 && start < (kind.items.length + EXTRA_ROWS) * ROW;
  const shown = isSeen ? kind.items.slice(first, last) : [];
  const before = isSeen ? first : kind.items.length;
  return html`<section class="sec entitytable" ...${hueOf(kind.entity)} aria-label=${kind.name}>
    <h3><${EntityName} entity=${kind.entity} name=${kind.name} /><span class="end num">${showCount(kind.items.length, "item")} loaded</span></h3>
    <div class="wide" role="region" aria-label="${kind.name}, its items" tabindex="0"><table class="t" aria-rowcount=${kind.items.length + 1}>
      <thead><tr>${columns.map((column) => html`<th class=${column.isNumber ? "r" : undefined}>${column.name}${column.isPart ? html` <span class="faint">key</span>` : ""}</th>`)}</tr></thead>
      <tbody>
        ${before > 0 && html`<tr class="spacer" aria-hidden="true" style=${{ height: `${before * ROW}px` }}></tr>`}
        ${shown.map((item, number) => html`<${Row} key=${writeItemKey(item.key)} item=${item} columns=${columns} rowIndex=${before + number + 2} isCurrent=${isSameKey(item.key, at)} onOpen=${onOpen} />`)}
        ${isSeen && last < kind.items.length && html`<tr class="spacer" aria-hidden="true" style=${{ height: `${(kind.items.length - last) * ROW}px` }}></tr>`}
      </tbody>
    </table></div>
  </section>`;
}

function listColumns(table, kind) {
  const names = new Map();
  const parts = new Set((kind.entity?.keys ?? []).flatMap((key) => key.pieces.map((piece) => piece.part)).filter(Boolean));
  for (const part of parts) names.set(part, { name: part, isPart: true });
  if (!kind.entity) for (const key of kind.items[0].keys) names.set(key.attribute, { name: key.attribute, isPart: true, key: key.attribute });
  for (const item of kind.items.slice(0, 200)) {
    for (const field of [...item.fields, ...item.others]) {
      if (!names.has(field.name)) names.set(field.name, { name: field.name, isPart: false });
      if (field.value && unwrap(field.value)[0] === "N") names.get(field.name).isNumber = true;
    }
  }
  // The expiry comes last, as a time.
  const expiry = kind.entity?.fields.find((field) => field.attribute === table.ttl)?.name;
  const columns = [...names.values()].filter((column) => column.name !== expiry);
  return expiry === undefined ? columns : [...columns, { name: expiry, isPart: false, isExpiry: true }];
}

function Row({ item, columns, rowIndex, isCurrent, onOpen }) {
  const values = new Map([...item.fields, ...item.others].map((field) => [field.name, field.value]));
  for (const key of item.keys) values.set(key.attribute, values.get(key.attribute) ?? { S: key.text });
  const open = () => onOpen(item);
  return html`<tr class="${item.expired ? "gone" : ""}" aria-rowindex=${rowIndex} aria-current=${isCurrent ? "true" : undefined} onClick=${open}>
    ${columns.map((column, number) => {
      const value = values.get(column.key ?? column.name);
      const text = column.isExpiry ? showExpiry(item) : value ? showShort(value, 120) : "";
      const shown = value ? html`<span translate="no" title=${showInline(value)}>${text}</span>` : html`<i class="none">${column.isExpiry ? text : "not set"}</i>`;
      return html`<td class="${column.isNumber ? "r" : ""}${column.isPart ? " mono" : ""}">${number ? shown : html`<button type="button" class="ref" onClick=${open}>${shown}</button>`}</td>`;
    })}
  </tr>`;
}

/** The items of an index: their keys there, and where they are in the table. */
export function IndexRows({ table, index, model, pane, at, absent, canGoOn, onOpen }) {
  const items = useMemo(() => model.bands.flatMap((band) => band.cards.map((item) => ({ item, keys: band.keys }))), [model.bands]);
  const list = useRef(null);
  const view = useScroll(pane);
  const top = (list.current?.offsetTop ?? 0) + HEAD;
  const [first, last] = findWindow(sumUp(items.length, () => ROW), view.start - top, view.start - top + view.size, EXTRA_ROWS);
  useGoOn(model, view, top + items.length * ROW, canGoOn);
  const sort = index.key.sort;
  return html`<div class="wide" role="region" aria-label="items in ${index.name}" tabindex="0" ref=${list}><table class="t" aria-rowcount=${items.length + 1}>
    <thead><tr><th>${index.key.partition.join(" · ")} <span class="faint">partition</span></th>${sort.length ? html`<th class="hide-s">${sort.join(" · ")} <span class="faint">sort</span></th>` : ""}<th>entity</th><th>item</th><th class="hide-s">in the table at</th></tr></thead>
    <tbody>
      ${first > 0 && html`<tr class="spacer" aria-hidden="true" style=${{ height: `${first * ROW}px` }}></tr>`}
      ${items.slice(first, last).map(({ item, keys }, number) => html`<${IndexRow} key=${writeItemKey(item.key)} table=${table} item=${item} keys=${keys} sort=${sort} rowIndex=${first + number + 2} isCurrent=${isSameKey(item.key, at)} onOpen=${onOpen} />`)}
      ${last < items.length && html`<tr class="spacer" aria-hidden="true" style=${{ height: `${(items.length - last) * ROW}px` }}></tr>`}
      ${absent}
    </tbody>
  </table></div>`;
}

function IndexRow({ table, item, keys, sort, rowIndex, isCurrent, onOpen }) {
  const entity = findEntity(table, item.entity);
  const open = () => onOpen(item);
  return html`<tr ...${hueOf(entity)} class=${item.expired ? "gone" : ""} aria-rowindex=${rowIndex} aria-current=${isCurrent ? "true" : undefined} onClick=${open}>
    <td>${keys.map((key) => html`<${Key} shown=${key} flat brief />`)}</td>
    ${sort.length ? html`<td class="hide-s"><code class="dim" translate="no">${sort.map((name) => shortenId(showInline(item.place[name], 60))).join(" · ")}</code></td>` : ""}
    <td><${EntityName} entity=${entity} /></td>
    <td translate="no">${summarise(table, item)}${item.expired ? html` <span class="badge">expired</span>` : ""}</td>
    <td class="hide-s"><button type="button" class="ref mono dim" translate="no" title=${item.keys.map((key) => key.text).join(" · ")} onClick=${open}>${item.keys.map((key) => shortenId(key.text)).join(" · ")}</button></td>
  </tr>`;
}

/** The row of an item that is not in the index, and why. */
export function AbsentRow({ table, shown, place }) {
  const entity = findEntity(table, shown.item.entity);
  const missing = place.conditions.filter((each) => !each.set).map((each) => each.attribute);
  const why = missing.length ? `${missing.join(" and ")} ${missing.length === 1 ? "is" : "are"} not set` : "it can never be here";
  return html`<tr class="ghost" ...${hueOf(entity)}>
    <td colspan="2"><span class="badge err">not here: ${why}</span></td>
    <td><${EntityName} entity=${entity} /></td>
    <td translate="no">${summarise(table, shown.item)}</td>
    <td class="hide-s mono dim" translate="no">${shown.item.keys.map((key) => shortenId(key.text)).join(" · ")}</td>
  </tr>`;
}
