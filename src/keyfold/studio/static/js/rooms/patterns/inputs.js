// Inputs by type: text, exact numbers, times with a zone, choices, ids, sub-forms, lists, sets and maps.
import { html } from "../../html.js";
import { Icon } from "../../parts/icon.js";
import { makeId } from "./arguments.js";

const HINTS = {
  time: "such as 2026-01-31T12:00Z; UTC unless it has a zone",
  date: "such as 2026-01-31",
  duration: "such as 12h, 1d12h or PT12H",
  json: "JSON",
};
const MODES = { number: "decimal", integer: "numeric" };

/** An argument, or a member of one: its name and type, the input, and what is wrong with it. */
export function Argument({ spec, value, onChange, faults, path = spec.name }) {
  const id = `p-${path}`;
  const own = faults.filter((each) => each.field === path);
  const type = [spec.type, spec.required ? "required" : spec.default !== null && spec.default !== undefined ? `default ${showDefault(spec.default)}` : "optional"].filter(Boolean).join(", ");
  const isGroup = ["model", "list", "set", "map"].includes(spec.kind);
  const name = html`<b translate="no">${spec.name}</b> <em translate="no">${type}</em>`;
  const described = own.length ? `${id}-fault` : undefined;
  const input = html`<${Input} id=${id} spec=${spec} value=${value} onChange=${onChange} faults=${faults} path=${path} described=${described} invalid=${own.length > 0} />`;
  return html`<div class="parg${isGroup ? " nested" : ""}">
    ${isGroup ? html`<fieldset><legend>${name}</legend>${input}</fieldset>` : html`<label for=${id}><span>${name}</span></label>${input}`}
    ${own.map((each) => html`<p class="err-ink small" id="${id}-fault"><${Icon} name="warn" /> ${each.message}</p>`)}
  </div>`;
}

