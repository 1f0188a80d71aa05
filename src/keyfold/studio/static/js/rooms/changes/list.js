// The changes, one row each: when, what became of which item, and its fields before and after.
import { html, useRef, useState } from "../../html.js";
import { address } from "../../router.js";
import { EntityName, findEntity, hueOf } from "../../parts/entity.js";
import { Icon } from "../../parts/icon.js";
import { writeItemKey } from "../../parts/itemkey.js";
import { Key } from "../../parts/key.js";
import { Empty } from "../../parts/states.js";
import { showExactTime } from "../../parts/text.js";
import { Value, showInline } from "../../parts/values.js";

export const KINDS = { created: "plus", changed: "edit", removed: "trash", expired: "clock" };
// Fields that a row shows before it is opened.
const BRIEF = 3;

/** Whether a filter shows a change. */
export function matches(change, { entity, kind, text, own }) {
  if (change.own && !own) return false;
  if (entity && change.entity !== entity) return false;
  if (kind && change.kind !== kind) return false;
  if (!text) return true;
  const wanted = text.toLowerCase();
  const texts = [...change.keys.map((key) => key.text), ...change.fields.flatMap((field) => [field.name, JSON.stringify(field.old ?? ""), JSON.stringify(field.new ?? "")])];
  return texts.some((each) => each.toLowerCase().includes(wanted));
}

export function ChangeList({ table, changes, from, isFiltered, total }) {
  const [current, setCurrent] = useState(null);
  const list = useRef(null);
  const move = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const rows = [...list.current.querySelectorAll(".changerow")];
    const at = rows.indexOf(event.target.closest(".changerow"));
    const next = event.key === "Home" ? rows[0] : event.key === "End" ? rows.at(-1) : step ? rows[at + step] : null;
    if (at < 0 || !next) return;
    event.preventDefault();
    setCurrent(next.dataset.id);
    next.focus();
  };
  if (!changes.length) {
    if (isFiltered && total) return html`<${Empty} title="No change matches the filter."><p class="dim">${total} were recorded since this page was opened.</p><//>`;
    return html`<${Empty} title=${from === "oldest" ? "The stream has no changes." : "No changes since this page was opened."}><p class="dim">${from === "oldest" ? "A stream keeps them for a day." : html`Write something in <a class="ref" href=${address({ room: "patterns" })}>Patterns</a> or <a class="ref" href=${address({ room: "edit" })}>Edit</a>, here or in another window, and it appears at once. Earlier ones are under <b>From the oldest</b>.`}</p><//>`;
  }
  const focused = changes.some((change) => change.id === current) ? current : changes[0].id;
  return html`<ul class="changelist" ref=${list} aria-label="Changes, newest first" onKeyDown=${move}>
    ${changes.map((change) => html`<${ChangeRow} key=${change.id} table=${table} change=${change} isFocused=${change.id === focused} />`)}
  </ul>`;
}

/** One change; a click opens the whole diff. */
export function ChangeRow({ table, change, isFocused = true, isOpen: opens = false }) {
  const [isOpen, setOpen] = useState(opens);
  const entity = findEntity(table, change.entity);
  const date = new Date(change.at);
  return html`<li class="change" data-kind=${change.kind} ...${hueOf(entity)}>
    <button type="button" class="changerow" data-id=${change.id} tabindex=${isFocused ? 0 : -1} aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>
      <time class="num faint" datetime=${change.at} title=${showExactTime(change.at)}>${date.toLocaleTimeString("en-GB")}</time>
      <span class="badge kind"><${Icon} name=${KINDS[change.kind]} />${change.kind}</span>
      <${EntityName} entity=${entity} name=${change.own ? "Keyfold's own" : null} />
      <span class="itemkeys">${change.keys.map((key, number) => html`${number ? html`<span class="faint"> · </span>` : ""}<${Key} shown=${key} flat brief />`)}</span>
      <span class="brief">${change.images ? html`<${Brief} change=${change} />` : html`<i class="none">not recorded</i>`}</span>
    </button>
    ${isOpen && html`<${Diff} table=${table} change=${change} />`}
  </li>`;
}

function Brief({ change }) {
  const { fields, kind } = change;
  const isGone = kind === "removed" || kind === "expired";
  return html`${fields.slice(0, BRIEF).map((field) => html`<span class="f"><span class="name">${field.name}</span>${kind === "changed" ? html` <${Brevity} value=${field.old} kind="old" /> → ` : " "}<${Brevity} value=${isGone ? field.old : field.new} kind=${isGone ? "old" : "new"} /></span>`)}${fields.length > BRIEF ? html`<span class="faint">+ ${fields.length - BRIEF}</span>` : ""}${fields.length ? "" : html`<i class="none">nothing but its key</i>`}`;
}

function Brevity({ value, kind }) {
  return value ? html`<span class=${kind} translate="no">${showInline(value, 24)}</span>` : html`<i class="none">not set</i>`;
}

/** The fields that differ, before and after. */
export function Diff({ table, change }) {
  const isGone = change.kind === "removed" || change.kind === "expired";
  const at = writeItemKey(change.key);
  return html`<div class="difftable">
    <div class="keysopen">${change.keys.map((key) => html`<${Key} shown=${key} />`)}</div>
    ${change.fields.length > 0 && html`<div class="scrollx" tabindex="0" role="region" aria-label="Fields before and after"><table class="t"><thead><tr><th scope="col">field</th><th scope="col">before</th><th scope="col">after</th></tr></thead><tbody>
      ${change.fields.map((field) => html`<tr><th scope="row">${field.name}${field.attribute !== field.name ? html` <span class="faint mono">${field.attribute}</span>` : ""}</th><td class="before">${field.old === null ? html`<i class="none">not set</i>` : html`<${Value} value=${field.old} />`}</td><td class="after">${field.new === null ? html`<i class="none">${isGone ? "gone" : "not set"}</i>` : html`<${Value} value=${field.new} />`}</td></tr>`)}
    </tbody></table></div>`}
    <p class="small row">${change.own ? "" : html`<a class="ref" href=${address({ room: "items", query: { at } })}>Show the item</a>`}<span class="faint">sequence number <span class="mono">${change.sequence}</span></span></p>
  </div>`;
}
