// The runs of this tab, the latest first. They are forgotten with the page.
import { html } from "../../html.js";
import { address } from "../../router.js";
import { showMilliseconds, showUnits } from "../../parts/text.js";

const MOST = 8;
const runs = [];

/** Keep a run: {table, as, pattern, shown, query, units, milliseconds, failed, isWrite}. */
export function keepRun(run) {
  const same = runs.findIndex((each) => each.table === run.table && each.as === run.as && each.pattern === run.pattern && each.shown === run.shown);
  if (same >= 0) runs.splice(same, 1);
  runs.unshift(run);
  runs.length = Math.min(runs.length, MOST * 4);
}

/** Return the units of the last run of each pattern of a table. */
export function findLastUnits(table) {
  const found = {};
  for (const run of runs.toReversed()) {
    if (run.table === table && !run.failed) found[run.pattern] = run.units;
  }
  return found;
}

export function RecentRuns({ table, as }) {
  const own = runs.filter((each) => each.table === table && each.as === as).slice(0, MOST);
  if (!own.length) return null;
  return html`<section class="sec hide-s" aria-label="Recent runs">
    <h2 class="lbl">Recent runs <span class="end">in this tab</span></h2>
    <table class="t runs"><thead class="sr"><tr><th scope="col">pattern</th><th scope="col">arguments</th><th scope="col">time</th><th scope="col">units</th><th scope="col">again</th></tr></thead>
      <tbody>${own.map(
        (run, place) => html`<tr key=${`${run.pattern} ${run.shown}`}>
          <td><code translate="no">${run.pattern}</code></td><td class="mono clip args" title=${run.shown} translate="no">${run.shown}</td>
          <td class="r dim">${run.failed ? "" : showMilliseconds(run.milliseconds)}</td><td class="r">${run.failed ? html`<span class="err-ink">failed</span>` : showUnits(run.units)}</td>
          <td class="r">${place === 0 ? html`<span class="faint">now</span>` : html`<a class="ref" href=${address({ room: "patterns", rest: [run.pattern], query: run.query })}>Open</a>`}</td>
        </tr>`,
      )}</tbody></table>
  </section>`;
}
