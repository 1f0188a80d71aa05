// Exports of CSV and JSON lines: page by page, put together to a file here.
import { html, useRef, useState } from "../../html.js";
import { act } from "../../api.js";
import { setQuery } from "../../router.js";
import { saveFile } from "../../parts/copy.js";
import { Icon } from "../../parts/icon.js";
import { writeItemKey } from "../../parts/itemkey.js";
import { Failed, Note } from "../../parts/states.js";
import { showBytes, showCount, trim } from "../../parts/text.js";
import { FilterForm } from "./filter.js";

const MOST_UNITS = 100;

export function ExportView({ table, here }) {
  const form = here.query.form === "csv" ? "csv" : "lines";
  const chosen = { entity: here.query.entity ?? null, where: here.query.where ?? "" };
  const [sum, setSum] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  const stopped = useRef(false);
  const entity = form === "csv" ? (chosen.entity ?? table.entities[0]?.name) : chosen.entity;
  const filter = { entity, where: chosen.where };
  const change = (next) => {
    setSum(null);
    setQuery(next);
  };
  const run = async (sofar) => {
    setBusy(true);
    setError(null);
    stopped.current = false;
    let state = sofar ?? { pages: [], count: 0, skipped: [], scanned: 0, read: 0, after: null, asked: MOST_UNITS };
    try {
      do {
        const answer = await act("edit/export", { form, filter, after: state.after });
        const page = answer.result;
        state = { pages: [...state.pages, (state.pages.length ? "" : page.header) + page.text], count: state.count + page.count, skipped: [...state.skipped, ...page.skipped], scanned: state.scanned + page.scanned, read: state.read + answer.units.read, after: page.after, asked: state.asked };
        setSum(state);
      } while (state.after !== null && !stopped.current && state.read < state.asked);
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  const name = `${entity ?? table.name}.${form === "csv" ? "csv" : "jsonl"}`;
  const save = () => saveFile(name, sum.pages.join(""), form === "csv" ? "text/csv" : "application/x-ndjson");
  const size = sum ? sum.pages.reduce((all, each) => all + each.length, 0) : 0;
  return html`<div class="pane">
    <section class="sec stack"><h3>Items</h3>
      <div class="row wrapping"><div class="seg" role="group" aria-label="Format">${[["lines", "JSON lines"], ["csv", "CSV"]].map(([each, label]) => html`<button type="button" aria-pressed=${form === each} onClick=${() => change({ form: each === "lines" ? undefined : each })}>${label}</button>`)}</div></div>
      <${FilterForm} table=${table} chosen=${filter} mayBeAll=${form === "lines"} onChange=${(next) => change({ entity: next.entity, where: next.where })} />
      <p class="dim small">${form === "csv" ? "A column for each field, and the column * for what the entity does not declare. Import reads it back without a loss." : "One item a line in DynamoDB's JSON, exactly as it is stored; keyfold load reads it."} Expired items that are still stored are among them.</p>
      <p class="row"><button type="button" class="btn${sum ? "" : " primary"}" disabled=${isBusy} onClick=${() => run(null)}><${Icon} name="download" /> Export</button>
        ${isBusy && html`<button type="button" class="btn" onClick=${() => { stopped.current = true; }}>Stop</button>`}</p>
    </section>
    ${error && html`<section class="sec"><${Failed} error=${error} onRetry=${() => run(sum)} /></section>`}
    ${sum && html`<section class="sec stack" aria-live="polite">
      <p><b class="figure num">${sum.count.toLocaleString("en-US")}</b> of ${showCount(sum.scanned, "item")} read, ${trim(sum.read)} RU, ${showBytes(size)}</p>
      ${sum.after !== null && !isBusy && html`<${Note} kind="warn"><p>There is more to read. The file has what was read so far.</p><p><button type="button" class="btn" onClick=${() => run({ ...sum, asked: sum.read + MOST_UNITS })}>Read on (about ${MOST_UNITS} RU)</button></p><//>`}
      ${sum.skipped.length > 0 && html`<${Note} kind="warn"><p><b>${showCount(sum.skipped.length, "item")} ${sum.skipped.length === 1 ? "does" : "do"} not fit ${entity}, and cannot be rows.</b> JSON lines take them as they are.</p><ul>${sum.skipped.slice(0, 20).map((each) => html`<li><span class="mono">${writeItemKey(each.key)}</span> ${each.message}</li>`)}</ul><//>`}
      ${!isBusy && html`<p class="row"><button type="button" class="btn primary" disabled=${sum.count === 0} onClick=${save}>Save ${name}</button>${sum.count === 0 && html`<span class="dim small">No item passes this filter.</span>`}</p>`}
    </section>`}
  </div>`;
}
