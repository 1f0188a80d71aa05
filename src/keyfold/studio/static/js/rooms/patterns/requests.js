// The requests that a pattern became: what each read or wrote, what it cost, and what it handed to the next.
import { html, useState } from "../../html.js";
import { Totals } from "../../parts/calls.js";
import { EntityName, findEntity } from "../../parts/entity.js";
import { Icon } from "../../parts/icon.js";
import { Key } from "../../parts/key.js";
import { Note } from "../../parts/states.js";
import { showCount, showMilliseconds, trim } from "../../parts/text.js";
import { showInline } from "../../parts/values.js";

/** The calls of a run, with figures. */
export function MadeRequests({ calls, units, handed }) {
  return html`<section class="sec" aria-label="Requests">
    <h2 class="lbl">The requests it became <span class="end"><${Totals} calls=${calls} units=${units} /></span></h2>
    ${calls.length === 0 && html`<p class="dim small">No request was made.</p>`}
    <ol class="psteps">
      ${calls.map((call, place) => html`<li key=${place}>
        <div class="row"><b>${call.operation}</b><span class="badge">${call.index ?? "table"}</span><span class="end num dim">${showCount(call.returned, "item")}${call.scanned > call.returned ? ` of ${call.scanned.toLocaleString("en-US")} read` : ""} · ${trim(call.units)} ${call.read ? "RU" : "WU"} · ${showMilliseconds(call.milliseconds)}</span></div>
        ${call.key && html`<code class="wrap" translate="no"><${KeyText} text=${call.key} /></code>`}
        ${call.error && html`<p class="err-ink small">failed with ${call.error}</p>`}
        <${Gives} names=${handed?.[place + 1] ?? []} />
      </li>`)}
    </ol>
  </section>`;
}

/** The text of a key condition: values stand out. */
function KeyText({ text }) {
  return text.split(/('(?:[^'\\]|\\.)*')/).map((piece, place) => (place % 2 ? html`<b>${piece}</b>` : piece));
}

function Gives({ names }) {
  if (!names.length) return null;
  return html`<p class="flow"><${Icon} name="down" /> gives ${names.map((name, place) => html`${place ? ", " : ""}<code translate="no">${name}</code>`)}</p>`;
}

/** The calls that a pattern would make: without figures, with what they would write. */
export function ExplainedRequests({ table, explained }) {
  const { steps } = explained;
  return html`<section class="sec" aria-label="Requests">
    <h2 class="lbl">The requests it ${explained.writes ? "would make" : "becomes"} <span class="end">explained, not run</span></h2>
    <ol class="psteps">
      ${steps.map((step, place) => html`<li key=${place}><${ExplainedStep} table=${table} step=${step} next=${steps[place + 1]} /></li>`)}
    </ol>
    <${Remarks} explained=${explained} />
  </section>`;
}

function ExplainedStep({ table, step, next }) {
  const [showsBody, setShowsBody] = useState(false);
  const gives = next && next.level > step.level ? next.handed : [];
  return html`
    <div class="row"><b>${step.operation}</b><span class="badge">${step.index ?? "table"}</span>${step.own && html`<span class="dim small">looks up the unique values first</span>`}
      ${step.body && html`<button type="button" class="ref small end" aria-expanded=${showsBody} onClick=${() => setShowsBody(!showsBody)}>${showsBody ? "Hide" : "Request"}</button>`}</div>
    ${step.read && step.key && html`<code class="wrap" translate="no"><${KeyText} text=${step.key} /></code>`}
    ${!step.read && step.members.length === 0 && html`<code class="wrap" translate="no">${step.key}</code>`}
    ${step.members.map((member, place) => html`<${WrittenMember} key=${place} table=${table} member=${member} />`)}
    ${step.sampled && html`<p class="small warn-ink"><${Icon} name="warn" /> Its values are samples: they depend on what the request before finds.</p>`}
    ${step.guards.length > 0 && html`<p class="dim small">With the guard items of ${step.guards.join(", ")}, in the same transaction.</p>`}
    ${showsBody && html`<pre class="code" tabindex="0" aria-label="Body of ${step.operation}">${JSON.stringify(step.body, null, 2)}</pre>`}
    <${Gives} names=${gives} />`;
}

const VERBS = { Put: "puts", Update: "changes", Delete: "deletes", ConditionCheck: "checks" };

/** One write: its entity and key, what it sets, and its condition. */
function WrittenMember({ table, member }) {
  const entity = findEntity(table, member.entity);
  return html`<div class="wmember" data-e=${entity?.hue ?? "0"}>
    <p class="row"><span class="dim">${VERBS[member.action] ?? member.action}</span> <${EntityName} entity=${entity} name=${member.entity} /></p>
    <p class="wkeys">${member.keys.map((key) => html`<${Key} key=${key.attribute} shown=${key} flat brief />`)}</p>
    ${member.changes && html`<code class="wrap" translate="no">${member.changes}</code>`}
    ${member.attributes.length > 0 &&
    html`<dl class="kv">${member.attributes.map((each) => html`<dt translate="no">${each.name}</dt><dd title=${showInline(each.value, 2000)} translate="no">${showInline(each.value)}</dd>`)}</dl>`}
    ${member.condition && html`<p class="small dim">if <code class="wrap" translate="no">${member.condition}</code></p>`}
  </div>`;
}

function Remarks({ explained }) {
  return html`
    ${explained.scans && html`<${Note} kind="warn">It scans: every item of the table or index is read, and paid for.<//>`}
    ${explained.filters && html`<${Note}>It filters after reading: what is left out is paid for, too.<//>`}
    ${explained.lagging.length > 0 && html`<p class="dim small">${explained.lagging.join(", ")} may lag behind writes, usually by less than a second.</p>`}
    ${explained.writes && !explained.atomic && html`<${Note} kind="warn">It writes with several requests: if a later one fails, the earlier ones stay.<//>`}`;
}
