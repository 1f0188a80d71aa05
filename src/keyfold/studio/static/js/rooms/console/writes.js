// A statement that writes: what it reads first, what becomes of it, and the button that writes.
import { html, useEffect, useRef } from "../../html.js";
import { EntityName, findEntity, hueOf } from "../../parts/entity.js";
import { Icon } from "../../parts/icon.js";
import { Key } from "../../parts/key.js";
import { Note } from "../../parts/states.js";
import { trim } from "../../parts/text.js";
import { Value } from "../../parts/values.js";
import { Highlighted } from "./editor.js";

const VERBS = { PutItem: "Insert the item", UpdateItem: "Update the item", DeleteItem: "Delete the item" };

export function WritePreview({ table, preview, readOnly, onWrite, onCancel }) {
  const place = useRef(null);
  useEffect(() => place.current.focus(), []);
  const { preview: shown } = preview;
  const item = shown.after ?? shown.before;
  return html`<div class="stack change" ref=${place} tabindex="-1">
    <h2 class="lbl">Confirm the change</h2>
    <pre class="code wrap" translate="no"><${Highlighted} text=${preview.statement} /></pre>
    ${shown.denied
      ? html`<${Note} kind="warn"><p>The item may not be read first: ${shown.denied}</p><//>`
      : html`<p>${shown.before ? "It reads this item first:" : "There is no item with this key."}</p>
        ${item && html`<p class="row wraps" ...${hueOf(findEntity(table, item.entity))}><${EntityName} entity=${findEntity(table, item.entity)} name="no entity" /> ${item.keys.map((each) => html`<${Key} shown=${each} />`)}</p>`}
        <${Changes} shown=${shown} />`}
    ${shown.refusal && html`<${Note} kind="err" icon="deny"><p><b>${shown.refusal.message}</b> <code>[${shown.refusal.code}]</code></p><p>The database would refuse the statement as the item is now.</p><//>`}
    ${(shown.warnings ?? []).map((each) => html`<${Note} kind="warn"><p>${each}</p><//>`)}
    <p class="row wraps">
      ${readOnly
        ? html`<span class="warn-ink"><${Icon} name="lock" /> The studio was opened with --read-only.</span>`
        : html`<button type="button" class="btn primary" onClick=${onWrite}>${VERBS[preview.operation]}</button>`}
      <button type="button" class="btn quiet" onClick=${onCancel}>Cancel <kbd>Esc</kbd></button>
      ${shown.units !== undefined && !shown.refusal && html`<span class="dim num">about ${trim(shown.units)} WU, index entries included</span>`}
    </p>
  </div>`;
}

function Changes({ shown }) {
  if (shown.refusal) return null;
  if (!shown.changes.length) return html`<p class="dim">Nothing would change.</p>`;
  return html`<div class="tablewrap" tabindex="0" role="group" aria-label="What changes"><table class="t diff"><thead><tr><th scope="col">attribute</th><th scope="col">now</th><th scope="col">after</th></tr></thead><tbody>
    ${shown.changes.map((each) => html`<tr key=${each.name}><td class="mono" translate="no">${each.name}</td><td class="mono del"><${Side} value=${each.before} sign="−" /></td><td class="mono add"><${Side} value=${each.after} sign="+" /></td></tr>`)}
  </tbody></table></div>`;
}

function Side({ value, sign }) {
  return value ? html`<span aria-hidden="true">${sign} </span><${Value} value=${value} />` : html`<i class="none">not there</i>`;
}
