// The mark of an entity: a hue and two letters, never one without the other.
import { html } from "../html.js";

/** Return the entity of a name in a table; null for items that have none. */
export function findEntity(table, name) {
  return table.entities.find((each) => each.name === name) ?? null;
}

/** The attributes that give an element, and all inside, the hue of an entity. */
export function hueOf(entity) {
  return entity ? { "data-e": entity.hue } : { "data-e": "0" };
}

export function Mark({ entity, expired = false }) {
  const className = `mk${entity?.hollow ? " hollow" : ""}${expired ? " gone" : ""}`;
  return html`<span class=${className} ...${hueOf(entity)} aria-hidden="true">${entity?.letters ?? "??"}</span>`;
}

export function EntityName({ entity, name }) {
  return html`<span class="ent" ...${hueOf(entity)}><${Mark} entity=${entity} /> ${entity?.name ?? name ?? "no entity"}</span>`;
}
