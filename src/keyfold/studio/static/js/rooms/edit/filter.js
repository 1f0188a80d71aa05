// Which items a bulk edit or an export is about.
import { html } from "../../html.js";

/** A form for an entity and a filter; `chosen` is {entity, where}. */
export function FilterForm({ table, chosen, onChange, mayBeAll }) {
  return html`<div class="row wrapping filter">
    <label>Entity <select value=${chosen.entity ?? ""} onChange=${(event) => onChange({ ...chosen, entity: event.target.value || null })}>
      ${mayBeAll && html`<option value="">all</option>`}
      ${table.entities.map((each) => html`<option value=${each.name}>${each.name}</option>`)}
    </select></label>
    <label class="grow">Only those where <span class="field"><input value=${chosen.where} placeholder="user = ada and total > 100, or empty for all" onInput=${(event) => onChange({ ...chosen, where: event.target.value })} /></span></label>
  </div>
  <p class="dim small">${scope(table, chosen)}</p>`;
}

/** Say what is read: one partition, or the whole table. */
function scope(table, chosen) {
  const entity = table.entities.find((each) => each.name === chosen.entity);
  const parts = entity ? entity.keys[0].pieces.filter((each) => each.part).map((each) => each.part) : null;
  const lacking = parts?.filter((each) => !new RegExp(`(^|\\s)${each}\\s*[=:]\\s*\\S`).test(chosen.where)) ?? null;
  if (lacking && lacking.length === 0) return "Reads one partition.";
  return html`Reads the whole table, page by page${lacking ? html`; with <code>${lacking.map((each) => `${each} = …`).join(" and ")}</code> it reads one partition` : ""}.`;
}
