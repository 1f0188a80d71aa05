// What a pattern returned: a card for one entity, a table for several of a kind, a value, or nothing.
import { html } from "../../html.js";
import { address } from "../../router.js";
import { EntityName, findEntity, hueOf } from "../../parts/entity.js";
import { Icon } from "../../parts/icon.js";
import { writeItemKey } from "../../parts/itemkey.js";
import { Key } from "../../parts/key.js";
import { Empty, Note } from "../../parts/states.js";
import { shortenId, showCount, showExactTime, showExpiry, showTime } from "../../parts/text.js";
import { Value, showInline, unwrap } from "../../parts/values.js";

const TIMES = /datetime|UnixTime|Expiry/;

export function Result({ table, result, pages, onNext, isRunning, asked, children }) {
  if (result.shape === "nothing") {
    return html`<section class="sec" aria-label="Result"><${Empty} title="Nothing was found"><p class="dim">${asked ? html`There is nothing for <span class="mono" translate="no">${asked}</span>, or it has expired.` : "There is nothing, or it has expired."}</p>${children}<//></section>`;
  }
  if (result.shape === "done") {
    return html`<section class="sec" aria-label="Result"><${Note} kind="ok"><b>Done.</b> It was written; there is nothing to show.<//></section>`;
  }
  return html`<section class="sec" aria-label="Result">
    <h2 class="lbl"><span class="strong">${result.name || result.groups.map((each) => each.kind).join(", ") || "Result"}</span><span class="end num">${summary(result, pages)}</span></h2>
    ${result.values.map((value) => html`<p class="value"><${Value} value=${value} /></p>`)}
    ${result.groups.map((group) =>
      group.single && group.rows.length === 1
        ? html`<${OneEntity} key=${`${group.label} ${group.kind}`} table=${table} group=${group} row=${group.rows[0]} />`
        : html`<${ManyEntities} key=${`${group.label} ${group.kind}`} table=${table} group=${group} />`,
    )}
    ${result.page && result.count === 0 && html`<${Empty} title="The page is empty"><p class="dim">No item matches${asked ? html` <span class="mono" translate="no">${asked}</span>` : ""}${result.continues ? " so far; more may follow." : "."}</p>${children}<//>`}
    ${result.invalid.length > 0 && html`<${Invalid} items=${result.invalid} />`}
    ${result.continues && html`<p class="more"><button type="button" class="btn" disabled=${isRunning} onClick=${onNext}>Next page</button></p>`}
    ${result.cursor && !result.continues && html`<p class="dim small">More follow; this pattern takes no cursor to continue with.</p>`}
  </section>`;
}

function summary(result, pages) {
  if (result.shape === "value") return "";
  const missing = result.missing ? `, ${result.missing} not found` : "";
  if (!result.page) return `${showCount(result.count, "item")}${missing}`;
  return `${showCount(result.count, "item")} in ${showCount(pages, "page")}, ${result.cursor ? "more follow" : "no cursor"}`;
}

function ItemsLink({ row, withText = false }) {
  if (!row.key) return null;
  const href = address({ room: "items", query: { at: writeItemKey(row.key) } });
  return html`<a class="btn quiet show" href=${href} aria-label="Show in Items: ${row.keys.map((each) => each.text).join(" · ")}" title="Show in Items"><${Icon} name="items" />${withText && html`<span class="hide-s">Show in Items</span>`}</a>`;
}

function Marks({ row }) {
  return html`${row.ref && html`<span class="badge">key only</span>`}${row.expired && html`<span class="badge warn" title=${showExactTime(row.expires)}><${Icon} name="clock" />${showExpiry(row)}</span>`}${row.problem && html`<span class="badge warn" title=${row.problem}><${Icon} name="warn" />does not fit</span>`}`;
}

/** One entity: its key in the header, its fields below. */
function OneEntity({ table, group, row }) {
  const entity = findEntity(table, group.entity);
  const last = row.keys.at(-1);
  const fields = [...row.fields, ...row.others].filter((each) => each.value !== null && each.value !== undefined);
  return html`<article class="ecard" ...${hueOf(entity)}>
    <header><${EntityName} entity=${entity} name=${group.kind} />${last && html`<${Key} shown=${last} flat brief />`}<${Marks} row=${row} /><span class="grow"></span><${ItemsLink} row=${row} withText /></header>
    <dl class="grid">${fields.map((each) => html`<div key=${each.name}><dt translate="no">${each.name}</dt><dd><${Cell} field=${each} open /></dd></div>`)}</dl>
  </article>`;
}

/** Several entities of a kind, as a table; fields that none has, and shared parts of keys, are left out. */
function ManyEntities({ table, group }) {
  const entity = findEntity(table, group.entity);
  const columns = chooseColumns(group.rows);
  const by = columns.filter((each) => each.isPart).map((each) => each.name);
  const marked = group.rows.some((row) => row.expired || row.problem || row.ref);
  return html`<article class="ecard" ...${hueOf(entity)}>
    <header><${EntityName} entity=${entity} name=${group.kind} /><span class="faint">${group.rows.length.toLocaleString("en-US")}${by.length ? ` by ${by.join(", ")}` : ""}</span></header>
    <div class="pwide" tabindex="0" role="region" aria-label="${group.kind}, ${showCount(group.rows.length, "row")}">
      <table class="t">
        <thead><tr>${columns.map((each) => html`<th scope="col" class=${each.isNumber ? "r" : ""} translate="no">${each.name}</th>`)}${marked && html`<th scope="col"><span class="sr">state</span></th>`}<th scope="col"><span class="sr">Items</span></th></tr></thead>
        <tbody>${group.rows.map((row, place) => html`<tr key=${place} class=${row.expired ? "gone" : ""}>${columns.map((each) => html`<td class=${each.isNumber ? "r" : ""}><${Cell} field=${each.find(row)} /></td>`)}${marked && html`<td><${Marks} row=${row} /></td>`}<td class="act"><${ItemsLink} row=${row} /></td></tr>`)}</tbody>
      </table>
    </div>
  </article>`;
}

function chooseColumns(rows) {
  const names = [...new Set(rows.flatMap((row) => [...row.fields, ...row.others].map((each) => each.name)))];
  return names
    .map((name) => {
      const find = (row) => row.fields.find((each) => each.name === name) ?? row.others.find((each) => each.name === name);
      const values = rows.map((row) => find(row)?.value).filter((each) => each !== null && each !== undefined);
      const first = rows.map(find).find(Boolean);
      const isPart = rows.every((row) => row.keys.some((key) => key.pieces.some((piece) => piece.part === name)));
      const isShared = rows.length > 1 && isPart && new Set(values.map((each) => JSON.stringify(each))).size === 1;
      const isNumber = values.length > 0 && values.every((each) => unwrap(each)[0] === "N") && !TIMES.test(first?.type ?? "");
      return { name, find, isPart, isShared, isNumber, isEmpty: values.length === 0 };
    })
    .filter((each) => !each.isEmpty && !each.isShared)
    .sort((one, other) => Number(other.isPart) - Number(one.isPart));
}

/** The value of a field: a time with its zone on hover, the rest as it is stored. */
function Cell({ field, open = false }) {
  if (!field || field.value === null || field.value === undefined) return html`<span class="faint">–</span>`;
  const [kind, data] = unwrap(field.value);
  if (TIMES.test(field.type) && (kind === "N" || kind === "S")) {
    const moment = kind === "N" ? Number(data) : data;
    return html`<time title=${showExactTime(moment)}>${showTime(moment)}</time>`;
  }
  if (open && (kind === "M" || kind === "L" || kind === "cut")) return html`<${Value} value=${field.value} />`;
  const text = showInline(field.value, 2000);
  const isKey = kind === "S" && (field.attribute === null || shortenId(text) !== text || /[#/]/.test(text));
  return html`<span class=${isKey ? "mono" : kind === "N" ? "num" : ""} title=${text} translate="no">${shortenId(showInline(field.value, 80))}</span>`;
}

function Invalid({ items }) {
  return html`<div class="note warn" role="note"><${Icon} name="warn" /><div>
    <p><b>${showCount(items.length, "stored item")} ${items.length === 1 ? "does" : "do"} not fit the declaration, and ${items.length === 1 ? "is" : "are"} left out.</b></p>
    <ul class="stack">${items.map((each) => html`<li><a class="ref mono" href=${address({ room: "items", query: { at: writeItemKey(each.item.key) } })} translate="no">${each.name}</a> ${each.entity && html`<span class="dim">${each.entity}</span>`} ${each.reason}</li>`)}</ul>
  </div></div>`;
}
