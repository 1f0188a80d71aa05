// Bulk edits: set or remove a field, or delete, on the items of a filter. A preview, then the count typed.
import { html, useRef, useState } from "../../html.js";
import { act, useAction } from "../../api.js";
import { setQuery } from "../../router.js";
import { EntityName, findEntity } from "../../parts/entity.js";
import { Icon } from "../../parts/icon.js";
import { writeItemKey } from "../../parts/itemkey.js";
import { Key } from "../../parts/key.js";
import { Empty, Failed, Note } from "../../parts/states.js";
import { showCount, trim } from "../../parts/text.js";
import { FilterForm } from "./filter.js";
import { noteEdit } from "./history.js";
import { ValueEditor } from "./inputs.js";
import { ANY, emptyMember } from "./kinds.js";
import { Changes, Entries } from "./review.js";

const BATCH = 25;
const EXAMPLES = 10;
// Beyond this, an undo would take too long, and too much memory.
const MOST_UNDONE = 200;
const MOST_UNITS = 10;

export function BulkView({ table, here }) {
  const chosen = { entity: here.query.entity ?? table.entities[0]?.name ?? null, where: here.query.where ?? "" };
  const [change, setChange] = useState({ kind: "set", field: "", value: null });
  const [found, setFound] = useState(null);
  const [error, setError] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const stopped = useRef(false);
  const form = useAction("edit/open", chosen.entity ? { entity: chosen.entity } : null);
  const fields = (form.result?.form ?? []).filter((each) => !each.key && !["version", "updated"].includes(each.managed));
  const field = fields.find((each) => each.name === change.field);
  const reset = () => {
    setFound(null);
    setError(null);
  };
  const choose = (next) => {
    reset();
    if (next.entity !== chosen.entity) setChange({ ...change, field: "", value: null });
    setQuery({ entity: next.entity, where: next.where });
  };
  const alter = (next) => {
    reset();
    setChange(next);
  };
  const isReady = change.kind === "delete" || (change.field && (change.kind === "remove" || change.value !== null));
  const sent = change.kind === "delete" ? { kind: "delete" } : change.kind === "remove" ? { kind: "remove", field: change.field } : change;
  const preview = async (sofar) => {
    setBusy(true);
    setError(null);
    stopped.current = false;
    let sum = sofar ?? { items: [], examples: [], failing: [], unchanged: 0, scanned: 0, units: 0, read: 0, after: null, asked: MOST_UNITS };
    try {
      do {
        const answer = await act("edit/bulk-preview", { filter: chosen, change: sent, after: sum.after, examples: EXAMPLES - sum.examples.length });
        const page = answer.result;
        sum = { items: [...sum.items, ...page.items], examples: [...sum.examples, ...page.examples], failing: [...sum.failing, ...page.failing], unchanged: sum.unchanged + page.unchanged, scanned: sum.scanned + page.scanned, units: sum.units + page.units, read: sum.read + answer.units.read, after: page.after, asked: sum.asked };
        setFound(sum);
      } while (sum.after !== null && !stopped.current && sum.read < sum.asked);
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  return html`<div class="pane">
    <section class="sec stack"><h3>Items</h3><${FilterForm} table=${table} chosen=${chosen} onChange=${choose} /></section>
    <section class="sec stack"><h3>Change</h3>
      <div class="row wrapping"><div class="seg" role="group" aria-label="Kind of change">${[["set", "Set a field"], ["remove", "Remove a field"], ["delete", "Delete the items"]].map(([kind, name]) => html`<button type="button" aria-pressed=${change.kind === kind} onClick=${() => alter({ ...change, kind })}>${name}</button>`)}</div>
        ${change.kind !== "delete" && html`<label class="row"><span>Field</span> <select value=${change.field} onChange=${(event) => alter({ ...change, field: event.target.value, value: null })}><option value="">choose</option>${fields.map((each) => html`<option value=${each.name}>${each.name}</option>`)}</select></label>`}</div>
      ${change.kind === "set" && field && html`<div class="frow"><div class="fname"><b class="mono">${field.name}</b><span class="small faint">${field.type}</span></div><div class="fvalue"><${ValueEditor} shape=${field.shape} value=${change.value} label="New value of ${field.name}" onChange=${(value) => alter({ ...change, value })} />${change.value === null && ["list", "map", "model"].includes(field.shape.kind) ? html`<button type="button" class="btn quiet" onClick=${() => alter({ ...change, value: emptyMember(field.shape ?? ANY) })}>Set to empty</button>` : ""}</div></div>`}
      ${form.error && html`<${Failed} error=${form.error} />`}
      <p class="row"><button type="button" class="btn${found ? "" : " primary"}" disabled=${!isReady || isBusy} onClick=${() => preview(null)}>Preview</button>
        ${!isReady && html`<span class="dim small">Choose ${change.field ? "a value" : "a field"} first.</span>`}
        ${isBusy && html`<button type="button" class="btn" onClick=${() => { stopped.current = true; }}>Stop</button>`}
        <span class="dim small">A preview writes nothing.</span></p>
    </section>
    ${error && html`<section class="sec"><${Failed} error=${error} onRetry=${() => preview(found)} /></section>`}
    ${found && html`<${Found} table=${table} found=${found} change=${sent} entity=${chosen.entity} isBusy=${isBusy} onMore=${() => preview({ ...found, asked: found.read + MOST_UNITS })} />`}
  </div>`;
}

function Found({ table, found, change, entity, isBusy, onMore }) {
  const [typed, setTyped] = useState("");
  const [report, setReport] = useState(null);
  const [isRunning, setRunning] = useState(false);
  const [error, setError] = useState(null);
  const stopped = useRef(false);
  const count = found.items.length;
  const isComplete = found.after === null;
  const run = async (event) => {
    event.preventDefault();
    if (typed.replaceAll(",", "").trim() !== String(count) || isRunning) return;
    setRunning(true);
    stopped.current = false;
    let sum = { done: 0, failed: [], left: count };
    const undone = [];
    try {
      for (let at = 0; at < count && !stopped.current; at += BATCH) {
        const batch = found.items.slice(at, at + BATCH);
        const { result } = await act("edit/bulk", { items: batch, change, count });
        if (undone.length < MOST_UNDONE) undone.push(...result.done.map(({ before, after }) => ({ before, after })));
        sum = { done: sum.done + result.done.length, failed: [...sum.failed, ...result.failed], left: sum.left - batch.length };
        setReport(sum);
      }
    } catch (problem) {
      setError(problem);
    } finally {
      const verb = change.kind === "delete" ? "Deleted" : `${change.kind === "set" ? "Set" : "Removed"} ${change.field} of`;
      if (sum.done > 0 && sum.done === undone.length) noteEdit({ table: table.name, entity, what: `${verb} ${showCount(sum.done, "item")}`, items: undone });
      setRunning(false);
    }
  };
  if (!count && !found.failing.length && isComplete) {
    return html`<${Empty} title="No item would change"><p>${found.unchanged ? `${showCount(found.unchanged, "item")} ${found.unchanged === 1 ? "is" : "are"} as wanted already.` : `No ${entity ?? "item"} passes this filter.`}</p><p class="dim">${showCount(found.scanned, "item")} read.</p><//>`;
  }
  return html`<section class="sec stack" aria-live="polite">
    <h3>What would change</h3>
    <p><b class="figure num">${count.toLocaleString("en-US")}</b> ${change.kind === "delete" ? "would be deleted" : "would change"}${isComplete ? "" : " so far"}${found.unchanged ? `, ${found.unchanged.toLocaleString("en-US")} are so already` : ""}${found.failing.length ? html`, <span class="err-ink">${found.failing.length.toLocaleString("en-US")} cannot</span>` : ""} · about ${trim(found.units)} WU · ${found.scanned.toLocaleString("en-US")} items read, ${trim(found.read)} RU</p>
    ${!isComplete && html`<${Note} kind="warn"><p>There is more to read. Only the items found so far would be changed.</p><p><button type="button" class="btn" disabled=${isBusy} onClick=${onMore}>Read on (about ${MOST_UNITS} RU)</button></p><//>`}
    ${found.failing.length > 0 && html`<details><summary>${showCount(found.failing.length, "item")} would become invalid</summary><ul class="history">${found.failing.slice(0, 50).map((each) => html`<li><span class="mono">${writeItemKey(each.key)}</span> <span class="err-ink">${each.message}</span></li>`)}</ul></details>`}
    ${report && html`<div class="note ${report.failed.length ? "warn" : "ok"}" role="status"><${Icon} name=${report.failed.length ? "warn" : "check"} /><div><p><b>${report.done.toLocaleString("en-US")} ${change.kind === "delete" ? "deleted" : "changed"}</b>${report.failed.length ? `, ${report.failed.length.toLocaleString("en-US")} failed` : ""}${report.left ? `, ${report.left.toLocaleString("en-US")} left` : ""}.</p>
      ${report.failed.length > 0 && html`<ul class="history">${report.failed.slice(0, 100).map((each) => html`<li><span class="mono">${writeItemKey(each.key)}</span> ${each.message} <code>[${each.code}]</code></li>`)}</ul>`}</div></div>`}
    ${error && html`<${Failed} error=${error}><p>What was done before is done; the rest was not touched.</p><//>`}
    ${count > 0 && !report && html`<form class="row wrapping" onSubmit=${run}><label class="row" for="typed-count">To ${change.kind === "delete" ? "delete" : "change"} them, type their number</label><span class="field narrow"><input id="typed-count" inputmode="numeric" autocomplete="off" value=${typed} placeholder=${String(count)} onInput=${(event) => setTyped(event.target.value)} /></span>
      <button class="btn primary" aria-disabled=${typed.replaceAll(",", "").trim() !== String(count)}>${isRunning ? "Working" : change.kind === "delete" ? `Delete ${showCount(count, "item")}` : `Change ${showCount(count, "item")}`}</button></form>`}
    ${isRunning && html`<p><button type="button" class="btn" onClick=${() => { stopped.current = true; }}>Stop after this batch</button></p>`}
    ${count > MOST_UNDONE && !report && html`<p class="dim small">More than ${MOST_UNDONE} items: this cannot be undone from the history. Export them first.</p>`}
    ${found.examples.length > 0 && html`<h4 class="lbl">${Math.min(EXAMPLES, count) < count ? `${found.examples.length} of them` : "All of them"}</h4>
      <ul class="examples">${found.examples.map((each) => html`<li><p class="row wrapping"><${EntityName} entity=${findEntity(table, each.shown.entity)} /> ${each.shown.keys.map((key) => html`<${Key} shown=${key} flat brief />`)}</p>${change.kind !== "delete" && html`<${Changes} changes=${each.changes} />`}${each.entries.length > 0 && html`<${Entries} entries=${each.entries} />`}</li>`)}</ul>`}
  </section>`;
}
