// An attempt: a pattern, or one access, tried as the role. Key, tenant and right are checked in this order.
import { html, useEffect, useRef, useState } from "../../html.js";
import { address, setQuery, writePrincipal } from "../../router.js";
import { Icon } from "../../parts/icon.js";
import { Failed, Loading } from "../../parts/states.js";
import { Pieces } from "./matrix.js";

const RIGHTS = ["get", "query", "create", "update", "delete"];

/** Return what the address asks to try, as the server takes it; null for nothing. */
export function readAttempt(query) {
  if (query.try) return { pattern: query.try };
  if (!query.right) return null;
  if (query.through && !query.key) return { right: query.right, index: query.through, partition: "?" };
  return { right: query.right, area: query.key ? undefined : query.area, partition: query.key, sort: query.sort, index: query.through };
}

export function Attempt({ table, role, ids, attempt, tried, here }) {
  const place = useRef(null);
  const shown = JSON.stringify(attempt);
  const before = useRef(shown);
  useEffect(() => {
    // In a narrow window, it is below the matrix; a view that was just opened stays where it is.
    if (shown !== before.current && tried.result && matchMedia("(max-width: 720px)").matches) {
      before.current = shown;
      place.current?.scrollIntoView({ block: "nearest" });
    }
  }, [shown, tried.result]);
  const { error } = tried;
  const result = attempt && !error ? tried.result : null;
  return html`<section class="sec attempt" ref=${place} aria-live="polite">
    <h2 class="lbl">${result?.outcome === "denied" ? "Denied attempt" : "Attempt"}<span class="end mono">${result ? result.title : ""}</span></h2>
    ${!attempt ? html`<p class="dim">Choose a cell or a pattern to try it as ${role.name}. Writes are checked, and not made.</p>` : error ? html`<${Failed} error=${error} />` : result ? html`<${Result} table=${table} role=${role} ids=${ids} result=${result} here=${here} />` : html`<${Loading} isSlow=${tried.isSlow} label="Trying" />`}
  </section>`;
}

function Result({ table, role, ids, result, here }) {
  const as = writePrincipal({ roles: [role.name], ids });
  if (result.outcome !== "denied") {
    const title = result.pattern ? html`${result.pattern} ${result.outcome === "unknown" ? "could not be tried" : "runs"}` : html`${role.name} may ${result.title}`;
    return html`<div class="note ${result.outcome === "unknown" ? "" : "ok"}"><${Icon} name=${result.outcome === "unknown" ? "info" : "check"} /><div><b>${title}</b><div class="dim small">${result.note ? `${capitalise(result.note)}. ` : ""}${result.operations?.length ? `${result.operations.join(", ")} on examples. ` : ""}Nothing was read or written in the database.</div></div></div>
      ${result.checks && html`<${Trace} checks=${result.checks} />`}
      ${result.pattern && html`<p class="small next"><a class="ref" href=${address({ room: "patterns", rest: [result.pattern], query: { as } })}>Run ${result.pattern} as ${role.name}</a></p>`}`;
  }
  const step = result.steps > 1 || result.step > 1 ? `, call ${result.step}` : "";
  return html`<div class="note err"><${Icon} name="deny" /><div><b>${result.fact}</b><div class="dim small">${result.operation}${result.enclosing ? ` in ${result.enclosing}` : ""} on ${result.index ?? table.name}${step}. Nothing was read or written.</div></div></div>
    <${Trace} checks=${result.checks} />
    ${result.change && html`<h3 class="lbl rule">The missing rule, if it should be allowed</h3><${Change} change=${result.change} />`}
    ${result.advice && html`<p class="small next">${result.advice}</p>`}
    <${Able} result=${result} role=${role} here=${here} />`;
}

