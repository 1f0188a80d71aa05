// The console: PartiQL with completion, history, the plan of a statement and its units.
import { html, useEffect, useRef, useState } from "../html.js";
import { act, useAction, useSettled } from "../api.js";
import { useKeys } from "../keyboard.js";
import { navigate, setQuery } from "../router.js";
import { useKept } from "../session.js";
import { Icon } from "../parts/icon.js";
import { Failed, Loading, Note } from "../parts/states.js";
import { trim } from "../parts/text.js";
import { Editor } from "./console/editor.js";
import { Examples, History } from "./console/lists.js";
import { PlanView } from "./console/plan.js";
import { Result } from "./console/results.js";
import { WritePreview } from "./console/writes.js";

const PAUSE = 350;
const LIMITS = [20, 50, 100, 500, 1000];
const LIMIT = 50;
const KEPT = 50;
// A longer statement would make an address that browsers and mails cut.
const MOST_IN_ADDRESS = 2000;

export function ConsoleRoom({ table, here, principal, opened }) {
  const [text, setText] = useState(here.query.sql ?? "");
  const limit = LIMITS.includes(Number(here.query.limit)) ? Number(here.query.limit) : LIMIT;
  const settled = useSettled(text, PAUSE);
  const written = useRef(here.query.sql ?? "");
  useEffect(() => {
    if (settled === written.current || settled.length > MOST_IN_ADDRESS) return;
    written.current = settled;
    setQuery({ sql: settled });
  }, [settled]);
  useEffect(() => {
    const sql = here.query.sql ?? "";
    if (sql === written.current) return;
    written.current = sql;
    setText(sql);
  }, [here.query.sql]);

  const plan = useAction("console/plan", settled.trim() ? { statement: settled, limit } : null);
  const [history, setHistory] = useKept(`console-history:${table.name}`, []);
  const [state, setState] = useState({ pages: [] });
  const running = useRef(null);
  const editor = useRef(null);

  const start = async (name, body, done) => {
    running.current?.abort();
    const aborting = new AbortController();
    running.current = aborting;
    setState((old) => ({ ...old, isLoading: true, error: null, asking: null, preview: null }));
    try {
      done(await act(name, body, { signal: aborting.signal }));
    } catch (error) {
      if (error.name === "AbortError") setState((old) => ({ ...old, isLoading: false }));
      else if (error.code === "statement-costs") setState((old) => ({ ...old, isLoading: false, asking: { ...body, units: error.facts.plan.estimate.most, plan: error.facts.plan } }));
      else setState((old) => ({ ...old, isLoading: false, error, failed: body.statement }));
    }
  };
  const remember = (statement) => setHistory([{ text: statement, at: Date.now() / 1000 }, ...history.filter((each) => each.text !== statement)].slice(0, KEPT));
  const read = (body) => start("console/run", body, (answer) => setState((old) => ({ statement: body.statement, confirmed: body.confirmed, pages: body.token ? [...old.pages, answer] : [answer] })));
  const run = async () => {
    const statement = text.trim();
    if (!statement) return;
    remember(statement);
    if (isWrite(statement)) await start("console/plan", { statement, preview: true, limit }, (answer) => setState((old) => ({ ...old, isLoading: false, preview: { statement, ...answer.result } })));
    else await read({ statement, limit });
  };
  const write = (statement) => start("console/write", { statement, confirmed: true }, (answer) => setState({ statement, pages: [answer], wrote: true }));
  const explain = () => (settled === text ? plan.reload() : setQuery({ sql: text }));
  const cancel = () => {
    if (!state.isLoading && !state.asking && !state.preview) return false;
    running.current?.abort();
    setState((old) => ({ ...old, isLoading: false, asking: null, preview: null }));
    return true;
  };
  const choose = (statement) => {
    setText(statement);
    editor.current?.focus();
  };
  useKeys({ "Control+Enter": [run, "run the statement"], "Control+Shift+Enter": [explain, "plan only"], Escape: [cancel, "cancel the running statement"] }, [text, settled, limit, state, history]);
  const isEmpty = !text.trim();
  const writes = isWrite(text.trim());
  return html`<div class="bar">
      <h1>Console</h1><span class="dim small hide-s">PartiQL on ${table.name}</span>
      <label class="row end small"><span class="hide-s">Items a page</span> <select aria-label="Items a page" value=${limit} onChange=${(event) => setQuery({ limit: Number(event.target.value) === LIMIT ? undefined : event.target.value })}>${LIMITS.map((each) => html`<option value=${each}>${each}</option>`)}</select></label>
    </div>
    <div class="split console">
      <div class="pane">
        <section class="sec" aria-label="Editor">
          <${Editor} text=${text} setText=${setText} field=${editor} table=${table} />
          <div class="row actions">
            <button type="button" class="btn primary" disabled=${isEmpty} onClick=${run}>${writes ? "Show the change" : "Run"} <kbd>Ctrl ⏎</kbd></button>
            <button type="button" class="btn" disabled=${isEmpty} onClick=${explain}>Plan <kbd>⇧ Ctrl ⏎</kbd></button>
            ${isEmpty && html`<span class="dim">Write a statement, or take an example.</span>`}
            ${writes && opened.readOnly && html`<span class="warn-ink"><${Icon} name="lock" /> The studio is read-only: the change is shown, and not made.</span>`}
          </div>
        </section>
        ${!isEmpty && html`<section class="sec" aria-label="Plan"><h2 class="lbl">Plan <span class="end">without running it</span></h2><${PlanView} table=${table} answer=${plan} /></section>`}
        <div aria-live="polite">
          ${state.asking && html`<section class="sec" aria-label="Confirm"><${Note} kind="warn"><p><b>${state.asking.plan.operation} may take about ${trim(state.asking.units)} RU for a page of ${limit} items.</b></p>
            <p class="row"><button type="button" class="btn" onClick=${() => read({ ...state.asking, units: undefined, plan: undefined, confirmed: true })}>Run it all the same</button><button type="button" class="btn quiet" onClick=${cancel}>Cancel <kbd>Esc</kbd></button></p><//></section>`}
          ${state.error && html`<section class="sec" aria-label="Error"><${Failed} error=${state.error}>${elsewhere(state, opened)}<//></section>`}
          ${state.preview && html`<section class="sec" aria-label="Change"><${WritePreview} table=${table} preview=${state.preview} readOnly=${opened.readOnly} onWrite=${() => write(state.preview.statement)} onCancel=${cancel} /></section>`}
          ${state.isLoading && html`<${Loading} label="Running" onCancel=${cancel} />`}
        </div>
        ${state.pages.length > 0 && html`<${Result} table=${table} here=${here} state=${state} limit=${limit} onNext=${(token) => read({ statement: state.statement, limit, token, confirmed: state.confirmed })} />`}
      </div>
      <aside class="side" aria-label="Examples and history">
        <${Examples} isRole=${principal !== null} onChoose=${choose} />
        <${History} table=${table} history=${history} onChoose=${choose} onClear=${() => setHistory([])} />
      </aside>
    </div>`;
}

function isWrite(statement) {
  return /^(insert|update|delete)\b/i.test(statement);
}

/** For a statement about another table: a link to its console, with the statement. For a denied one: a hint. */
function elsewhere({ error, failed }, opened) {
  if (error.isDenied) return html`<p>A role needs <code>operations=["ExecuteStatement"]</code> to run statements. Items and Patterns show what this one may read.</p>`;
  const name = error.facts?.names;
  if (error.code !== "statement-of-another-table" || !opened.tables.includes(name)) return null;
  return html`<p><button type="button" class="btn" onClick=${() => navigate({ table: name, room: "console", query: { sql: failed, as: undefined } })}>Open it in the console of ${name}</button></p>`;
}
