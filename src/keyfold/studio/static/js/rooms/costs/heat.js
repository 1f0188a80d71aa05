// Heat of the simulated workload: hot keys and partitions at several loads, when throttling begins, what helps.
import { html, useEffect, useState } from "../../html.js";
import { useAction } from "../../api.js";
import { setQuery } from "../../router.js";
import { Icon } from "../../parts/icon.js";
import { Failed, Loading, Note } from "../../parts/states.js";
import { HeatResult } from "./heatmap.js";

const LOADS = "1, 10, 100";
const SECONDS = 60;

/** Return the loads of a text such as "1, 10, 100"; null if it has others than numbers. */
export function readLoads(text) {
  const numbers = text.split(",").map((each) => Number(each.trim().replace(/[x×]$/, "")));
  const isValid = numbers.length <= 4 && numbers.every((each) => each >= 0.001 && each <= 1_000_000);
  return isValid ? numbers : null;
}

export function HeatView({ table, here, body, known }) {
  const loads = here.query.load ?? LOADS;
  const skew = here.query.skew ?? "0";
  const asked = { ...body, prices: undefined, factors: readLoads(loads) ?? readLoads(LOADS), skew: Number(skew) || 0, seconds: SECONDS };
  const wanted = JSON.stringify(asked);
  // It takes a second or more, so it runs when asked for: at first by itself, and then by the button.
  const [running, setRunning] = useState(null);
  useEffect(() => {
    if (known && running === null) setRunning(wanted);
  }, [known]);
  const answer = useAction("costs/heat", running === null ? null : JSON.parse(running));
  const isChanged = running !== null && running !== wanted;
  const run = (event) => {
    event?.preventDefault();
    if (running === wanted) answer.reload();
    else setRunning(wanted);
  };
  return html`<form class="sec row heatform" onSubmit=${run}>
      <label>Loads, as multiples <${LoadField} value=${loads} onChange=${(load) => setQuery({ load: load === LOADS ? undefined : load })} /></label>
      <label>Skew of keys without one <span class="row"><input type="range" min="0" max="2" step="0.1" value=${skew} aria-valuetext=${skew === "0" ? "0, all keys alike" : skew} onInput=${(event) => setQuery({ skew: event.target.value === "0" ? undefined : event.target.value })} /><output class="num">${skew}</output></span></label>
      <button class="btn primary" disabled=${answer.isLoading}>${answer.isLoading ? "Simulating…" : "Simulate"}</button>
      ${isChanged && !answer.isLoading && html`<span class="warn-ink" role="status"><${Icon} name="warn" /> The workload has changed since.</span>`}
    </form>
    ${answer.error && html`<div class="sec"><${Failed} error=${answer.error}>${answer.error.code === "workload-invalid" && html`<p>Move a slider of a pattern, and simulate again.</p>`}<//></div>`}
    ${!answer.result && answer.isLoading && html`<${Loading} isSlow=${answer.isSlow} label="Simulating a minute of the workload" />`}
    ${answer.result && html`<div aria-busy=${answer.isLoading}><${HeatResult} table=${table} heat=${answer.result} /></div>`}
    ${!known && !answer.result && html`<${Note}><p>The patterns run on sample items first.</p><//>`}`;
}

function LoadField({ value, onChange }) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  const isValid = readLoads(typed) !== null;
  const type = (event) => {
    setTyped(event.target.value);
    if (readLoads(event.target.value)) onChange(event.target.value);
  };
  return html`<span class="typed"><input class="input num" value=${typed} aria-invalid=${!isValid} onInput=${type} />${!isValid && html`<span class="err-ink small" role="alert">Write up to four numbers, such as 1, 10, 100.</span>`}</span>`;
}

