// The plan of a statement: which operation it becomes, on what, with which keys, filters and units.
import { html } from "../../html.js";
import { EntityName, findEntity, hueOf } from "../../parts/entity.js";
import { Icon } from "../../parts/icon.js";
import { Key } from "../../parts/key.js";
import { Loading } from "../../parts/states.js";
import { showCount, trim } from "../../parts/text.js";

const WORDS = { GetItem: "reads one item", Query: "reads a range of keys", Scan: "reads everything", PutItem: "writes a new item", UpdateItem: "changes one item", DeleteItem: "deletes one item" };

export function PlanView({ table, answer }) {
  const { result, error, isLoading, isSlow } = answer;
  // While a statement is typed it is wrong most of the time: no alarm.
  if (error) return html`<p class="planned-error"><${Icon} name="info" /> ${error.message} <code>[${error.code}]</code></p>`;
  if (!result) return isLoading ? html`<${Loading} isSlow=${isSlow} label="Planning" />` : null;
  return html`<${Plan} table=${table} plan=${result} />`;
}

export function Plan({ table, plan }) {
  const isScan = plan.operation === "Scan";
  return html`<div class="planned">
    <p class="row wraps"><b class="operation${isScan ? " warn-ink" : ""}">${isScan && html`<${Icon} name="warn" /> `}${plan.operation}</b> <span class="badge">${plan.index ?? "table"}</span> <span class="dim">${WORDS[plan.operation]}${plan.alternatives > 1 ? `, ${showCount(plan.alternatives, "range")}` : ""}</span><${Estimate} estimate=${plan.estimate} /></p>
    <dl class="kv">
      ${plan.partition && html`<dt>partition</dt><dd><${Partition} table=${table} partition=${plan.partition} /></dd>`}
      ${plan.keys.length > 0 && html`<dt>key</dt><dd class="wrap" translate="no">${plan.keys.map((each) => html`<div>${each}</div>`)}${plan.alternatives > plan.keys.length ? html`<div class="dim">and ${plan.alternatives - plan.keys.length} more</div>` : ""}</dd>`}
      ${plan.filter && html`<dt>${plan.writes ? "if" : "filter"}</dt><dd class="wrap"><span translate="no">${plan.filter}</span>${!plan.writes && html`<div class="dim sans">after reading: what it excludes is paid for, too. A page without items is followed by the next, up to 10 RU</div>`}</dd>`}
      ${plan.columns && html`<dt>returns</dt><dd class="wrap" translate="no">${plan.columns.join(", ")}</dd>`}
    </dl>
    ${plan.why.map((each) => html`<p class=${isScan ? "" : "dim"}>${each}</p>`)}
  </div>`;
}

function Partition({ table, partition }) {
  const entity = findEntity(table, partition.entity);
  return html`<span class="row wraps" ...${hueOf(entity)}>${entity && html`<${EntityName} entity=${entity} />`}<${Key} shown=${partition.key} /></span>`;
}

/** About how many units; nothing as a role, which is not told how large the table is. */
export function Estimate({ estimate }) {
  if (!estimate) return null;
  const { least, most, whole } = estimate;
  const page = least === most ? `about ${trim(most)} RU` : `${trim(least)} to ${trim(most)} RU`;
  return html`<span class="end num${estimate.asks ? " warn-ink" : ""}"><b>${page}</b>${whole !== null && whole > most ? html` <span class="dim">a page, ${trim(whole)} RU for all</span>` : ""}</span>`;
}