function Trace({ checks }) {
  return html`<ol class="trace">${checks.map((check) => html`<li class=${check.passes ? "ok" : "bad"}><${Icon} name=${check.passes ? "check" : "x"} label=${check.passes ? "passed" : "failed"} /><div><span class="what">${check.name}</span><span class="checked">${check.pieces ? html`<${Pieces} pieces=${check.pieces} />` : check.name === "Right" ? html`<b>${check.text}</b>` : check.text ? html`<code translate="no">${check.text}</code>` : ""}${" "}<span class="dim">${check.note}</span></span></div></li>`)}</ol>`;
}

function Change({ change }) {
  return html`<pre class="code diff" tabindex="0" aria-label="Change of ${change.file}"><span class="c">${change.file}:${change.line}</span>${"\n"}${change.lines.map(([sign, line]) => html`<span class=${sign === "+" ? "add" : sign === "-" ? "del" : "same"}>${sign} ${line}</span>`)}</pre>
    ${change.needs && html`<p class="small dim">It needs <code>${change.needs}</code>.</p>`}`;
}

function Able({ result, role, here }) {
  if (!result.able.length) return html`<p class="small next dim">No other role has this right.</p>`;
  const { as, try: pattern, right, area, key, sort, through } = here.query;
  const link = (each) => address({ room: "role", rest: [each.role], query: { as, try: pattern, right, area, key, sort, through, ...each.ids } });
  const names = result.able.map((each) => each.role);
  return html`<p class="small next"><b>${names.join(", ")}</b> ${names.length > 1 ? "have" : "has"} this right. ${result.able.map((each, number) => html`${number ? " · " : ""}<a class="ref" href=${link(each)}>Try it as ${each.role}${each.ids && Object.keys(each.ids).length && each.role !== role.name ? ` ${Object.values(each.ids).join(", ")}` : ""}</a>`)}</p>`;
}

/** One access by its key, typed. */
export function AttemptForm({ table, role, attempt, tried }) {
  const [right, setRight] = useState(attempt?.right ?? "query");
  const [index, setIndex] = useState(attempt?.index ?? "");
  const typed = attempt?.partition && attempt.partition !== "?" ? attempt.partition : "";
  const [key, setKey] = useState(typed || tried?.partition || "");
  const [sort, setSort] = useState(attempt?.sort ?? tried?.sort ?? "");
  useEffect(() => {
    if (!typed && tried?.partition && tried.partition !== "?") {
      setKey(tried.partition);
      setSort(tried.sort ?? "");
    }
  }, [tried?.partition, tried?.sort]);
  const hasSort = table.key.sort.length > 0 && !index;
  const submit = (event) => {
    event.preventDefault();
    setQuery({ try: undefined, area: undefined, right: index ? "query" : right, through: index || undefined, key, sort: hasSort ? sort : undefined });
  };
  return html`<details class="sec tryform" open=${Boolean(attempt?.right)}><summary>Try any key</summary>
    <form class="stack" onSubmit=${submit}>
      <div class="pair"><label>Right<select value=${index ? "query" : right} disabled=${Boolean(index)} onChange=${(event) => setRight(event.target.value)}>${RIGHTS.map((each) => html`<option value=${each}>${each}</option>`)}</select></label>
        <label>In<select value=${index} onChange=${(event) => setIndex(event.target.value)}><option value="">the table</option>${table.indexes.filter((each) => !each.local && each.key.partition.length === 1).map((each) => html`<option value=${each.name}>${each.name}</option>`)}</select></label></div>
      <label>${index ? table.indexes.find((each) => each.name === index).key.partition[0] : table.key.partition[0]}<span class="field"><input required spellcheck="false" autocomplete="off" value=${key} placeholder="the partition key, as stored" onInput=${(event) => setKey(event.target.value)} /></span></label>
      ${hasSort && html`<label>${table.key.sort[0]}<span class="field"><input spellcheck="false" autocomplete="off" value=${sort} placeholder=${right === "query" ? "a prefix; may be empty" : "the sort key, as stored"} onInput=${(event) => setSort(event.target.value)} /></span></label>`}
      <p><button class="btn">Try as ${role.name}</button></p>
    </form></details>`;
}

function capitalise(text) {
  return text ? text[0].toUpperCase() + text.slice(1) : text;
}
