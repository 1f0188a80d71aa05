// What the workload costs in a month: in all, by pattern, by table and index, and in each billing mode.
import { html, useRef } from "../../html.js";
import { address, setQuery } from "../../router.js";
import { Icon } from "../../parts/icon.js";
import { Failed, Loading, Note } from "../../parts/states.js";
import { showBytes, showUnits, trim } from "../../parts/text.js";
import { showShort, showUsd } from "./use.js";

const ASKS_ABOVE = 10;

export function CostView({ table, here, answer, source, setSource, prices, setPrices }) {
  const { result, error, isLoading, isSlow, reload } = answer;
  return html`<div aria-busy=${isLoading}>
    ${error && html`<div class="sec"><${Failed} error=${error} onRetry=${reload}>${prices && error.code === "prices-invalid" && html`<p><button type="button" class="btn" onClick=${() => setPrices(null)}>Use the included prices</button></p>`}<//></div>`}
    ${!result && !error && html`<${Loading} isSlow=${isSlow} label="Running every pattern on sample items" />`}
    ${result && html`<${Forecast} table=${table} here=${here} cost=${result} source=${source} setSource=${setSource} prices=${prices} setPrices=${setPrices} isMeasuring=${isLoading && source.source === "database"} />`}
  </div>`;
}

function Forecast({ here, cost, source, setSource, prices, setPrices, isMeasuring }) {
  const mode = cost.modes.find((each) => each.mode === here.query.mode) ?? cost.modes.find((each) => each.mode.startsWith("on demand, Standard")) ?? cost.modes[0];
  return html`<section class="sec total" aria-label="The month">
      <p class="month" role="status"><b class="num">${showUsd(mode.month_usd)}</b> a month <span class="dim">${mode.mode}</span></p>
      <dl class="split-cost">
        <div><dt>${mode.mode.startsWith("on demand") ? "requests" : "capacity"}</dt><dd class="num">${showUsd(mode.capacity_usd)}</dd></div>
        <div><dt>storage, ${showGigabytes(cost.gigabytes)}</dt><dd class="num">${showUsd(cost.storage)}</dd></div>
        ${cost.extras.map((each) => html`<div><dt>${each.name}</dt><dd class="num">${showUsd(each.usd)}</dd></div>`)}
        ${cost.growth.filter((each) => each.gigabytes > cost.gigabytes * 1.0001).map((each) => html`<div><dt>in ${each.month} months, on demand</dt><dd class="num">${showUsd(each.month_usd)}</dd></div>`)}
      </dl>
      <p class="narrow-only"><button type="button" class="btn" onClick=${() => document.querySelector(".uses").scrollIntoView()}>Change the workload</button></p>
      <${PriceSource} cost=${cost} prices=${prices} setPrices=${setPrices} />
    </section>
    <${Patterns} cost=${cost} />
    <${Modes} cost=${cost} chosen=${mode} />
    <${Parts} cost=${cost} />
    <${Measured} cost=${cost} source=${source} setSource=${setSource} isMeasuring=${isMeasuring} />
    <section class="sec"><h2 class="lbl">Assumed</h2><ul class="bullets dim">${cost.assumptions.map((each) => html`<li>${each}</li>`)}</ul></section>`;
}

function PriceSource({ cost, prices, setPrices }) {
  const input = useRef(null);
  const take = async (event) => {
    const [file] = event.target.files;
    if (file) setPrices({ name: file.name, text: await file.text() });
    event.target.value = "";
  };
  return html`<p class="dim small pricesource">Prices of <b>${cost.prices.region}</b>, ${cost.prices.date}${prices ? `, from ${prices.name}` : ", which Keyfold includes"}.${" "}
    ${prices ? html`<button type="button" class="ref" onClick=${() => setPrices(null)}>Use the included ones</button>` : html`<button type="button" class="ref" onClick=${() => input.current.click()}>Another region or contract</button>`}
    <input ref=${input} type="file" accept=".toml" class="sr" tabindex="-1" aria-label="A file of prices, as for keyfold cost --prices" onChange=${take} /></p>`;
}

function Patterns({ cost }) {
  const sorted = cost.patterns.filter((each) => each.calls).toSorted((one, other) => other.usd - one.usd);
  const unused = cost.patterns.filter((each) => !each.calls);
  const most = Math.max(...sorted.map((each) => each.usd), 1e-12);
  return html`<section class="sec" aria-label="By pattern">
    <h2 class="lbl">By pattern <span class="end">on demand</span></h2>
    ${!sorted.length && html`<p class="dim">No pattern is called: move a slider.</p>`}
    <ol class="bars">${sorted.map(
      (each) => html`<li key=${each.name}>
        <span class="clip"><a class="ref" href=${address({ room: "patterns", rest: [each.name] })} title=${each.title}>${each.title}</a></span>
        <span class="dim small num r clip">${showShort(each.calls)} calls × ${showUnits({ read: each.read_units, write: each.write_units })}${each.peak ? ` · peak ${showShort(each.peak.second)}/s` : ""}${each.scans ? html` <span class="badge warn"><${Icon} name="warn" />scans</span>` : ""}</span>
        <b class="r num">${each.problem ? html`<span title=${each.problem}>not measured</span>` : showUsd(each.usd)}</b>
        <span class="track" aria-hidden="true"><i style=${{ width: `${(each.usd / most) * 100}%` }}></i></span>
        <span class="r num dim small">${each.problem ? "" : showShare(each.share)}</span>
      </li>`,
    )}</ol>
    ${unused.length > 0 && html`<p class="dim small">Not called: ${unused.map((each, number) => html`${number ? ", " : ""}<a class="ref" href=${address({ room: "patterns", rest: [each.name] })}>${each.title}</a>`)}.</p>`}
  </section>`;
}

function showGigabytes(gigabytes) {
  return gigabytes >= 1 ? `${showShort(gigabytes)} GB` : showBytes(Math.round(gigabytes * 1e9));
}

function showShare(share) {
  return share > 0 && share < 0.01 ? "< 1 %" : `${Math.round(share * 100)} %`;
}

function Modes({ cost, chosen }) {
  const cheapest = cost.modes[0];
  return html`<section class="sec" aria-label="Billing modes">
    <h2 class="lbl">Billing mode and table class</h2>
    <div class="tablewrap"><table class="t modes"><thead><tr><th scope="col">mode</th><th scope="col" class="r">requests or capacity</th><th scope="col" class="r">a month</th></tr></thead><tbody>
      ${cost.modes.map((each) => html`<tr key=${each.mode}><td><label class="row"><input type="radio" name="mode" checked=${each.mode === chosen.mode} onChange=${() => setQuery({ mode: each.mode })} /> ${each.mode}${each === cheapest ? html` <span class="badge ok"><${Icon} name="check" />cheapest</span>` : ""}</label></td><td class="r">${showUsd(each.capacity_usd)}</td><td class="r"><b>${showUsd(each.month_usd)}</b></td></tr>`)}
    </tbody></table></div>
    ${cost.break_even.filter((each) => each.share !== null && each.utilisation !== null).map((each) => html`<p class="dim">Capacity for ${each.kind}s is cheaper than on demand if more than ${percent(each.share)} of it is in use. Of capacity for the peak, ${percent(each.utilisation)} would be.</p>`)}
  </section>`;
}

function percent(share) {
  return `${Math.round(share * 100)} %`;
}

function Parts({ cost }) {
  return html`<section class="sec" aria-label="By table and index">
    <h2 class="lbl">By table and index <span class="end">on demand</span></h2>
    <div class="tablewrap" tabindex="0" role="group" aria-label="Costs of the table and its indexes"><table class="t"><thead><tr><th scope="col">part</th><th scope="col" class="r">items</th><th scope="col" class="r">size</th><th scope="col" class="r">storage</th><th scope="col" class="r">reads</th><th scope="col" class="r">writes</th><th scope="col" class="r">a month</th></tr></thead><tbody>
      ${cost.parts.map((each) => html`<tr key=${each.index ?? ""}><td>${each.index ?? "table"}</td><td class="r">${showShort(each.items)}</td><td class="r">${showGigabytes(each.gigabytes)}</td><td class="r">${showUsd(each.storage_usd)}</td><td class="r">${showUsd(each.read_usd)}</td><td class="r">${showUsd(each.write_usd)}</td><td class="r"><b>${showUsd(each.month_usd)}</b></td></tr>`)}
      ${cost.extras.map((each) => html`<tr key=${each.name}><td colspan="6">${each.name}</td><td class="r"><b>${showUsd(each.usd)}</b></td></tr>`)}
    </tbody></table></div>
  </section>`;
}

function Measured({ cost, source, setSource, isMeasuring }) {
  const { database } = cost;
  const isOnDatabase = cost.source === "database";
  const asks = database && database.units > ASKS_ABOVE;
  return html`<section class="sec" aria-label="Measured on">
    <h2 class="lbl">Measured on</h2>
    <p>${isOnDatabase ? "The items of this database." : cost.source === "examples" ? "The examples of the declaration, multiplied and padded to the declared sizes." : "Items that were generated from the declaration."}</p>
    ${database && database.items > 0 && html`<p class="row">
      <button type="button" class="btn" disabled=${isMeasuring} onClick=${() => setSource({ source: "database", round: Date.now() })}>${isMeasuring ? "Measuring…" : isOnDatabase ? "Measure again" : "Measure on this database"}</button>
      <span class="${asks ? "warn-ink" : "dim"}">${asks && html`<${Icon} name="warn" /> `}reads all ${database.items.toLocaleString("en-US")} items, about ${trim(database.units)} RU</span>
      ${source.source === "database" && html`<button type="button" class="btn quiet" onClick=${() => setSource({ source: "examples" })}>Back to examples</button>`}
    </p>`}
    ${database === null && html`<${Note}><p>A role sees a part of the items only, so the examples are measured.</p><//>`}
  </section>`;
}
