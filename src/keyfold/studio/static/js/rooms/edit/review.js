// What a save does: fields before and after, index entries, unique values, units.
import { html } from "../../html.js";
import { Icon } from "../../parts/icon.js";
import { Note } from "../../parts/states.js";
import { Value } from "../../parts/values.js";
import { isSealed } from "./kinds.js";
import { Key } from "../../parts/key.js";
import { showBytes, showCount, trim } from "../../parts/text.js";

/** A value, unless it is a secret. */
export function Shown({ value }) {
  return isSealed(value) ? html`<i class="none">secret</i>` : html`<${Value} value=${value} />`;
}

/** The fields that change. */
export function Changes({ changes }) {
  return html`<div class="scroller" tabindex="0" role="region" aria-label="Fields that change"><table class="t changed">
    <thead><tr><th scope="col">field</th><th scope="col">before</th><th scope="col">after</th></tr></thead>
    <tbody>${changes.map((each) => html`<tr>
      <th scope="row" class="mono">${each.name}${each.by !== "you" ? html` <span class="badge">${each.by}</span>` : ""}</th>
      <td class="mono${each.before === null ? "" : " was"}"><${Shown} value=${each.before} /></td>
      <td class="mono${each.after === null ? "" : " will"}">${each.after === null ? html`<i class="none">${each.before === null ? "not set" : "removed"}</i>` : html`<b><${Shown} value=${each.after} /></b>`}</td>
    </tr>`)}</tbody></table></div>`;
}

const SIGNS = { appears: ["plus", "ok", "appears as"], vanishes: ["dash", "err", "vanishes; it was"], moves: ["refresh", "warn", "moves to"], changes: ["info", "info", "changes at"] };

/** The index entries that appear (+), vanish (−), move or change. */
export function Entries({ entries }) {
  return html`<ul class="entries">${entries.map((each) => {
    const [icon, tone, words] = SIGNS[each.change];
    const key = each.after ?? each.before;
    return html`<li><span class="badge ${tone}"><${Icon} name=${icon} /> ${each.index}</span> <span>${words}</span>
      <span class="entry-key">${key.map((part, number) => html`${number > 0 ? " · " : ""}<${Key} shown=${part} flat brief />`)}</span>
      ${each.change === "moves" && html`<span class="dim">from</span> <span class="entry-key">${each.before.map((part, number) => html`${number > 0 ? " · " : ""}<${Key} shown=${part} flat brief />`)}</span>`}
      <span class="end num dim">${trim(each.units)} WU</span></li>`;
  })}</ul>`;
}

/** Everything that a save does; `preview` is the server's. */
export function Review({ preview, isDeletion }) {
  const { changes, entries, guards, units, notes } = preview;
  return html`
    ${notes.map((each) => html`<${Note} kind="warn">${each}<//>`)}
    ${!isDeletion && html`<h4 class="lbl">${showCount(changes.length, "field")}</h4><${Changes} changes=${changes} />`}
    <h4 class="lbl">Index entries</h4>
    ${entries.length ? html`<${Entries} entries=${entries} />` : html`<p class="dim small">No index entry changes.</p>`}
    ${guards.length > 0 && html`<h4 class="lbl">Unique values</h4><ul class="entries">${guards.map((each) => html`<li><span class="badge ${each.change === "taken" ? "ok" : "err"}"><${Icon} name=${each.change === "taken" ? "plus" : "dash"} /> ${each.field}</span> <span class="mono" translate="no"><${Value} value=${each.value} /></span> is ${each.change}</li>`)}</ul>`}
    <p class="row wrapping dim small"><b class="num">${trim(units.write)} WU</b><span>table ${trim(units.table)}${units.indexes ? `, indexes ${trim(units.indexes)}` : ""}${units.guards ? `, unique values ${trim(units.guards)}` : ""}${preview.transaction ? "; a transaction, which costs twice" : ""}</span>${!isDeletion && html`<span class="end">${showBytes(preview.bytes)}</span>`}</p>`;
}

/** One line about a preview, for screen readers and the button. */
export function summarise(preview) {
  return `${showCount(preview.changes.length, "field")} and ${showCount(preview.entries.length, "index entry").replace("entrys", "entries")} change, ${trim(preview.units.write)} WU`;
}
