// Recorded traffic: what `keyfold serve --record FILE` wrote, as a map of keys by time, and replayed.
import { html, useRef, useState } from "../../html.js";
import { act, useAction } from "../../api.js";
import { Icon } from "../../parts/icon.js";
import { Empty, Failed, Loading } from "../../parts/states.js";
import { showCount, showExactTime, showTime, trim } from "../../parts/text.js";
import { HeatCell, HeatResult, SpotName } from "./heatmap.js";

const MOST_BYTES = 24_000_000;

export function TrafficView({ table }) {
  const { result: offered } = useAction("costs/traffic", {});
  const [state, setState] = useState({});
  const input = useRef(null);
  const ask = async (name, body) => {
    setState((old) => ({ ...old, name, isLoading: true, error: null }));
    try {
      const { result } = await act("costs/traffic", body);
      setState({ name, result });
    } catch (error) {
      setState((old) => ({ ...old, error, isLoading: false }));
    }
  };
  const take = async (file) => {
    if (!file) return;
    if (file.size > MOST_BYTES) setState({ error: { message: `${file.name} has ${trim(file.size / 1e6)} MB; the studio reads up to 24. Use keyfold heat --replay, or cut out the hours that matter.` } });
    else await ask(file.name, { text: await file.text(), name: file.name });
  };
  const drop = (event) => {
    event.preventDefault();
    take(event.dataTransfer.files[0]);
  };
  return html`<div class="traffic" onDragOver=${(event) => event.preventDefault()} onDrop=${drop}>
    <div class="sec row">
      <button type="button" class="btn" onClick=${() => input.current.click()}><${Icon} name="upload" /> Open a file of traffic</button>
      <input ref=${input} type="file" accept=".jsonl,.json,.txt" class="sr" tabindex="-1" aria-label="A file that keyfold serve --record wrote" onChange=${(event) => { take(event.target.files[0]); event.target.value = ""; }} />
      ${offered?.server && html`<button type="button" class="btn primary" onClick=${() => ask("what the server has recorded", { server: true, name: "the server's traffic" })}><${Icon} name="refresh" /> Read what the server has recorded</button>`}
      ${state.result && html`<span class="dim" role="status">${state.name}</span>`}
    </div>
    ${state.error && html`<div class="sec"><${Failed} error=${state.error} /></div>`}
    ${state.isLoading && html`<${Loading} label="Replaying the traffic" />`}
    ${!state.result && !state.isLoading && !state.error && html`<${Empty} title="No traffic is open">
      <p class="dim">Record some with <code>keyfold serve shop.db --record traffic.jsonl</code>, and open the file here${offered?.server ? "" : html`, or start <code>keyfold serve --studio --record</code> and read it as it grows`}. It has keys and units, no other values.</p><//>`}
    ${state.result && html`<${TrafficMap} table=${table} map=${state.result.map} limits=${state.result.limits} /><${HeatResult} table=${table} heat=${state.result} />`}
  </div>`;
}

function TrafficMap({ table, map, limits }) {
  const times = Array.from({ length: map.columns }, (_, place) => map.start + place * map.width);
  return html`<section class="sec" aria-label="Keys by time">
    <h2 class="lbl">Keys by time <span class="end">highest units in a second, for every ${showCount(map.width, "second")}; ${showTime(map.start)}</span></h2>
    <div class="tablewrap" tabindex="0" role="group" aria-label="Keys by time"><table class="t heat times"><thead><tr><th scope="col">key</th><th scope="col">of</th>${times.map((time) => html`<th scope="col" class="r" title=${showExactTime(time)}>${clock(time)}</th>`)}</tr></thead><tbody>
      ${map.keys.map((spot) => html`<tr key=${`${spot.index} ${spot.kind} ${spot.label}`}><th scope="row"><${SpotName} table=${table} spot=${spot} /></th><td class="dim">${spot.index ?? "table"}, ${spot.kind}s</td>${spot.peaks.map((units) => html`<${HeatCell} units=${units} limit=${limits[spot.kind]} withShare=${false} />`)}</tr>`)}
    </tbody></table></div>
  </section>`;
}

function clock(seconds) {
  return new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" }).format(new Date(seconds * 1000));
}
