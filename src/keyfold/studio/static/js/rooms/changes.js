// Changes: the live tail of the table's stream with diffs, and the dead letters of its followers.
import { html, useState } from "../html.js";
import { act, useAction } from "../api.js";
import { useKeys } from "../keyboard.js";
import { setQuery } from "../router.js";
import { Icon } from "../parts/icon.js";
import { Failed, Loading, Note } from "../parts/states.js";
import { ChangeList, KINDS, matches } from "./changes/list.js";
import { Command, DeadLetters } from "./changes/letters.js";
import { Live } from "./changes/live.js";
import { MOST, useTail } from "./changes/tail.js";

export function ChangesRoom({ table, here, principal }) {
  const view = here.query.view === "letters" ? "letters" : "tail";
  const state = useAction("changes/state", { as: null });
  const tabs = html`<div class="seg" role="group" aria-label="View">
    <button type="button" aria-pressed=${view === "tail"} onClick=${() => setQuery({ view: undefined }, { replace: false })}>Live</button>
    <button type="button" aria-pressed=${view === "letters"} onClick=${() => setQuery({ view: "letters" }, { replace: false })}>Dead letters</button>
  </div>`;
  if (state.error || !state.result) {
    return html`<div class="bar"><h1>Changes</h1>${tabs}</div>
      ${state.error ? html`<div class="sec"><${Failed} error=${state.error} onRetry=${state.reload} /></div>` : html`<${Loading} isSlow=${state.isSlow} label="Looking at the stream" />`}`;
  }
  if (view === "letters") return html`<div class="bar changesbar"><h1>Changes</h1>${tabs}</div><${DeadLetters} table=${table} here=${here} state=${state.result} principal=${principal} />`;
  if (!state.result.on) return html`<div class="bar changesbar"><h1>Changes</h1>${tabs}</div><${NoStream} table=${table} state=${state.result} principal=${principal} onDone=${state.reload} />`;
  return html`<${Tail} table=${table} here=${here} principal=${principal} state=${state.result} tabs=${tabs} />`;
}

function Tail({ table, here, principal, state, tabs }) {
  const from = here.query.from === "oldest" ? "oldest" : "latest";
  const tail = useTail(from, `${table.name} ${here.query.as ?? ""}`);
  const filter = { entity: here.query.entity ?? "", kind: here.query.kind ?? "", text: here.query.q ?? "", own: here.query.own === "yes" };
  const shown = tail.changes.filter((change) => matches(change, filter));
  const isFiltered = filter.entity || filter.kind || filter.text;
  const unseen = tail.changes.length - shown.length;
  const own = filter.own ? 0 : tail.changes.filter((change) => change.own).length;
  useKeys({ " ": [() => (document.activeElement?.closest("button, a, summary") ? false : tail.toggle()), "pause or resume"] }, [tail.isPaused]);
  return html`
    <div class="bar changesbar"><h1>Changes</h1>${tabs}<${Live} tail=${tail} /><span class="grow"></span>
      <button type="button" class="btn" aria-pressed=${tail.isPaused} onClick=${tail.toggle}><${Icon} name=${tail.isPaused ? "pattern" : "pause"} />${tail.isPaused ? `Resume${tail.waiting ? ` (${tail.waiting} new)` : ""}` : "Pause"}</button>
      <button type="button" class="btn" onClick=${tail.clear}>Clear</button>
    </div>
    <div class="bar changesbar filters">
      <div class="seg" role="group" aria-label="From">
        <button type="button" aria-pressed=${from === "latest"} onClick=${() => setQuery({ from: undefined })}>From now</button>
        <button type="button" aria-pressed=${from === "oldest"} onClick=${() => setQuery({ from: "oldest" })}>From the oldest</button>
      </div>
      <select aria-label="Entity" value=${filter.entity} onChange=${(event) => setQuery({ entity: event.target.value })}><option value="">all entities</option>${table.entities.map((each) => html`<option value=${each.name}>${each.name}</option>`)}</select>
      <select aria-label="Kind" value=${filter.kind} onChange=${(event) => setQuery({ kind: event.target.value })}><option value="">all kinds</option>${Object.keys(KINDS).map((kind) => html`<option value=${kind}>${kind}</option>`)}</select>
      <div class="field grow"><${Icon} name="search" /><input type="search" aria-label="Filter by text" placeholder="Key or value contains" value=${filter.text} onInput=${(event) => setQuery({ q: event.target.value })} /></div>
      ${!principal && html`<label class="row small"><input type="checkbox" checked=${filter.own} onChange=${(event) => setQuery({ own: event.target.checked ? "yes" : undefined })} />Keyfold's own items</label>`}
    </div>
    <p class="hint">${principal ? `${principal.roles.join(", ")} sees the changes of what it may read. ` : "Every write of this table, as it is recorded in its stream, newest first. "}${state.images !== "new and old" ? `This stream records ${state.images === "keys" ? "keys only" : `the ${state.images} image only`}, so there are no diffs. ` : ""}${unseen > own ? `${unseen - own} are filtered out. ` : ""}${own ? `${own} of Keyfold's own items are hidden.` : ""}</p>
    <div class="pane changespane">
      ${tail.error ? html`<div class="sec"><${Failed} error=${tail.error} onRetry=${tail.restart} /></div>` : ""}
      ${tail.isGap && html`<div class="sec"><${Note} kind="warn">Some changes were dropped from the stream before they could be read. A stream keeps them for a day.<//></div>`}
      <${ChangeList} table=${table} changes=${shown} from=${from} isFiltered=${Boolean(isFiltered)} total=${tail.changes.length} />
      ${tail.dropped > 0 && html`<p class="dim small changesend">The newest ${MOST} are kept; ${tail.dropped.toLocaleString("en-US")} older ones are not shown.</p>`}
    </div>`;
}

function NoStream({ table, state, principal, onDone }) {
  const [error, setError] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const enable = async () => {
    setBusy(true);
    setError(null);
    try {
      await act("changes/enable", {});
      onDone();
    } catch (found) {
      setError(found);
    }
    setBusy(false);
  };
  const mayEnable = state.canEnable && !principal;
  return html`<div class="sec"><div class="empty">
    <p><b>The stream of ${table.name} is off.</b></p>
    <p class="dim">${state.declared ? `The declaration has one (${state.declared}), but the database's table does not.` : "Its declaration has none, so changes are not recorded."} A stream keeps each change for a day.</p>
    ${mayEnable ? html`<p><button type="button" class="btn primary" disabled=${isBusy} onClick=${enable}>Switch it on</button></p>${!state.declared && html`<p class="dim small">To keep it, declare it: <code>Table(…, stream="new and old")</code>.</p>`}` : html`<p class="dim small">${principal ? "Only the administrator may switch it on." : state.readOnly ? "The studio was opened with --read-only." : "The studio does not change tables of a service. Run:"}</p>${!principal && html`<${Command} text=${state.command} />`}`}
    ${error && html`<${Failed} error=${error} />`}
  </div></div>`;
}
