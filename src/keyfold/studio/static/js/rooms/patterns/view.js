// One pattern: its form, its result, the requests it became, its cost, and its code.
import { html, useEffect, useRef, useState } from "../../html.js";
import { act, useAction, useSettled } from "../../api.js";
import { useKeys } from "../../keyboard.js";
import { address, readLocation, readPrincipal, setQuery } from "../../router.js";
import { Failed, Loading, Note } from "../../parts/states.js";
import { readJson, readParameter, showArguments, writeArguments, writeParameter } from "./arguments.js";
import { CopyAs } from "./code.js";
import { Cost } from "./cost.js";
import { PatternForm } from "./form.js";
import { RecentRuns, keepRun } from "./recent.js";
import { ExplainedRequests, MadeRequests } from "./requests.js";
import { Result } from "./result.js";

const NOTHING = { result: null, calls: null, units: null, error: null, explained: null, pages: 0 };

export function PatternView({ table, here, opened, pattern, findings, onRun, children }) {
  const { result: form, error, isSlow, reload } = useAction("patterns/form", { pattern });
  // Its units are known a moment later: the patterns are measured once.
  const { result: measured } = useAction("patterns/form", form ? { pattern, measured: true } : null);
  const head = html`${children}${findings.filter((each) => each.severity !== "note").map((each) => html`<div class="sec thin"><${Note} kind="warn"><b>${each.message}</b> ${each.fix ?? ""} <code>[${each.code}]</code><//></div>`)}`;
  if (form) return html`<${Workbench} key=${form.name} table=${table} here=${here} opened=${opened} form=${form} isLinkable=${measured?.linkable ?? false} onRun=${onRun}>${head}<//>`;
  return html`<div class="pane pmain">${head}${error ? html`<div class="sec"><${Failed} error=${error} onRetry=${reload} /></div>` : html`<${Loading} isSlow=${isSlow} label="Reading the pattern" />`}</div>`;
}

/** Return the values that the address has. */
function readValues(form, query) {
  if (form.inputs === null) return { json: query.json };
  return Object.fromEntries(form.inputs.map((spec) => [spec.name, readParameter(spec, query[spec.name])]));
}

function writeQuery(form, values) {
  if (form.inputs === null) return { json: values.json };
  return Object.fromEntries(form.inputs.map((spec) => [spec.name, writeParameter(spec, values[spec.name])]));
}

function writeGiven(form, values) {
  if (form.inputs === null) return { text: values.json ?? "{}", missing: [], faults: [] };
  return writeArguments(form.inputs, values);
}

