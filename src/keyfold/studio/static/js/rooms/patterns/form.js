// The form of a pattern: an input for each argument, by its type. Numbers stay texts, with all their digits.
import { html } from "../../html.js";

const SCALARS = new Set(["text", "secret", "number", "integer", "time", "date", "duration", "choice", "boolean", "id", "uuid"]);
const HINTS = {
  number: "a number, exactly",
  integer: "a whole number",
  time: "2026-06-01T12:00:00Z",
  date: "2026-06-01",
  duration: "P1D, or seconds",
  uuid: "a UUID",
};

/** Return the values of a form from the address: texts, and JSON for what is more than a text. */
export function readArguments(inputs, query) {
  const values = {};
  for (const input of inputs) {
    const text = query[input.name];
    if (text === undefined) continue;
    values[input.name] = SCALARS.has(input.kind) ? text : text;
  }
  return values;
}

/** Return the parameters of the address for these values. */
export function writeQuery(inputs, values) {
  return Object.fromEntries(inputs.map((each) => [each.name, values[each.name]]).filter(([, value]) => (value ?? "") !== ""));
}

/** Return the arguments as JSON text; what is not filled in is left out. */
export function makeArguments(inputs, values) {
  const parts = [];
  for (const input of inputs) {
    const value = values[input.name];
    if ((value ?? "") === "") continue;
    parts.push(`${JSON.stringify(input.name)}: ${writeValue(input, value)}`);
  }
  if (inputs.length === 1 && inputs[0].name === "arguments" && inputs[0].kind === "json") return values.arguments || "{}";
  return `{${parts.join(", ")}}`;
}

function writeValue(input, value) {
  if (input.kind === "boolean") return value === "true" ? "true" : "false";
  if (input.kind === "choice") {
    const choice = input.choices.find((each) => String(each.value) === value);
    return JSON.stringify(choice ? choice.value : value);
  }
  // Others are JSON already; the server says what is wrong with it.
  return SCALARS.has(input.kind) ? JSON.stringify(value) : value;
}

export function PatternForm({ form, inputs, values, onChange, errors, onSubmit, onRun, onExplain, running, isBlocked, hasExplained }) {
  const set = (name, value) => onChange({ ...values, [name]: value });
  const fill = () => {
    const sample = Object.entries(form.sample ?? {}).map(([name, value]) => [name, typeof value === "object" && value !== null ? JSON.stringify(value, null, 2) : String(value ?? "")]);
    onChange(Object.fromEntries(sample));
  };
  const submit = (event) => {
    event.preventDefault();
    onSubmit();
  };
  return html`<form class="pform" onSubmit=${submit}>
    ${inputs.map((each) => html`<${Field} key=${each.name} input=${each} value=${values[each.name] ?? ""} onChange=${(value) => set(each.name, value)} error=${errors.find((fault) => fault.field === each.name || fault.field.startsWith(`${each.name}.`))} />`)}
    <p class="row acts">
      ${form.writes
        ? isBlocked
          ? html`<span class="badge">read-only: it writes</span>`
          : html`<button type="button" class="btn${hasExplained ? " primary" : ""}" disabled=${running || form.problem !== null} onClick=${onRun}>Write</button>`
        : html`<button class="btn primary" disabled=${running || form.problem !== null}>Run <kbd>Ctrl ⏎</kbd></button>`}
      <button type="button" class="btn${form.writes && !hasExplained ? " primary" : ""}" onClick=${onExplain} disabled=${running}>${form.writes ? "Show what it writes" : "Explain"}</button>
      ${Object.keys(form.sample ?? {}).length > 0 && html`<button type="button" class="btn quiet" onClick=${fill}>Fill in an example</button>`}
      ${running && html`<span class="dim" role="status">Running… <kbd>Esc</kbd> cancels</span>`}
    </p>
  </form>`;
}

function Field({ input, value, onChange, error }) {
  const id = `argument-${input.name}`;
  const state = input.required ? "required" : input.default === null || input.default === undefined ? "optional" : `default ${shorten(input.default)}`;
  const described = error ? `${id}-error` : undefined;
  const common = { id, "aria-invalid": error ? "true" : undefined, "aria-describedby": described, onInput: (event) => onChange(event.target.value) };
  return html`<div class="pfield${SCALARS.has(input.kind) ? "" : " wide"}">
    <label for=${id}><span><b>${input.name}</b> <span class="faint">${input.type}, ${state}</span></span></label>
    <${Input} input=${input} value=${value} common=${common} />
    ${error && html`<p class="err-ink small" id="${id}-error">${error.message}</p>`}
  </div>`;
}

function Input({ input, value, common }) {
  const hint = input.sample === null || input.sample === undefined ? (HINTS[input.kind] ?? "") : `such as ${shorten(input.sample)}`;
  if (input.kind === "choice" || input.kind === "boolean") {
    const choices = input.kind === "boolean" ? [{ label: "true", value: "true" }, { label: "false", value: "false" }] : input.choices;
    return html`<select ...${common} value=${value}><option value="">${input.required ? "choose" : "not given"}</option>${choices.map((each) => html`<option value=${String(each.value)}>${each.label}</option>`)}</select>`;
  }
  if (SCALARS.has(input.kind)) {
    const numeric = input.kind === "integer" || input.kind === "number";
    return html`<span class="field"><input ...${common} value=${value} placeholder=${hint} type=${input.kind === "secret" ? "password" : "text"} inputmode=${numeric ? "decimal" : undefined} autocomplete="off" spellcheck="false" /></span>`;
  }
  const skeleton = input.sample ?? (input.fields ? Object.fromEntries(input.fields.map((each) => [each.name, each.default ?? null])) : input.kind === "map" ? {} : []);
  return html`<textarea ...${common} rows=${value ? Math.min(14, value.split("\n").length + 1) : 3} value=${value} placeholder=${JSON.stringify(skeleton, null, 2)} spellcheck="false"></textarea>
    ${input.fields && html`<p class="faint small">${input.model ?? "An object"}: ${input.fields.map((each) => `${each.name} (${each.type}${each.required ? "" : ", optional"})`).join(", ")}</p>`}`;
}

function shorten(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 40 ? `${text.slice(0, 39)}…` : text;
}
