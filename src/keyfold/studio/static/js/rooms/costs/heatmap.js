// The heat map: keys and partitions, each with its units in every cell; shades only add to the numbers.
import { html } from "../../html.js";
import { address } from "../../router.js";
import { Mark, findEntity, hueOf } from "../../parts/entity.js";
import { Icon } from "../../parts/icon.js";
import { Key } from "../../parts/key.js";
import { Note } from "../../parts/states.js";
import { showCount } from "../../parts/text.js";
import { showShort } from "./use.js";

const SHADES = [0.02, 0.1, 0.3, 0.7, 1];

export function HeatResult({ table, heat }) {
  return html`<${Throttling} heat=${heat} />
    <${Advice} heat=${heat} />
    <section class="sec" aria-label="Hottest keys"><h2 class="lbl">Hottest keys <span class="end">units a second at the peak, and the share of what a partition serves</span></h2>
      <${HeatGrid} table=${table} heat=${heat} spots=${heat.keys} what="key" /></section>
    <section class="sec" aria-label="Hottest partitions"><h2 class="lbl">Hottest partitions <span class="end">${showPartitions(heat)}</span></h2>
      <${HeatGrid} table=${table} heat=${heat} spots=${heat.partitions} what="partition" /></section>
    <section class="sec"><h2 class="lbl">Assumed</h2><ul class="bullets dim">${heat.assumptions.map((each) => html`<li>${each}</li>`)}</ul></section>`;
}

function Throttling({ heat }) {
  const peak = heat.peak ? `, with the peak from second ${heat.peak[0]} to ${heat.peak[1]}` : "";
  return html`<section class="sec" aria-label="Throttling">
    <h2 class="lbl">When throttling begins <span class="end">${showCount(heat.seconds, "second")}${peak}</span></h2>
    <div class="tablewrap" tabindex="0" role="group" aria-label="Throttling at each load"><table class="t"><thead><tr><th scope="col" class="r">load</th><th scope="col" class="r">calls a second</th><th scope="col">throttled</th><th scope="col" class="r">begins</th><th scope="col" class="r">refused</th><th scope="col">patterns</th></tr></thead><tbody>
      ${heat.runs.flatMap((run) => (run.throttling.length ? run.throttling : [null]).map((each, number) => html`<tr key=${`${run.factor} ${number}`}>
        <td class="r">${number ? "" : html`<b>${run.factor}×</b>`}</td><td class="r">${number ? "" : showShort(run.calls / Math.max(1, run.seconds))}</td>
        ${each ? html`<td><span class="badge err"><${Icon} name="warn" />${each.index ?? "table"}</span> ${showReason(each.reason)}</td><td class="r">after ${Math.round(each.begins)} s</td><td class="r">${share(each.calls, run.calls)}</td>
          <td class="clip names" title=${each.patterns.map((pattern) => pattern.title).join(", ")}>${each.patterns.map((pattern, place) => html`${place ? ", " : ""}${pattern.name ? html`<a class="ref" href=${address({ room: "patterns", rest: [pattern.name] })}>${pattern.title}</a>` : pattern.title}`)}</td>` : html`<td colspan="4"><span class="badge ok"><${Icon} name="check" />none</span></td>`}
      </tr>`))}
    </tbody></table></div>
  </section>`;
}

/** Return a reason of the service in words, with its name on hover. */
function showReason(reason) {
  const kind = reason.includes("Read") ? "reads" : "writes";
  const limits = { KeyRange: "more than a partition serves", Provisioned: "more than is provisioned", MaxOnDemand: "more than the declared maximum", Account: "more than the account's quota" };
  const found = Object.entries(limits).find(([name]) => reason.includes(name));
  return html`<span title=${reason}>${kind}: ${found ? found[1] : reason}</span>`;
}

function share(part, whole) {
  const percent = (100 * part) / Math.max(1, whole);
  return percent < 0.1 ? "< 0.1 %" : `${percent.toFixed(1)} %`;
}

function Advice({ heat }) {
  if (!heat.remedies.length && !heat.advice.length) return html`<div class="sec"><${Note} kind="ok"><p>No partition is asked for more than it serves at these loads.</p><//></div>`;
  return html`<section class="sec stack" aria-label="What helps"><h2 class="lbl">What helps</h2>
    ${heat.remedies.map((each) => html`<${Note} kind=${each.clears ? "ok" : "warn"}><p>${each.text}</p><//>`)}
    ${heat.advice.map((each) => html`<${Note} kind="warn"><p>${each}</p><//>`)}</section>`;
}

function showPartitions(heat) {
  const last = heat.runs.at(-1);
  return Object.entries(last.partitions).map(([name, count]) => `${name || "table"} ${count.first}${count.last > count.first ? `, ${count.last} at ${last.factor}×` : ""}`).join(" · ");
}

/** A grid: a row for each key or partition, a column for each load. */
export function HeatGrid({ table, heat, spots, what }) {
  if (!spots.length) return html`<p class="dim">Nothing is asked for.</p>`;
  return html`<div class="tablewrap" tabindex="0" role="group" aria-label="Hottest ${what}s"><table class="t heat"><thead><tr><th scope="col">${what}</th><th scope="col">of</th>${heat.runs.map((run) => html`<th scope="col" class="r">at ${run.factor}×</th>`)}</tr></thead><tbody>
    ${spots.map((spot) => html`<tr key=${`${spot.index} ${spot.kind} ${spot.label}`}>
      <th scope="row"><${SpotName} table=${table} spot=${spot} /></th>
      <td class="dim">${spot.index ?? "table"}, ${spot.kind}s</td>
      ${spot.loads.map((load) => (load ? html`<${HeatCell} units=${load.peak} limit=${heat.limits[spot.kind]} refused=${load.refused} />` : html`<td class="r faint">not there yet</td>`))}
    </tr>`)}
  </tbody></table></div>`;
}

/** A number of units a second, shaded by its share of what a partition serves. */
export function HeatCell({ units, limit, refused = 0, withShare = true }) {
  const level = SHADES.filter((each) => units / limit >= each).length;
  const percent = (100 * units) / limit;
  const text = percent < 1 ? "< 1 %" : `${Math.round(percent)} %`;
  return html`<td class="r cell" data-heat=${level} data-over=${percent > 100 || refused > 0 ? "" : undefined}>
    ${units ? html`${showShort(units)}${withShare ? html` <small>${text}</small>` : ""}${refused > 0 ? html` <span class="badge err"><${Icon} name="warn" />throttled</span>` : ""}` : html`<span class="faint">0</span>`}
  </td>`;
}

/** The name of a hot spot: a decoded key that leads to its items, or a partition. */
export function SpotName({ table, spot }) {
  if (!spot.key) return html`<span translate="no">${spot.label}</span>`;
  const entity = findEntity(table, spot.entity);
  const shown = html`<${Mark} entity=${entity} /> <${Key} shown=${spot.key} flat />`;
  if (spot.key.made_up) return html`<span class="spot" ...${hueOf(entity)} title="A key that was made up, for more callers">${shown}</span>`;
  // In quotes, a text is the key itself, which Items finds by a query.
  const query = { through: spot.index ?? undefined, where: `"${spot.label.replaceAll('"', '""')}"` };
  return html`<a class="spot ref" ...${hueOf(entity)} href=${address({ room: "items", query })} aria-label="Items of ${spot.label}">${shown}</a>`;
}
