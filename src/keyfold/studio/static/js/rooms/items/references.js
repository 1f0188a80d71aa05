// Where an item leads: children, parents, items that its fields name, and items that name it.
import { html } from "../../html.js";
import { address } from "../../router.js";
import { Mark, findEntity, hueOf } from "../../parts/entity.js";
import { writeItemKey } from "../../parts/itemkey.js";
import { shortenId } from "../../parts/text.js";

/** Return the address that a reference leads to. */
export function addressOf(table, reference) {
  if (reference.at) return address({ table: table.name, room: "items", query: { at: writeItemKey(reference.at) } });
  return address({ table: table.name, room: "items", query: { where: reference.where, only: reference.only } });
}

export function describeReference(reference) {
  if (reference.kind === "child") return `${reference.count}${reference.more ? " and more" : ""} ${reference.entity}`;
  if (reference.kind === "search" && reference.label.startsWith("with this")) return `${reference.entity} ${reference.label}`;
  return reference.field && reference.field !== reference.entity.toLowerCase() ? `${reference.entity} by ${reference.field}` : reference.entity;
}

export function References({ table, references, writers, onFollow }) {
  return html`<div class="sec"><h3>References</h3>
    ${references.length ? html`<dl class="refs">${references.map((each) => {
      const entity = findEntity(table, each.entity);
      return html`<dt ...${hueOf(entity)}><${Mark} entity=${entity} /> <span>${describeReference(each)}</span></dt><dd><a class="ref mono" translate="no" title=${each.label} href=${addressOf(table, each)} onClick=${(event) => onFollow(event, each)}>${each.kind === "search" && each.label.startsWith("with this") ? "find" : shortenId(each.label)}</a></dd>`;
    })}</dl>` : html`<p class="dim">Its keys and fields name no other item.</p>`}
    ${writers.length > 0 && html`<p class="dim small writers">Written by ${writers.map((each, number) => html`${number ? ", " : ""}<a class="ref" href=${address({ table: table.name, room: "patterns", rest: [each.name] })}>${each.title}</a>`)}.</p>`}
  </div>`;
}