function Workbench({ table, here, opened, form, isLinkable, onRun, children }) {
  const [values, setValues] = useState(() => readValues(form, here.query));
  const [state, setState] = useState(NOTHING);
  const [faults, setFaults] = useState([]);
  const [isRunning, setRunning] = useState(false);
  const [sampled, setSampled] = useState(null);
  const [reviewed, setReviewed] = useState(null);
  const running = useRef(null);
  // The values of a link that has not run yet; nothing, once anything else was done.
  const linked = useRef(values);
  const known = useRef(JSON.stringify(writeQuery(form, values)));
  const given = writeGiven(form, values);
  const settled = useSettled(JSON.stringify(values), 400);
  const as = here.query.as ?? "";
  // Below a long form, an error would not be seen.
  const complaint = useRef(null);
  useEffect(() => void (state.error && complaint.current?.scrollIntoView({ block: "nearest" })), [state.error]);

  const stop = () => {
    running.current?.abort();
    running.current = null;
    setRunning(false);
  };
  useEffect(() => () => running.current?.abort(), []);

  /** Make the values the address. */
  const remember = (next) => {
    const query = writeQuery(form, next);
    known.current = JSON.stringify(query);
    setQuery(query);
  };
  // What is typed in becomes the address, a moment later.
  useEffect(() => remember(values), [settled]);

  // An address that was not made here fills the form, and may run a read.
  const asked = JSON.stringify(Object.fromEntries(Object.keys(writeQuery(form, values)).map((name) => [name, here.query[name]])));
  useEffect(() => {
    if (asked === known.current) return;
    const next = readValues(form, here.query);
    known.current = asked;
    setValues(next);
    linked.current = next;
    runLinked();
  }, [asked]);
  useEffect(() => runLinked(), [isLinkable]);

  /** Run what a link asks for, once it is known that it may. */
  function runLinked() {
    const next = linked.current;
    if (!next || !isLinkable) return;
    linked.current = null;
    const { missing, faults: wrong } = writeGiven(form, next);
    const isLink = Object.values(next).some((each) => each !== undefined);
    if (isLink && !missing.length && !wrong.length) run(next, { link: true });
  }

  const complain = (found) => {
    setFaults(found);
    const first = found.find((each) => each.field);
    if (first) setTimeout(() => document.getElementById(`p-${first.field}`)?.focus(), 0);
  };

  /** Return the text of the arguments; null, with the fields marked, if some are missing. */
  const check = (next = values) => {
    const { text, missing, faults: wrong } = writeGiven(form, next);
    const found = [...missing.map((name) => ({ field: name, message: "It is required." })), ...wrong];
    complain(found);
    return found.length ? null : text;
  };

  const ask = async (action, body, use) => {
    stop();
    linked.current = null;
    const aborting = new AbortController();
    running.current = aborting;
    setRunning(true);
    try {
      use(await act(action, { pattern: form.name, ...body }, { signal: aborting.signal }));
    } catch (error) {
      if (error.name === "AbortError") return null;
      complain(error.facts?.fields ?? []);
      setState((old) => ({ ...old, error }));
      return error;
    } finally {
      if (running.current === aborting) {
        running.current = null;
        setRunning(false);
      }
    }
    return null;
  };

  const keep = (next, answer, failed) => {
    const milliseconds = (answer?.calls ?? []).reduce((sum, each) => sum + each.milliseconds, 0);
    keepRun({ table: table.name, as, pattern: form.name, shown: form.inputs ? showArguments(form.inputs, next) : "JSON", query: writeQuery(form, next), units: answer?.units ?? { read: 0, write: 0 }, milliseconds, failed });
    onRun();
  };

  async function run(next = values, { link = false, cursor } = {}) {
    const text = check(next);
    if (text === null) return;
    remember(next);
    const failed = await ask("patterns/run", { arguments: text, link, cursor }, (answer) => {
      setState((old) => ({
        result: cursor ? append(old.result, answer.result) : answer.result,
        calls: cursor ? [...old.calls, ...answer.calls] : answer.calls,
        units: cursor ? { read: old.units.read + answer.units.read, write: 0 } : answer.units,
        pages: cursor ? old.pages + 1 : 1,
        asked: form.inputs ? showArguments(form.inputs, next) : "",
        error: null,
        explained: null,
      }));
      keep(next, answer, false);
    });
    if (failed) keep(next, null, true);
  }

  const explain = async () => {
    const isEmpty = Object.values(values).every((each) => each === undefined);
    const text = isEmpty && form.inputs?.length ? undefined : check();
    if (text === null) return;
    if (text === undefined) setFaults([]);
    await ask("patterns/explain", { arguments: text }, (answer) => {
      setState((old) => ({ ...old, explained: answer.result, error: null }));
      setReviewed(null);
    });
  };

  const review = async () => {
    const text = check();
    if (text === null) return;
    await ask("patterns/explain", { arguments: text }, (answer) => {
      setState({ ...NOTHING, explained: answer.result });
      setReviewed(text);
    });
  };

  const write = async () => {
    const text = check();
    if (text === null || text !== reviewed) return;
    const next = values;
    const failed = await ask("patterns/write", { arguments: text }, (answer) => {
      setState({ ...NOTHING, result: answer.result, calls: answer.calls, units: answer.units, pages: 1 });
      setReviewed(null);
      keep(next, answer, false);
    });
    if (failed) keep(next, null, true);
  };

  const sample = async () => {
    await ask("patterns/sample", { stored: true }, ({ result }) => {
      setFaults([]);
      setSampled(result.source);
      if (form.inputs === null) setValues({ json: JSON.stringify(result.arguments, null, 2) });
      else setValues(Object.fromEntries(form.inputs.map((spec) => [spec.name, readJson(spec, result.arguments[spec.name])])));
    });
  };

  const change = (name, value) => {
    linked.current = null;
    setSampled(null);
    setFaults((old) => old.filter((each) => each.field !== name && !String(each.field).startsWith(`${name}.`)));
    setValues((old) => ({ ...old, [name]: value }));
  };

  useKeys(
    {
      "Control+Enter": [() => (form.writes ? review() : run()), form.writes ? "show what it would write" : "run"],
      "Control+Shift+Enter": [explain, "explain without running"],
      Escape: [() => (running.current ? stop() : false), "cancel the running request"],
    },
    [form.name, JSON.stringify(values), reviewed],
  );

  const plain = useAction("patterns/explain", form.explainable && !state.explained && !state.calls ? { pattern: form.name } : null);
  const isReviewed = form.writes && reviewed !== null && reviewed === given.text;
  const complete = given.missing.length || given.faults.length ? null : given.text;
  const { result, calls, units, explained } = state;
  return html`<div class="pane pmain">
    ${children}
    <div class="sec"><${PatternForm} form=${form} values=${values} faults=${faults} onChange=${change} onRun=${() => (form.writes ? review() : run())} onExplain=${explain} onWrite=${write} onSample=${sample} sampled=${sampled} isRunning=${isRunning} onCancel=${stop} reviewed=${isReviewed} isReadOnly=${opened.readOnly} /></div>
    <div class="results" aria-live="polite" aria-busy=${isRunning}>
      ${state.error && html`<div class="sec" ref=${complaint}><${Failed} error=${state.error}><${WhoMay} error=${state.error} pattern=${form.name} /><//></div>`}
      ${isReviewed && explained && html`<div class="sec thin"><${Note} kind="warn">Nothing is written yet. The requests show what <b>Write</b> will do.<//></div>`}
      ${result && html`<${Result} table=${table} result=${result} pages=${state.pages} asked=${state.asked} isRunning=${isRunning} onNext=${() => run(values, { cursor: result.cursor })}>${form.inputs?.length > 0 && html`<p><button type="button" class="btn" onClick=${sample}>Fill in a sample</button></p>`}<//>`}
      ${!result && !state.error && !explained && html`<p class="sec dim idle">${form.writes ? "Review shows what it would write, before anything is written." : form.inputs?.length ? "Fill in the arguments and run it, or take a sample of what is stored." : "It takes no arguments."}</p>`}
    </div>
    <${RecentRuns} table=${table.name} as=${as} />
    </div>
    <aside class="side pside" aria-label="Requests, cost and code">
      ${explained || !calls ? (explained ?? plain.result) && html`<${ExplainedRequests} table=${table} explained=${explained ?? plain.result} />` : html`<${MadeRequests} calls=${calls} units=${units} handed=${result?.handed} />`}
      <${Cost} pattern=${form.name} spent=${calls && !explained && state.pages === 1 ? calls.filter((each) => each.units > 0).map(({ operation, index, read, units: spent }) => ({ operation, index, read, units: spent })) : []} />
      <${CopyAs} pattern=${form.name} given=${complete} />
    </aside>`;
}

/** A denial leads to the room that says what the role may touch. */
function WhoMay({ error, pattern }) {
  const principal = readPrincipal(readLocation().query.as);
  if (!error.isDenied || !principal) return null;
  const href = address({ room: "role", rest: [principal.roles[0]], query: { ...principal.ids, try: pattern } });
  return html`<p class="small">Nothing was read or written. <a class="ref" href=${href}>What may ${principal.roles.join(", ")} touch?</a></p>`;
}

function append(old, next) {
  const groups = old.groups.map((each) => ({ ...each, rows: [...each.rows] }));
  for (const group of next.groups) {
    const same = groups.find((each) => each.kind === group.kind && each.label === group.label);
    if (same) Object.assign(same, { rows: [...same.rows, ...group.rows], single: false });
    else groups.push(group);
  }
  return { ...next, groups, count: old.count + next.count, invalid: [...old.invalid, ...next.invalid], handed: [...old.handed, ...next.handed] };
}
