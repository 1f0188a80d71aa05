// Beside a pattern: the requests that it became, its price for a month, and the same as code.
import { html, useState } from "../../html.js";
import { useAction } from "../../api.js";
import { useKept } from "../../session.js";
import { Calls, Totals } from "../../parts/calls.js";
import { CopyButton } from "../../parts/copy.js";
import { Failed, Note } from "../../parts/states.js";
import { showUnits } from "../../parts/text.js";

const LANGUAGES = [["python", "Python"], ["boto3", "boto3"], ["cli", "CLI"], ["partiql", "PartiQL"], ["curl", "curl"]];
const LEAST = 3;
const MOST = 9;
const STEPS = 100;

export function PatternSide({ form, shown, text, isFilled }) {
  return html`<aside class="side" aria-label="Requests, cost and code">
    <${Requests} form=${form} shown=${shown} />
    <${Cost} form=${form} spent=${shown?.result?.calls ?? []} />
    <${Code} form=${form} text=${text} isFilled=${isFilled} />
  </aside>`;
}

function Requests({ form, shown }) {
  const plain = useAction("patterns/explain", form.explainable ? { pattern: form.name } : null);
  if (shown?.result) {
    const { calls, units, result } = shown.result;
    const noted = calls.map((call, number) => ({ ...call, note: handed(result.handed?.[number]) }));
    return html`<section class="sec"><h3>The requests it became<span class="end"><${Totals} calls=${calls} units=${units} /></span></h3><${Calls} calls=${noted} />${!calls.length && html`<p class="dim">It made no call.</p>`}</section>`;
  }
  const explained = shown?.explained ?? plain.result;
  return html`<section class="sec"><h3>${explained?.concrete ? "The requests it would become" : "The requests it becomes"}</h3>
    ${plain.error && html`<${Failed} error=${plain.error} />`}
    ${explained && html`<${Explained} explained=${explained} />`}
    ${!form.explainable && !explained && html`<p class="dim">It cannot be explained without arguments. Fill them in, and press Explain.</p>`}
  </section>`;
}

function Explained({ explained }) {
  const calls = explained.steps.map((step) => ({ operation: step.operation, index: step.index, key: step.key, note: [handed(step.handed), describe(step)].filter(Boolean).join(" · ") }));
  return html`<${Calls} calls=${calls} />
    ${explained.scans && html`<${Note} kind="warn"><p>It scans: it reads every item, whatever it returns.</p><//>`}
    ${explained.writes && !explained.atomic && html`<${Note} kind="warn"><p>It writes in several calls, which do not fail as a whole.</p><//>`}
    ${explained.lagging.length > 0 && html`<p class="dim small">${explained.lagging.join(", ")} may lag behind the last writes.</p>`}
    ${explained.concrete && html`<details class="more"><summary>Request bodies</summary>${explained.steps.map((step) => html`<pre class="code" tabindex="0" translate="no">${JSON.stringify(step.body, null, 2)}</pre>`)}</details>`}`;
}

function describe(step) {
  const deeds = step.deeds.map((each) => `${each.verb} ${each.entity}`);
  return [...deeds, ...(step.filters ? ["filters after reading"] : [])].join(", ");
}

function handed(names) {
  return names?.length ? `uses ${names.join(", ")} of what was found before` : "";
}

function Cost({ form, spent }) {
  const [calls, setCalls] = useState(1_000_000);
  const body = { pattern: form.name, calls, spent: spent.map(({ operation, index, read, units }) => ({ operation, index, read, units })) };
  const { result, error } = useAction("patterns/cost", body);
  const at = ((Math.log10(Math.max(calls, 10 ** LEAST)) - LEAST) / (MOST - LEAST)) * STEPS;
  const slide = (event) => setCalls(Number((10 ** (LEAST + (Number(event.target.value) / STEPS) * (MOST - LEAST))).toPrecision(2)));
  const type = (event) => {
    const number = Number(event.target.value.replaceAll(/[^0-9]/g, ""));
    if (Number.isFinite(number)) setCalls(Math.min(number, 1e15));
  };
  return html`<section class="sec"><h3>Cost${result && html`<span class="end">${result.prices.mode}, ${result.prices.region}, prices of ${result.prices.date}</span>`}</h3>
    ${error && html`<${Failed} error=${error} />`}
    <div class="costrow">
      <div class="grow"><input type="range" min="0" max=${STEPS} value=${at} aria-label="Calls a month" aria-valuetext=${`${calls.toLocaleString("en-US")} calls a month`} onInput=${slide} />
        <p class="row faint small between"><span>1 k</span><span>1 M</span><span>1 G</span></p></div>
      <div><p><b class="big num">${result?.source ? showUsd(result.usd) : "…"}</b> a month</p>
        <label class="row small"><input class="input num calls" value=${calls.toLocaleString("en-US")} aria-label="Calls a month, typed" onChange=${type} /> calls × ${result ? showUnits(result.units) : "…"}</label></div>
    </div>
    ${result?.problem && html`<p class="dim small">${result.problem}</p>`}
    ${result?.sentence && html`<p class="dim small">${result.sentence}</p>`}
    ${result?.source === "examples" && html`<p class="faint small">By a run on the declaration's examples; run it here to price this call.</p>`}
  </section>`;
}

function showUsd(value) {
  const digits = value >= 100 ? 0 : value >= 0.01 || value === 0 ? 2 : 6;
  return `$${value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })}`;
}

function Code({ form, text, isFilled }) {
  const [language, setLanguage] = useKept("language", "python");
  const { result, error } = useAction("patterns/code", form.problem === null && isFilled ? { pattern: form.name, arguments: text } : null);
  const found = result?.[language];
  return html`<section class="sec"><h3 id="copy-as">Copy as<span class="end">${found?.text && html`<${CopyButton} text=${found.text} label="Copy the code" />`}</span></h3>
    <div class="seg" role="group" aria-labelledby="copy-as">${LANGUAGES.map(([name, title]) => html`<button type="button" aria-pressed=${name === language} onClick=${() => setLanguage(name)}>${title}</button>`)}</div>
    ${error && html`<p class="dim small pad0">${error.message}</p>`}
    ${!error && found?.text && html`<pre class="code" tabindex="0" translate="no">${found.text}</pre>`}
    ${!error && found?.reason && html`<p class="dim small pad0">${found.reason}</p>`}
    ${!result && !error && html`<p class="dim small pad0">${isFilled ? "…" : "Fill in the arguments to copy the call."}</p>`}
  </section>`;
}
