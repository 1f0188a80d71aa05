// What calls of a pattern cost in a month: a slider on a log scale, and the number typed in.
import { html, useEffect, useState } from "../../html.js";
import { useAction } from "../../api.js";
import { useKept } from "../../session.js";
import { Failed } from "../../parts/states.js";
import { showUnits, trim } from "../../parts/text.js";

const SUFFIXES = { k: 1e3, m: 1e6, g: 1e9, b: 1e9 };

/** Return a number of calls: 10M, 2.5 k, 1,000. NaN if it is none. */
export function readCalls(text) {
  const found = /^\s*([\d][\d,]*(?:\.\d+)?)\s*([kmgb]?)\s*$/i.exec(text);
  return found ? Number(found[1].replaceAll(",", "")) * (SUFFIXES[found[2].toLowerCase()] ?? 1) : NaN;
}

/** Return a number of calls in a few letters: 10 M. */
export function showCalls(calls) {
  for (const [suffix, size] of [["G", 1e9], ["M", 1e6], ["k", 1e3]]) {
    if (calls >= size) return `${Number((calls / size).toPrecision(3)).toLocaleString("en-US")} ${suffix}`;
  }
  return calls.toLocaleString("en-US");
}

export function showDollars(usd) {
  if (usd > 0 && usd < 0.01) return "under $0.01";
  return usd.toLocaleString("en-US", { style: "currency", currency: "USD" });
}

export function Cost({ pattern, spent }) {
  const [calls, setCalls] = useKept("patterns:calls", 1e7);
  const [typed, setTyped] = useState(showCalls(calls));
  const { result, error, reload } = useAction("patterns/cost", { pattern, spent });
  useEffect(() => setTyped(showCalls(calls)), [calls]);
  if (error) return html`<section class="sec" aria-label="Cost"><h2 class="lbl">Cost</h2><${Failed} error=${error} onRetry=${reload} /></section>`;
  if (!result) return html`<section class="sec" aria-label="Cost" aria-busy="true"><h2 class="lbl">Cost</h2></section>`;
  const { units, prices } = result;
  const usd = (calls * (units.read * prices.read + units.write * prices.write)) / 1e6;
  const type = (event) => {
    setTyped(event.target.value);
    const given = readCalls(event.target.value);
    if (given >= 1 && given <= 1e12) setCalls(given);
  };
  return html`<section class="sec" aria-label="Cost">
    <h2 class="lbl">Cost <span class="end">${prices.mode}, ${prices.region}, prices of ${prices.date}</span></h2>
    ${result.source
      ? html`<div class="pcost">
          <div>
            <input type="range" min="3" max="9" step="0.05" value=${Math.log10(calls)} aria-label="Calls a month" aria-valuetext="${showCalls(calls)} calls a month" onInput=${(event) => setCalls(Number((10 ** Number(event.target.value)).toPrecision(2)))} />
            <span class="ticks" aria-hidden="true"><span>1 k</span><span>1 M</span><span>1 G</span></span>
          </div>
          <div class="figure"><p class="big num"><output>${showDollars(usd)}</output> <span>a month</span></p>
            <p class="dim num"><input class="input calls" aria-label="Calls a month, typed" value=${typed} aria-invalid=${Number.isNaN(readCalls(typed)) ? "true" : undefined} onInput=${type} onBlur=${() => setTyped(showCalls(calls))} /> calls × ${showUnits(units)}</p></div>
        </div>
        <p class="dim small">${result.sentence ?? ""} <span class="faint">${result.source === "run" ? "By the units of this run." : `By the mean of its runs on the table's examples${units.read + units.write > 0 ? "" : ", which found nothing"}.`}</span></p>`
      : html`<p class="dim small">${result.problem} At $${trim(prices.read)} for a million read units, and $${trim(prices.write)} for a million write units.</p>`}
  </section>`;
}
