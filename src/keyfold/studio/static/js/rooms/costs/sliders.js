// The workload: a slider on a log scale for every pattern and entity, each with a value that can be typed.
import { html, useEffect, useState } from "../../html.js";
import { EntityName, findEntity } from "../../parts/entity.js";
import { Icon } from "../../parts/icon.js";
import { Loading } from "../../parts/states.js";
import { showCount } from "../../parts/text.js";
import { parseCount, parseRate, showRate, showShort } from "./use.js";

// Powers of ten: calls in a month, and items. The left end stands for none.
const CALLS = { low: 2.9, high: 11, ticks: ["none", "1 M", "100 G"] };
const ITEMS = { low: -0.1, high: 10, ticks: ["none", "100 k", "10 G"] };
const STEP = 0.05;
const SETTINGS = [
  ["point_in_time_recovery", "Point-in-time recovery", "switch"],
  ["kinesis", "Changes go to Kinesis", "switch"],
  ["backups", "Full backups kept", "count"],
  ["exports", "Exports to S3 a month", "count"],
  ["restores", "Restores a month", "count"],
  ["replicas", "Replicas in other regions", "count"],
  ["stream_consumers", "Programs that read the stream", "count"],
];

export function UsePane({ table, known, use, setUse, isLoading }) {
  if (!known) return html`<section class="uses" aria-label="Workload"><${Loading} isSlow=${isLoading} label="Running every pattern on sample items" /></section>`;
  const change = (kind, name, value) => {
    const { [name]: _, ...others } = use[kind];
    setUse({ ...use, [kind]: value === undefined ? others : { ...others, [name]: value } });
  };
  // What is declared decides, so that nothing moves while a slider does.
  const called = known.patterns.filter((each) => each.declared);
  const others = known.patterns.filter((each) => !each.declared);
  const rate = (each) => html`<li key=${each.name}><${RateSlider} pattern=${each} text=${use.rates[each.name]} onChange=${(text) => change("rates", each.name, text)} /></li>`;
  const isChanged = Object.values(use).some((each) => Object.keys(each).length > 0);
  return html`<section class="uses" aria-label="Workload">
    <div class="sec">
      <h2 class="lbl">Calls <span class="end">${isChanged ? html`<button type="button" class="ref" onClick=${() => setUse({ rates: {}, items: {}, settings: {} })}><${Icon} name="undo" /> As declared</button>` : "as declared"}</span></h2>
      ${!known.patterns.length && html`<p class="dim">${table.name} declares no patterns, so only storage is known.</p>`}
      <ul class="sliders">${called.map(rate)}</ul>
      ${others.length > 0 && html`<details open=${!called.length}><summary>${showCount(others.length, "pattern")} without a rate</summary><ul class="sliders">${others.map(rate)}</ul></details>`}
    </div>
    <div class="sec">
      <h2 class="lbl">Items</h2>
      <ul class="sliders">${known.entities.map((each) => html`<li key=${each.name}><${ItemsSlider} table=${table} entity=${each} text=${use.items[each.name]} onChange=${(text) => change("items", each.name, text)} /></li>`)}</ul>
    </div>
    <div class="sec">
      <h2 class="lbl">What the table has besides</h2>
      <div class="besides">${SETTINGS.map(([name, title, kind]) => (kind === "switch" ? html`<${Switch} key=${name} title=${title} value=${use.settings[name] ?? known.settings[name]} onChange=${(value) => change("settings", name, value)} />` : html`<${Count} key=${name} title=${title} value=${use.settings[name] ?? String(known.settings[name])} onChange=${(value) => change("settings", name, value)} />`))}</div>
    </div>
  </section>`;
}

function RateSlider({ pattern, text, onChange }) {
  const declared = pattern.declared?.text ?? "0/month";
  const shown = text ?? declared;
  const month = parseRate(shown) ?? 0;
  return html`<${LogSlider} scale=${CALLS} label=${pattern.title} text=${shown} value=${month} isChanged=${text !== undefined}
    title=${pattern.title} write=${(value) => showRate(value, shown)} read=${parseRate} example="40/s or 2M/month" onChange=${(next) => onChange(next === declared ? undefined : next)} />`;
}

function ItemsSlider({ table, entity, text, onChange }) {
  const declared = showShort(entity.declared ?? entity.items);
  const shown = text ?? declared;
  const heading = html`<${EntityName} entity=${findEntity(table, entity.name)} name=${entity.name} />`;
  return html`<${LogSlider} scale=${ITEMS} label="Items of ${entity.name}" text=${shown} value=${parseCount(shown) ?? 0} isChanged=${text !== undefined}
    title=${heading} write=${showShort} read=${parseCount} example="1200, 200k or 1.5M" onChange=${(next) => onChange(next === declared ? undefined : next)} />`;
}

function LogSlider({ scale, label, title, text, value, isChanged, write, read, example, onChange }) {
  const place = value > 0 ? Math.min(scale.high, Math.max(scale.low + STEP, Math.log10(value))) : scale.low;
  const slide = (event) => {
    const position = Number(event.target.value);
    const power = 10 ** position;
    const digits = 10 ** (Math.floor(position) - 1);
    onChange(write(position <= scale.low + STEP / 2 ? 0 : Math.round(power / digits) * digits));
  };
  return html`<div class="slider${isChanged ? " changed" : ""}">
    <span class="clip" title=${typeof title === "string" ? title : undefined}>${title}</span>
    <${Typed} label=${label} text=${text} read=${read} example=${example} onChange=${onChange} />
    <input type="range" min=${scale.low} max=${scale.high} step=${STEP} value=${place} aria-label=${label} aria-valuetext=${text} onInput=${slide} />
  </div>`;
}

/** A field for what a slider says; a text that is no number is kept, with what to write instead. */
function Typed({ label, text, read, example, onChange }) {
  const [typed, setTyped] = useState(text);
  useEffect(() => setTyped(text), [text]);
  const isValid = read(typed) !== null;
  const type = (event) => {
    setTyped(event.target.value);
    if (read(event.target.value) !== null) onChange(event.target.value.trim());
  };
  return html`<span class="typed"><input class="input num" value=${typed} aria-label="${label}, typed" aria-invalid=${!isValid} onInput=${type} onBlur=${() => !isValid && setTyped(text)} />
    ${!isValid && html`<span class="err-ink small" role="alert">Write ${example}.</span>`}</span>`;
}

function Switch({ title, value, onChange }) {
  return html`<label class="row"><input type="checkbox" checked=${value} onChange=${(event) => onChange(event.target.checked)} /> ${title}</label>`;
}

function Count({ title, value, onChange }) {
  return html`<label class="row"><${Typed} label=${title} text=${value} read=${parseCount} example="0, 1 or 2" onChange=${onChange} /> ${title}</label>`;
}