function showDefault(value) {
  if (value === "") return "empty";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function Input({ id, spec, value, onChange, faults, path, described, invalid }) {
  const common = { id, "aria-describedby": described, "aria-invalid": invalid ? "true" : undefined, "aria-required": spec.required ? "true" : undefined };
  switch (spec.kind) {
    case "choice":
      return html`<select ...${common} value=${value ?? ""} onChange=${(event) => onChange(event.target.value || undefined)}>
        <option value="">${placeholderOf(spec) || "not given"}</option>
        ${spec.choices.map((each) => html`<option value=${each.json}>${each.label}</option>`)}
      </select>`;
    case "boolean":
      return html`<select ...${common} value=${value ?? ""} onChange=${(event) => onChange(event.target.value || undefined)}>
        <option value="">${placeholderOf(spec) || "not given"}</option><option value="true">true</option><option value="false">false</option>
      </select>`;
    case "json":
      return html`<textarea ...${common} rows="3" spellcheck="false" placeholder=${placeholderOf(spec)} value=${value ?? ""} onInput=${(event) => onChange(event.target.value || undefined)}></textarea>`;
    case "model":
      return html`<${ModelInput} spec=${spec} value=${value ?? {}} onChange=${onChange} faults=${faults} path=${path} />`;
    case "list":
    case "set":
      return html`<${ListInput} id=${id} spec=${spec} value=${value ?? []} onChange=${onChange} faults=${faults} path=${path} />`;
    case "map":
      return html`<${MapInput} id=${id} spec=${spec} value=${value ?? []} onChange=${onChange} faults=${faults} path=${path} />`;
    default:
      return html`<${LineInput} common=${common} spec=${spec} value=${value} onChange=${onChange} />`;
  }
}

function placeholderOf(spec) {
  if (spec.default !== null && spec.default !== undefined) return showDefault(spec.default);
  if (spec.sample !== null && spec.sample !== undefined && typeof spec.sample !== "object") return `such as ${spec.sample}`;
  return HINTS[spec.kind] ?? "";
}

function LineInput({ common, spec, value, onChange }) {
  const hint = placeholderOf(spec);
  return html`<span class="field">
    <input ...${common} type=${spec.kind === "secret" ? "password" : "text"} inputmode=${MODES[spec.kind]} autocomplete="off" spellcheck="false" placeholder=${hint} title=${HINTS[spec.kind]} value=${value ?? ""} onInput=${(event) => onChange(event.target.value || undefined)} />
    ${(spec.kind === "id" || spec.kind === "uuid") && html`<button type="button" class="inner" title="Make a new id" aria-label="New ${spec.name ?? "id"}" onClick=${() => onChange(makeId(spec))}>New</button>`}
    ${spec.kind === "time" && html`<button type="button" class="inner" title="The time now, in UTC" aria-label="Now as ${spec.name ?? "time"}" onClick=${() => onChange(`${new Date().toISOString().slice(0, 19)}Z`)}>Now</button>`}
  </span>`;
}

function ModelInput({ spec, value, onChange, faults, path }) {
  const change = (name, each) => onChange({ ...value, [name]: each });
  const declared = new Set(spec.fields.map((each) => each.name));
  const others = Object.fromEntries(Object.entries(value).filter(([name, each]) => !declared.has(name) && each !== undefined));
  return html`<div class="subform">
    ${spec.fields.map((field) => html`<${Argument} key=${field.name} spec=${field} value=${value[field.name]} onChange=${(each) => change(field.name, each)} faults=${faults} path="${path}.${field.name}" />`)}
    ${spec.open && html`<${OtherAttributes} value=${others} onChange=${(next) => onChange({ ...Object.fromEntries(Object.entries(value).filter(([name]) => declared.has(name))), ...next })} path=${path} />`}
  </div>`;
}

function OtherAttributes({ value, onChange, path }) {
  const rows = Object.entries(value);
  const replace = (place, pair) => onChange(Object.fromEntries(rows.map((each, other) => (other === place ? pair : each))));
  return html`<fieldset class="parg nested"><legend><b>other attributes</b> <em>not declared, as texts</em></legend>
    ${rows.map(
      ([name, each], place) => html`<div class="pentry" key=${place}>
        <span class="field"><input aria-label="Name of attribute ${place + 1}" id="p-${path}-other-${place}" value=${name} onChange=${(event) => replace(place, [event.target.value, each])} /></span>
        <span class="field"><input aria-label="Value of ${name}" value=${typeof each === "string" ? each : JSON.stringify(each)} onInput=${(event) => replace(place, [name, event.target.value])} /></span>
        <button type="button" class="iconbtn" aria-label="Remove ${name}" onClick=${() => onChange(Object.fromEntries(rows.filter((_, other) => other !== place)))}><${Icon} name="x" /></button>
      </div>`,
    )}
    <button type="button" class="btn quiet" onClick=${() => onChange({ ...value, [`attribute${rows.length + 1}`]: "" })}><${Icon} name="plus" /> Add an attribute</button>
  </fieldset>`;
}

function ListInput({ id, spec, value, onChange, faults, path }) {
  const noun = spec.kind === "set" ? "member" : "entry";
  return html`<div class="pentries" id=${id}>
    ${value.map(
      (each, place) => html`<div class="pentry" key=${place}>
        <div class="grow"><${Member} spec=${spec.members} label="${spec.name ?? "entry"} ${place + 1}" value=${each} onChange=${(next) => onChange(value.map((old, other) => (other === place ? next : old)))} faults=${faults} path="${path}.${place}" /></div>
        <button type="button" class="iconbtn" aria-label="Remove ${noun} ${place + 1}" onClick=${() => onChange(value.filter((_, other) => other !== place))}><${Icon} name="x" /></button>
      </div>`,
    )}
    <button type="button" class="btn quiet" onClick=${() => onChange([...value, undefined])}><${Icon} name="plus" /> Add ${noun === "entry" ? "an entry" : "a member"}</button>
  </div>`;
}

function MapInput({ id, spec, value, onChange, faults, path }) {
  const replace = (place, pair) => onChange(value.map((old, other) => (other === place ? pair : old)));
  return html`<div class="pentries" id=${id}>
    ${value.map(
      ([name, each], place) => html`<div class="pentry" key=${place}>
        <span class="field key"><input aria-label="Key ${place + 1} of ${spec.name ?? "map"}" spellcheck="false" placeholder="key" value=${name} onInput=${(event) => replace(place, [event.target.value, each])} /></span>
        <div class="grow"><${Member} spec=${spec.members} label="Value of ${name || `entry ${place + 1}`}" value=${each} onChange=${(next) => replace(place, [name, next])} faults=${faults} path="${path}.${name}" /></div>
        <button type="button" class="iconbtn" aria-label="Remove ${name || `entry ${place + 1}`}" onClick=${() => onChange(value.filter((_, other) => other !== place))}><${Icon} name="x" /></button>
      </div>`,
    )}
    <button type="button" class="btn quiet" onClick=${() => onChange([...value, ["", undefined]])}><${Icon} name="plus" /> Add an entry</button>
  </div>`;
}

/** A member of a list or a map: its label is for screen readers only. */
function Member({ spec, label, value, onChange, faults, path }) {
  const id = `p-${path}`;
  const own = faults.filter((each) => each.field === path);
  const isGroup = ["model", "list", "set", "map"].includes(spec.kind);
  const input = html`<${Input} id=${id} spec=${{ ...spec, name: label }} value=${value} onChange=${onChange} faults=${faults} path=${path} described=${own.length ? `${id}-fault` : undefined} invalid=${own.length > 0} />`;
  return html`${isGroup ? html`<fieldset class="bare"><legend class="sr">${label}</legend>${input}</fieldset>` : html`<label class="sr" for=${id}>${label}</label>${input}`}
    ${own.map((each) => html`<p class="err-ink small" id="${id}-fault"><${Icon} name="warn" /> ${each.message}</p>`)}`;
}
