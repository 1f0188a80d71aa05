// Cost and heat: the workload as sliders, what it costs in a month, and which keys it makes hot.
import { html, useEffect, useRef, useState } from "../html.js";
import { useAction, useSettled } from "../api.js";
import { setQuery } from "../router.js";
import { useKept } from "../session.js";
import { CostView } from "./costs/forecast.js";
import { HeatView } from "./costs/heat.js";
import { TrafficView } from "./costs/traffic.js";
import { UsePane } from "./costs/sliders.js";
import { clearQuery, readUse, writeUse } from "./costs/use.js";

const PAUSE = 200;
const VIEWS = [
  ["", "Cost"],
  ["heat", "Heat"],
  ["traffic", "Recorded traffic"],
];

/** Return what the sliders say and a function that changes it; the address follows after a moment. */
function useSliders(query) {
  const [use, setUse] = useState(() => readUse(query));
  const inAddress = JSON.stringify(readUse(query));
  const settled = useSettled(JSON.stringify(use), PAUSE);
  const written = useRef(inAddress);
  useEffect(() => {
    if (settled === written.current) return;
    written.current = settled;
    setQuery({ ...clearQuery(query), ...writeUse(JSON.parse(settled)) });
  }, [settled]);
  useEffect(() => {
    if (inAddress === written.current) return;
    written.current = inAddress;
    setUse(JSON.parse(inAddress));
  }, [inAddress]);
  return [use, setUse, JSON.parse(settled)];
}

export function CostsRoom({ table, here }) {
  const [use, setUse, settled] = useSliders(here.query);
  const [source, setSource] = useState({ source: "examples" });
  const [prices, setPrices] = useKept("prices", null);
  const view = VIEWS.some(([name]) => name === here.query.view) ? here.query.view : "";
  const body = { ...settled, ...source, prices: prices?.text };
  const forecast = useAction("costs/forecast", body);
  const known = forecast.result;
  return html`<div class="bar">
      <h1>Cost and heat</h1>
      <div class="seg" role="group" aria-label="View">
        ${VIEWS.map(([name, title]) => html`<button type="button" aria-pressed=${view === (name || "")} onClick=${() => setQuery({ view: name }, { replace: false })}>${title}</button>`)}
      </div>
      ${known && html`<span class="end dim small hide-s">${known.prices.region}, prices of ${known.prices.date}</span>`}
    </div>
    <p class="hint">${hintOf(view, known)}</p>
    <div class="split costs">
      ${view !== "traffic" && html`<${UsePane} table=${table} known=${known} use=${use} setUse=${setUse} isLoading=${forecast.isLoading} />`}
      <div class="pane">
        ${view === "heat"
          ? html`<${HeatView} table=${table} here=${here} body=${body} known=${known} />`
          : view === "traffic"
            ? html`<${TrafficView} table=${table} here=${here} />`
            : html`<${CostView} table=${table} here=${here} answer=${forecast} source=${source} setSource=${setSource} prices=${prices} setPrices=${setPrices} />`}
      </div>
    </div>`;
}

function hintOf(view, known) {
  if (view === "traffic") return "What a server has recorded: which keys its requests used, by time.";
  const from = known?.workload ? `The sliders begin with ${known.workload}.` : "The declaration gives the rates that the sliders begin with.";
  return view === "heat" ? `${from} Their calls are simulated over partitions as DynamoDB splits them.` : `${from} Every pattern was run on sample items, and its units were counted.`;
}
