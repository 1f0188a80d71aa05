// Imports of CSV and JSON lines: a dry run that says what fits, then the import itself.
import { html, useRef, useState } from "../../html.js";
import { act } from "../../api.js";
import { Failed, Note } from "../../parts/states.js";
import { showBytes, showCount, trim } from "../../parts/text.js";
import { splitCsv, splitLines } from "./records.js";

const MOST_BYTES = 50_000_000;
const SHOWN = 100;
const NOTHING = { rows: 0, new: 0, changed: 0, same: 0, invalid: [], failed: [], units: 0 };

export function ImportView({ table, here }) {
  const [text, setText] = useState("");
  const [file, setFile] = useState("");
  const [form, setForm] = useState("csv");
  const [entity, setEntity] = useState(here.query.entity ?? table.entities[0]?.name ?? "");
  const [replaces, setReplaces] = useState(false);
  const [result, setResult] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  const stopped = useRef(false);
  const reset = (set) => (value) => {
    setResult(null);
    setError(null);
    set(value);
  };
  const take = async (chosen) => {
    if (!chosen) return;
    if (chosen.size > MOST_BYTES) {
      setError({ message: `${chosen.name} has ${showBytes(chosen.size)}; the studio takes up to ${showBytes(MOST_BYTES)}. Use keyfold load.`, code: "file-too-large" });
      return;
    }
    const read = await chosen.text();
    reset(setText)(read);
    setFile(chosen.name);
    const isCsv = /\.csv$/i.test(chosen.name) || !/^\s*[{[]/.test(read);
    setForm(isCsv ? "csv" : "lines");
    const stem = chosen.name.replace(/\.[^.]*$/, "");
    if (table.entities.some((each) => each.name === stem)) setEntity(stem);
  };
  const run = async (isDry) => {
    setBusy(true);
    setError(null);
    stopped.current = false;
    let sum = { ...NOTHING, isDry, done: 0 };
    try {
      const split = form === "csv" ? splitCsv(text) : { parts: splitLines(text) };
      sum = { ...sum, all: split.parts.length };
      if (!split.parts.length) throw Object.assign(new Error("The text has no rows."), { code: "file-empty" });
      for (const part of split.parts) {
        if (stopped.current) break;
        const answer = await act("edit/import", { form, entity: form === "csv" ? entity : null, header: split.header, text: part.text, line: part.line, dry: isDry, replaces });
        const each = answer.result;
        sum = { ...sum, done: sum.done + 1, rows: sum.rows + each.rows, new: sum.new + each.new, changed: sum.changed + each.changed, same: sum.same + each.same, invalid: [...sum.invalid, ...each.invalid], failed: [...sum.failed, ...each.failed], units: sum.units + each.units };
        setResult(sum);
      }
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  const fitting = result ? result.new + result.changed : 0;
  return html`<div class="pane">
    <section class="sec stack"><h3>File</h3>
      <div class="row wrapping"><label class="btn file">Choose a file<input type="file" class="sr" accept=".csv,.json,.jsonl,.ndjson,text/csv,application/json" onChange=${(event) => take(event.target.files[0])} /></label>${file && html`<span class="mono">${file}, ${showBytes(text.length)}</span>`}
        <div class="seg" role="group" aria-label="Format">${[["csv", "CSV"], ["lines", "JSON lines"]].map(([each, name]) => html`<button type="button" aria-pressed=${form === each} onClick=${() => reset(setForm)(each)}>${name}</button>`)}</div>
        ${form === "csv" && html`<label class="row"><span>Entity</span> <select value=${entity} onChange=${(event) => reset(setEntity)(event.target.value)}>${table.entities.map((each) => html`<option value=${each.name}>${each.name}</option>`)}</select></label>`}</div>
      ${text.length <= 100_000 ? html`<label>Or paste its text <textarea rows="8" spellcheck=${false} value=${text} placeholder=${form === "csv" ? "user,number,street,city,country" : '{"Item": {"pk": {"S": "…"}}}'} onInput=${(event) => reset(setText)(event.target.value)}></textarea></label>` : html`<p class="dim">The file is too large to show. <button type="button" class="ref" onClick=${() => { reset(setText)(""); setFile(""); }}>Clear</button></p>`}
      <p class="dim small">${form === "csv" ? html`The first line names fields; an empty cell means that a field is not set, and the column <code>*</code> has what the entity does not declare, as <code>keyfold dump</code> and Export write it.` : html`One item a line, in DynamoDB's JSON or in plain JSON, as <code>keyfold load</code> takes it.`}</p>
      <label class="row"><input type="checkbox" checked=${replaces} onChange=${(event) => reset(setReplaces)(event.target.checked)} /> Replace items that exist already</label>
      <p class="row"><button type="button" class="btn${result ? "" : " primary"}" disabled=${isBusy || !text.trim()} onClick=${() => run(true)}>Dry run</button>
        ${!text.trim() && html`<span class="dim small">Choose a file, or paste its text.</span>`}
        ${isBusy && html`<button type="button" class="btn" onClick=${() => { stopped.current = true; }}>Stop</button> <span class="dim" role="status">part ${result?.done ?? 0} of ${result?.all ?? "…"}</span>`}</p>
    </section>
    ${error && html`<section class="sec"><${Failed} error=${error} /></section>`}
    ${result && html`<section class="sec stack" aria-live="polite"><h3>${result.isDry ? "What would be written" : "What was written"}</h3>
      <p><b class="figure num">${fitting.toLocaleString("en-US")}</b> of ${showCount(result.rows, "row")} ${result.isDry ? "fit" : "were written"}: ${result.new.toLocaleString("en-US")} new, ${result.changed.toLocaleString("en-US")} replaced${result.same ? `; ${result.same.toLocaleString("en-US")} are stored like that already` : ""}${result.isDry ? ` · about ${trim(result.units)} WU` : ""}</p>
      ${result.invalid.length + result.failed.length > 0 && html`<${Note} kind="warn"><p><b>${showCount(result.invalid.length + result.failed.length, "row")} ${result.isDry ? "would not be written" : "were not written"}.</b></p><//>
        <div class="scroller" tabindex="0" role="region" aria-label="Rows that do not fit"><table class="t"><thead><tr><th scope="col" class="r">line</th><th scope="col">why</th><th scope="col">row</th></tr></thead><tbody>
        ${[...result.invalid, ...result.failed].sort((one, other) => one.line - other.line).slice(0, SHOWN).map((each) => html`<tr><td class="r">${each.line}</td><td class="err-ink why">${each.message} ${each.code && html`<code>[${each.code}]</code>`}</td><td class="mono why">${each.text}</td></tr>`)}</tbody></table></div>`}
      ${result.isDry && fitting > 0 && !isBusy && html`<p class="row end-row"><button type="button" class="btn primary" onClick=${() => run(false)}>Import ${showCount(fitting, "item")}</button></p>`}
    </section>`}
  </div>`;
}
