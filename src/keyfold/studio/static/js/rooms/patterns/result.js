// What a pattern returned: entities by kind, a table for each kind; or a value.
import { html } from "../../html.js";
import { address } from "../../router.js";
import { EntityName, findEntity, hueOf } from "../../parts/entity.js";
import { Icon } from "../../parts/icon.js";
import { writeItemKey } from "../../parts/itemkey.js";
import { Key } from "../../parts/key.js";
import { Empty, Note } from "../../parts/states.js";
import { shortenId, showCount, showExpiry } from "../../parts/text.js";
import { Value, showInline } from "../../parts/values.js";

const SHOWN_CELL = 60;

export function PatternResult({ table, form, answer, onNext, running }) {
  const { result } = answer;
  const pages = result.pages ?? 1;
  const count = result.shape === "items" ? `${showCount(result.count, "item")} in ${showCount(pages, "page")}${result.continues ? ", and more" : result.page ? ", no cursor" : ""}` : "";
  return html`<div class="sec">
    <h2 class="lbl"><span>${result.name || "Result"}</span><span class="end">${count}</span></h2>
    ${result.shape === "nothing" && html`<${Empty} title="Nothing was found"><p class="dim">${form.title} returned None for these arguments.</p><//>`}
    ${result.shape === "done" && html`<${Note} kind="ok"><p>Done. The pattern returns nothing.</p><//>`}
    ${result.shape === "items" && !result.count && !result.invalid.length && html`<${Empty} title="No items"><p class="dim">The page is empty for these arguments.</p><//>`}
    ${result.values.map((value) => html`<p class="figure"><${Value} value=${value} /></p>`)}
    ${result.groups.map((group) => html`<${Group} key=${`${group.kind} ${group.label}`} table=${table} group=${group} />`)}
    ${result.missing > 0 && html`<p class="dim">${showCount(result.missing, "item")} of those asked for do not exist.</p>`}
    ${result.invalid.map((each) => html`<${Note} kind="warn"><p><b translate="no">${each.name}</b> does not fit ${each.entity ?? "any entity"}: ${each.reason}</p><//>`)}
    ${result.continues && html`<p><button type="button" class="btn" disabled=${running} onClick=${onNext}>Next page</button></p>`}
  </div>`;
}

function Group({ table, group }) {
  const entity = findEntity(table, group.entity);
  if (group.single || group.rows.length === 1) return html`${group.rows.map((row) => html`<${One} entity=${entity} group=${group} row=${row} />`)}`;
  const columns = (group.rows[0]?.fields ?? []).filter((field, number) => group.rows.some((row) => row.fields[number]?.value !== null));
  return html`<section class="found" ...${hueOf(entity)}>
    <header><${EntityName} entity=${entity} name=${group.kind} /> <span class="dim">${group.label ? `${group.label} · ` : ""}${group.rows.length}</span></header>
    <div class="scroll" tabindex="0" role="region" aria-label="${group.kind}, ${group.rows.length} rows">
      <table class="t">
        <thead><tr>${columns.map((each) => html`<th class=${isNumber(each) ? "r" : ""}>${each.name}</th>`)}<th><span class="sr">Show in Items</span></th></tr></thead>
        <tbody>${group.rows.map((row) => html`<tr class=${row.expired ? "gone" : ""}>
          ${columns.map((column) => html`<${Cell} field=${row.fields.find((each) => each.name === column.name)} />`)}
          <td><${ItemLink} row=${row} /></td></tr>`)}</tbody>
      </table>
    </div>
  </section>`;
}

function Cell({ field }) {
  const text = field?.value ? showInline(field.value, SHOWN_CELL) : "";
  return html`<td class=${isNumber(field) ? "r mono" : "mono"} title=${field?.value ? showInline(field.value, 2000) : "not set"} translate="no">${shortenId(text)}</td>`;
}

function isNumber(field) {
  return field?.value?.N !== undefined;
}

function One({ entity, group, row }) {
  const sort = row.keys?.at(-1);
  return html`<section class="found" ...${hueOf(entity)}>
    <header><${EntityName} entity=${entity} name=${row.model ?? group.kind} /> ${sort && html`<${Key} shown=${sort} flat brief />`} <span class="end"><${ItemLink} row=${row} isLong /></span></header>
    <dl class="facts">${row.fields.filter((each) => each.value !== null).map((each) => html`<div><dt>${each.name}</dt><dd title=${showInline(each.value, 2000)}><${Value} value=${each.value} /></dd></div>`)}
      ${row.expires !== null && row.expires !== undefined && html`<div><dt>expires</dt><dd>${showExpiry(row)}</dd></div>`}</dl>
  </section>`;
}

function ItemLink({ row, isLong = false }) {
  if (!row.key || !Object.keys(row.key).length) return "";
  return html`<a class="row dim" href=${address({ room: "items", query: { at: writeItemKey(row.key) } })} aria-label="Show in Items"><${Icon} name="items" />${isLong && "Show in Items"}</a>`;
}
