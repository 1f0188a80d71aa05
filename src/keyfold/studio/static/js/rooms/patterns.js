// The room of patterns: each as a form that runs, explains itself, has a price, and can be copied as code.
import { html, useEffect, useRef, useState } from "../html.js";
import { act, useAction } from "../api.js";
import { useKeys } from "../keyboard.js";
import { navigate } from "../router.js";
import { Failed, Loading, Note } from "../parts/states.js";
import { useKept } from "../session.js";
import { PatternForm, makeArguments, readArguments, writeQuery } from "./patterns/form.js";
import { PatternList } from "./patterns/list.js";
import { PatternResult } from "./patterns/result.js";
import { PatternSide } from "./patterns/side.js";
import { RecentRuns } from "./patterns/recent.js";

export function PatternsRoom({ table, here, opened }) {
  const [name] = here.rest;
  const listed = useAction("patterns/list", { measured: true });
  const patterns = listed.result?.patterns ?? table.patterns.map((each) => ({ ...each, findings: [], units: null }));
  return html`<div class="bar only-s"><h1>Patterns</h1></div>
    <div class="split patterns">
      <${PatternList} patterns=${patterns} current=${name} here=${here} />
      ${name ? html`<${OnePattern} key=${name} name=${name} table=${table} here=${here} opened=${opened} />` : html`<${Overview} table=${table} />`}
    </div>`;
}

function Overview({ table }) {
  return html`<div class="pane"><div class="sec">
    <h1 class="subject hide-s">Patterns</h1>
    <p>${table.patterns.length ? "Choose an access pattern. Each is a form: run it to see its items, the requests that it becomes, and what it costs." : `${table.name} declares no access patterns.`}</p>
  </div></div>`;
}

function OnePattern({ name, table, here, opened }) {
  const form = useAction("patterns/form", { pattern: name });
  if (form.error) return html`<div class="pane"><div class="sec"><${Failed} error=${form.error} onRetry=${form.reload} /></div></div>`;
  if (!form.result) return html`<div class="pane"><${Loading} isSlow=${form.isSlow} label="Reading the pattern" /></div>`;
  return html`<${PatternPage} form=${form.result} table=${table} here=${here} opened=${opened} />`;
}

function PatternPage({ form, table, here, opened }) {
  const inputs = form.inputs ?? [{ name: "arguments", kind: "json", required: true, type: "JSON" }];
  const [values, setValues] = useState(() => readArguments(inputs, here.query));
  const [shown, setShown] = useState(null);
  const [running, setRunning] = useState(false);
  const [recent, setRecent] = useKept(`recent:${table.name}`, []);
  const aborting = useRef(null);
  const canRun = form.problem === null;
  const isBlocked = form.writes && opened.readOnly;

  const ask = async (action, more = {}) => {
    aborting.current?.abort();
    aborting.current = new AbortController();
    setRunning(true);
    const text = makeArguments(inputs, values);
    try {
      const answer = await act(`patterns/${action}`, { pattern: form.name, arguments: text, ...more }, { signal: aborting.current.signal });
      setShown((old) => join(action, answer, old, more));
      if (action === "run" || action === "write") {
        const row = { pattern: form.name, text, query: writeQuery(inputs, values), units: answer.units, milliseconds: answer.calls.reduce((sum, each) => sum + each.milliseconds, 0), at: answer.result.at };
        if (!more.cursor) setRecent([row, ...recent].slice(0, 8));
      }
    } catch (error) {
      if (error.name !== "AbortError") setShown((old) => ({ ...old, error, kind: action }));
    } finally {
      setRunning(false);
    }
  };
  const remember = () => navigate({ room: "patterns", rest: [form.name], query: writeQuery(inputs, values) }, { replace: true });
  const run = () => {
    remember();
    return ask(form.writes ? "write" : "run");
  };
  const explain = () => {
    remember();
    return ask("explain");
  };
  const isFilled = inputs.every((each) => !each.required || (values[each.name] ?? "") !== "");

  useEffect(() => {
    // A link fills the form, and runs a read that is known to be cheap. It never writes.
    if (canRun && form.linkable && isFilled && inputs.some((each) => here.query[each.name] !== undefined)) ask("run", { link: true });
    return () => aborting.current?.abort();
  }, []);
  useKeys(
    {
      "Control+Enter": [() => (canRun && !isBlocked ? void (form.writes ? explain() : run()) : false), form.writes ? "explain" : "run"],
      "Control+Shift+Enter": [() => void explain(), "explain only"],
      Escape: [() => (running ? aborting.current?.abort() : false), "cancel"],
    },
    [values, running],
  );

  return html`<div class="pane">
      <div class="sec">
        <h1 class="subject">${form.title}</h1>
        <${Description} text=${form.description} />
        ${form.problem && html`<${Note} kind="warn"><p>${form.problem}</p><//>`}
        <${PatternForm} form=${form} inputs=${inputs} values=${values} onChange=${setValues} errors=${shown?.error?.facts?.fields ?? []}
          onSubmit=${form.writes ? explain : run} onRun=${run} onExplain=${explain} running=${running} isBlocked=${isBlocked} hasExplained=${shown?.kind === "explain" && !shown.error} />
      </div>
      <div aria-live="polite" aria-busy=${running}>
        ${shown?.error && html`<div class="sec"><${Failed} error=${shown.error} /></div>`}
        ${shown?.result && html`<${PatternResult} table=${table} form=${form} answer=${shown.result} onNext=${() => ask("run", { cursor: shown.result.result.cursor })} running=${running} />`}
      </div>
      <${RecentRuns} recent=${recent} onOpen=${(row) => navigate({ room: "patterns", rest: [row.pattern], query: row.query })} />
    </div>
    <${PatternSide} form=${form} shown=${shown} table=${table} text=${makeArguments(inputs, values)} isFilled=${isFilled} />`;
}

/** The first paragraph of a description; the rest on demand. */
function Description({ text }) {
  const [first, ...rest] = text.split("\n\n");
  return html`<p class="dim">${first}</p>${rest.length > 0 && html`<details class="more"><summary>More</summary>${rest.map((each) => html`<p class="dim">${each}</p>`)}</details>`}`;
}

function join(action, answer, old, more) {
  if (action === "explain") return { kind: "explain", explained: answer.result, result: null };
  if (!more.cursor || !old?.result) return { kind: action, result: answer, explained: null };
  const before = old.result.result;
  const groups = before.groups.map((each) => ({ ...each, rows: [...each.rows] }));
  for (const added of answer.result.groups) {
    const same = groups.find((each) => each.kind === added.kind && each.label === added.label);
    if (same) same.rows.push(...added.rows);
    else groups.push(added);
  }
  const result = { ...answer.result, groups, count: before.count + answer.result.count, invalid: [...before.invalid, ...answer.result.invalid], pages: (before.pages ?? 1) + 1 };
  const units = { read: old.result.units.read + answer.units.read, write: old.result.units.write + answer.units.write };
  return { kind: action, result: { result, units, calls: [...old.result.calls, ...answer.calls] }, explained: null };
}

