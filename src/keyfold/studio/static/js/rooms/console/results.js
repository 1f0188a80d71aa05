// What a statement returned: entities by kind, or rows of columns, or the JSON as it came.
import { html, useState } from "../../html.js";
import { address } from "../../router.js";
import { EntityName, Mark, findEntity, hueOf } from "../../parts/entity.js";
import { Icon } from "../../parts/icon.js";
import { Key } from "../../parts/key.js";
import { writeItemKey } from "../../parts/itemkey.js";
import { Totals } from "../../parts/calls.js";
import { CopyButton } from "../../parts/copy.js";
import { Empty, Note } from "../../parts/states.js";
import { showCount, showExpiry, trim } from "../../parts/text.js";
import { showInline } from "../../parts/values.js";

const MOST_RAW = 300_000;

export function Result({ table, state, onNext }) {
  const [isRaw, setRaw] = useState(false);
  const { pages } = state;
  const results = pages.map((each) => each.result);
  const raw = results.flatMap((each) => each.raw);
  const token = results.at(-1).token;
  const units = pages.reduce((sum, each) => ({ read: sum.read + each.units.read, write: sum.write + each.units.write }), { read: 0, write: 0 });
  const calls = pages.flatMap((each) => each.calls);
  const { estimate } = results.at(-1).plan;
  return html`<section class="sec result" aria-label="Result" aria-busy=${state.isLoading ?? false}>
    <div class="row wraps">
      <p role="status">${state.wrote ? html`<span class="ok-ink"><${Icon} name="check" /> Done.</span> ` : html`<b>${showCount(raw.length, "item")}</b>${pages.length > 1 ? ` in ${pages.length} pages` : ""}${token ? ", and there is more" : ""} · `}<${Totals} calls=${calls} units=${units} /></p>
      ${raw.length > 0 && html`<div class="seg end" role="group" aria-label="Show as"><button type="button" aria-pressed=${!isRaw} onClick=${() => setRaw(false)}>Items</button><button type="button" aria-pressed=${isRaw} onClick=${() => setRaw(true)}>Raw JSON</button></div>`}
    </div>
    ${!raw.length ? html`<${Nothing} state=${state} token=${token} />` : isRaw ? html`<${RawJson} raw=${raw} />` : html`<${Rows} table=${table} results=${results} raw=${raw} />`}
    ${token && html`<p><button type="button" class="btn" disabled=${state.isLoading} onClick=${() => onNext(token)}>Next page</button> ${estimate && html`<span class="dim">about ${trim(estimate.most)} RU</span>`}</p>`}
  </section>`;
}

function Nothing({ state, token }) {
  if (state.wrote) return html`<p class="dim">A write returns items only with RETURNING.</p>`;
  if (token) return html`<${Note}><p>The pages so far have no item that the filter lets through.</p><//>`;
  return html`<${Empty} title="No item"><p class="dim">The statement ran, and nothing has these keys and values. Keys are compared as they are stored: upper and lower case differ.</p><//>`;
}

function RawJson({ raw }) {
  const text = JSON.stringify(raw, null, 2);
  const isCut = text.length > MOST_RAW;
  return html`<div class="rawjson"><${CopyButton} text=${text} label="Copy the JSON" />
    <pre class="code" tabindex="0" role="group" aria-label="Items as JSON" translate="no">${isCut ? text.slice(0, MOST_RAW) : text}</pre>${isCut && html`<p class="dim">The first ${MOST_RAW.toLocaleString("en-US")} of ${text.length.toLocaleString("en-US")} characters; the copy has all.</p>`}</div>`;
}

function Rows({ table, results, raw }) {
  if (results.some((each) => each.items === null)) return html`<${Columns} table=${table} results=${results} raw=${raw} />`;
  const items = results.flatMap((each) => each.items);
  const kinds = [...new Set(items.map((each) => each.entity))];
  return kinds.map((name) => html`<${Kind} key=${name} table=${table} name=${name} items=${items.filter((each) => each.entity === name)} />`);
}

/** The items of one entity, as a table. */
function Kind({ table, name, items }) {
  const entity = findEntity(table, name);
  const fields = entity ? items[0].fields.filter((each) => each.attribute !== null) : [];
  const shown = fields.filter((field) => items.some((each) => valueOf(each, field.name) !== null));
  const others = [...new Set(items.flatMap((each) => each.others.map((other) => other.name)))];
  const hasExpiry = items.some((each) => each.expires !== null);
  return html`<div class="kind" ...${hueOf(entity)}>
    <h3 class="row">${entity ? html`<${EntityName} entity=${entity} />` : html`<${Mark} entity=${null} /> ${items[0].own ? "Keyfold's own items" : "no declared entity"}`} <span class="dim">${items.length}</span></h3>
    <div class="tablewrap" tabindex="0" role="group" aria-label="Items of ${name ?? "no entity"}"><table class="t"><thead><tr>
      ${items[0].keys.map((each) => html`<th scope="col">${each.attribute}</th>`)}${shown.map((each) => html`<th scope="col" class=${items.some((item) => isNumber(valueOf(item, each.name))) ? "r" : ""}>${each.name}</th>`)}${others.map((each) => html`<th scope="col">${each}</th>`)}${hasExpiry && html`<th scope="col">expiry</th>`}
    </tr></thead><tbody>${items.map((item) => html`<tr key=${writeItemKey(item.key)} class=${item.expired ? "expired" : ""}>
      ${item.keys.map((each, place) => html`<td>${place ? html`<${Key} shown=${each} flat brief />` : html`<a class="ref" href=${address({ room: "items", query: { at: writeItemKey(item.key) } })} title="Show in Items"><${Key} shown=${each} flat brief /></a>`}${!place && item.problem ? html` <span class="badge err" title=${item.problem}><${Icon} name="warn" />does not fit</span>` : ""}</td>`)}
      ${shown.map((field) => html`<${Cell} value=${valueOf(item, field.name)} />`)}${others.map((other) => html`<${Cell} value=${item.others.find((each) => each.name === other)?.value ?? null} />`)}${hasExpiry && html`<td class="dim">${showExpiry(item)}</td>`}
    </tr>`)}</tbody></table></div>
  </div>`;
}

function valueOf(item, name) {
  return item.fields.find((each) => each.name === name)?.value ?? null;
}

function isNumber(value) {
  return value !== null && "N" in value;
}

function Cell({ value }) {
  if (value === null) return html`<td><i class="none">not set</i></td>`;
  const text = showInline(value, 60);
  return html`<td class="mono${isNumber(value) ? " r" : ""}" title=${showInline(value, 2000)} translate="no">${text === "" ? html`<i class="none">empty text</i>` : text}</td>`;
}

/** Rows of the columns that a statement names. */
function Columns({ table, results, raw }) {
  const names = results[0].plan.columns ?? [...new Set(raw.flatMap((each) => Object.keys(each)))];
  const entities = results.every((each) => each.entities) ? results.flatMap((each) => each.entities) : null;
  return html`<div class="tablewrap" tabindex="0" role="group" aria-label="Rows"><table class="t"><thead><tr>${entities && html`<th scope="col">entity</th>`}${names.map((each) => html`<th scope="col" class=${raw.some((row) => isNumber(row[each] ?? null)) ? "r" : ""}>${each}</th>`)}</tr></thead>
    <tbody>${raw.map((row, place) => html`<tr key=${place}>${entities && html`<td><${EntityName} entity=${findEntity(table, entities[place])} name="no entity" /></td>`}${names.map((name) => html`<${Cell} value=${row[name] ?? null} />`)}</tr>`)}</tbody></table></div>`;
}
