// The form of a pattern: its inputs, and what can be done with them.
import { html } from "../../html.js";
import { Icon } from "../../parts/icon.js";
import { Note } from "../../parts/states.js";
import { Argument } from "./inputs.js";

/** `reviewed` says that what would be written is shown for just these values. */
export function PatternForm({ form, values, faults, onChange, onRun, onExplain, onWrite, onSample, sampled, isRunning, onCancel, reviewed, isReadOnly }) {
  const submit = (event) => {
    event.preventDefault();
    onRun();
  };
  const general = faults.filter((each) => !each.field);
  const isPlain = form.inputs?.every((each) => !["model", "list", "set", "map", "json"].includes(each.kind));
  const layout = isPlain && form.inputs.length === 1 ? " short" : isPlain && form.inputs.length <= 3 ? " across" : "";
  return html`<form class="pform${layout}" onSubmit=${submit} noValidate aria-label="Arguments of ${form.name}">
    <div class="args">
      ${form.inputs === null
        ? html`<${WholeJson} form=${form} value=${values.json} onChange=${(text) => onChange("json", text)} faults=${faults} />`
        : form.inputs.map((spec) => html`<${Argument} key=${spec.name} spec=${spec} value=${values[spec.name]} onChange=${(value) => onChange(spec.name, value)} faults=${faults} />`)}
      ${general.map((each) => html`<p class="err-ink small">${each.message}</p>`)}
    </div>
    <div class="row buttons">
      ${form.writes
        ? html`<button class="btn ${reviewed ? "" : "primary"}" aria-keyshortcuts="Control+Enter" title="Show what it would write"><span>Review</span>${!reviewed && html`<kbd aria-hidden="true">Ctrl ⏎</kbd>`}</button>
            ${reviewed && !isReadOnly && html`<button type="button" class="btn primary" onClick=${onWrite} disabled=${isRunning}>Write</button>`}`
        : html`<button class="btn primary" aria-keyshortcuts="Control+Enter" disabled=${isRunning}><span>Run</span><kbd aria-hidden="true">Ctrl ⏎</kbd></button>
            <button type="button" class="btn" onClick=${onExplain} aria-keyshortcuts="Control+Shift+Enter" title="Show the requests without running them (Shift Ctrl ⏎)">Explain</button>`}
      ${isRunning && html`<button type="button" class="btn quiet" onClick=${onCancel}>Cancel <kbd aria-hidden="true">Esc</kbd></button>`}
      ${(form.inputs === null || form.inputs.length > 0) && html`<button type="button" class="btn quiet" onClick=${onSample} title="Fill in values of some stored items; reads up to 100 of them">Sample</button>`}
      ${sampled && html`<span class="faint small" role="status">from ${sampled}</span>`}
    </div>
    ${form.writes && isReadOnly && html`<${Note}>The studio was opened with --read-only: it can be reviewed, not written.<//>`}
  </form>`;
}

function WholeJson({ form, value, onChange, faults }) {
  return html`<div class="parg">
    <label for="p-json"><span><b>arguments</b> <em>JSON object</em></span></label>
    <textarea id="p-json" rows="6" spellcheck="false" value=${value ?? ""} placeholder=${JSON.stringify(form.sample)} aria-describedby="p-json-why" onInput=${(event) => onChange(event.target.value || undefined)}></textarea>
    <p class="dim small" id="p-json-why"><${Icon} name="info" /> It has no form: ${form.problem}</p>
    ${faults.filter((each) => each.field).map((each) => html`<p class="err-ink small">${each.field}: ${each.message}</p>`)}
  </div>`;
}
