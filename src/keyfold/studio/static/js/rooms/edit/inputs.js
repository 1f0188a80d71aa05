// Editors of values, by their shape. Numbers stay texts, sets stay sets; null means that nothing is stored.
import { html, useState } from "../../html.js";
import { Icon } from "../../parts/icon.js";
import { showBytes, showExactTime } from "../../parts/text.js";
import { unwrap } from "../../parts/values.js";
import { ANY, KINDS, convert, emptyMember, isSealed, nameKind } from "./kinds.js";

// Longer texts are opened on demand.
const LONG_TEXT = 20_000;
const AREA_TEXT = 60;

/** An editor of one value. `shape` is as the server describes it; `onChange` gets the new value, or null. */
export function ValueEditor({ shape, value, onChange, ...rest }) {
  if (isSealed(value)) return html`<${SealedValue} label=${rest.label} onChange=${() => onChange(null)} />`;
  const found = value === null ? shape.stored : unwrap(value)[0];
  if (shape.kind === "any" || (found !== shape.stored && shape.stored !== null) || (shape.stored === null && shape.kind !== "choice")) {
    return html`<${AnyEditor} shape=${shape} value=${value} onChange=${onChange} ...${rest} />`;
  }
  const Editor = EDITORS[shape.kind] ?? TextEditor;
  return html`<${Editor} shape=${shape} value=${value} onChange=${onChange} ...${rest} />`;
}

/** A secret that is stored: it is not shown, and stays unless it is replaced. */
function SealedValue({ label, onChange }) {
  return html`<p class="row"><${Icon} name="lock" /> <span class="dim">stored, and not shown</span> <button type="button" class="btn quiet" aria-label="Replace ${label}" onClick=${onChange}>Replace</button></p>`;
}

function AnyEditor({ shape, value, onChange, label, ...rest }) {
  const kind = value === null ? null : unwrap(value)[0];
  const isOff = shape.stored !== null && kind !== shape.stored && kind !== null;
  const choose = (event) => onChange(event.target.value === "" ? null : convert(value, event.target.value));
  const inner = kind === null ? null : { kind: INNER[kind], stored: kind, members: kind.length === 2 && kind !== "BS" ? { kind: INNER[kind[0]], stored: kind[0] } : ANY };
  return html`<div class="any">
    <select aria-label="Type of ${label}" value=${kind ?? ""} onChange=${choose}>
      <option value="">not set</option>
      ${KINDS.map(([each, name]) => html`<option value=${each}>${name}</option>`)}
    </select>
    ${isOff && html`<p class="warn-ink small"><${Icon} name="warn" /> stored as ${nameKind(kind)}, declared as ${nameKind(shape.stored)} <button type="button" class="ref" onClick=${() => onChange(convert(value, shape.stored))}>Change to ${nameKind(shape.stored)}</button></p>`}
    ${inner !== null && kind !== "NULL" && html`<${ValueEditor} shape=${inner} value=${value} onChange=${(next) => onChange(next ?? convert(null, kind))} label=${label} ...${rest} />`}
  </div>`;
}

const INNER = { S: "text", N: "number", BOOL: "boolean", B: "binary", L: "list", M: "map", SS: "set", NS: "set", BS: "set", NULL: "any" };

function TextEditor({ shape, value, onChange, label, placeholder, described, id, invalid, mayBeEmpty = true, onFresh, isSecret = false }) {
  const text = value?.S ?? "";
  const [isOpen, setOpen] = useState(text.length <= LONG_TEXT);
  const change = (event) => onChange(event.target.value === "" ? null : { S: event.target.value });
  const common = { id, "aria-label": id ? undefined : label, "aria-describedby": described, "aria-invalid": invalid ? "true" : undefined, placeholder, spellcheck: false };
  if (!isOpen) return html`<p class="cut"><span class="clip mono">${text.slice(0, 200)}</span> <button type="button" class="btn" onClick=${() => setOpen(true)}>Edit ${showBytes(text.length)}</button></p>`;
  if (!isSecret && (text.length > AREA_TEXT || text.includes("\n"))) {
    return html`<textarea rows=${Math.min(12, 2 + text.split("\n").length)} value=${text} onInput=${change} ...${common}></textarea>`;
  }
  return html`<span class="row">
    <span class="field grow"><input type=${isSecret ? "password" : "text"} autocomplete="off" value=${text} onInput=${change} ...${common} /></span>
    ${shape.kind === "id" && onFresh && html`<button type="button" class="btn" onClick=${onFresh}>New</button>`}
    ${value === null && mayBeEmpty && shape.kind === "text" && html`<button type="button" class="btn quiet empty-text" title="Store a text without characters" onClick=${() => onChange({ S: "" })}>Empty text</button>`}
    ${value?.S === "" && html`<span class="badge">empty text</span><${Unset} label=${label} onClick=${() => onChange(null)} />`}
  </span>`;
}

function Unset({ label, onClick }) {
  return html`<button type="button" class="iconbtn" aria-label="Unset ${label}" title="Unset" onClick=${onClick}><${Icon} name="x" /></button>`;
}

function NumberEditor({ value, onChange, label, placeholder, described, id, invalid }) {
  const change = (event) => onChange(event.target.value.trim() === "" ? null : { N: event.target.value.trim() });
  return html`<span class="field narrow"><input class="num" inputmode="decimal" value=${value?.N ?? ""} id=${id} aria-label=${id ? undefined : label} aria-describedby=${described} aria-invalid=${invalid ? "true" : undefined} placeholder=${placeholder} onInput=${change} /></span>`;
}

function SecondsEditor(props) {
  const { value, onChange, label } = props;
  const seconds = Number(value?.N);
  const isTime = value !== null && value.N !== "" && Number.isFinite(seconds) && Math.abs(seconds) < 8.64e12;
  const pick = (event) => onChange(event.target.value ? { N: String(Math.floor(Date.parse(`${event.target.value}Z`) / 1000)) } : null);
  return html`<span class="row wrapping">
    <${NumberEditor} ...${props} />
    <input type="datetime-local" class="input" step="1" aria-label="${label}, as a time in UTC" value=${isTime ? new Date(seconds * 1000).toISOString().slice(0, 19) : ""} onChange=${pick} />
    <span class="faint small" title=${isTime ? showExactTime(seconds) : undefined}>UTC</span>
  </span>`;
}

function BooleanEditor({ value, onChange, label, id, described }) {
  const text = value === null ? "" : String(value.BOOL);
  return html`<select id=${id} aria-label=${id ? undefined : label} aria-describedby=${described} value=${text} onChange=${(event) => onChange(event.target.value === "" ? null : { BOOL: event.target.value === "true" })}>
    <option value="">not set</option><option value="true">true</option><option value="false">false</option>
  </select>`;
}

function ChoiceEditor({ shape, value, onChange, label, id, described, placeholder }) {
  const texts = shape.choices.map((each) => JSON.stringify(each.value));
  const text = value === null ? "" : JSON.stringify(value);
  const isKnown = text === "" || texts.includes(text);
  return html`<select id=${id} aria-label=${id ? undefined : label} aria-describedby=${described} value=${text} onChange=${(event) => onChange(event.target.value === "" ? null : JSON.parse(event.target.value))}>
    <option value="">${placeholder || "not set"}</option>
    ${shape.choices.map((each, number) => html`<option value=${texts[number]}>${each.label}</option>`)}
    ${!isKnown && html`<option value=${text}>${String(unwrap(value)[1])} (no such choice)</option>`}
  </select>`;
}

function BinaryEditor({ value, onChange, label, id, described, invalid }) {
  const text = value?.B ?? "";
  return html`<span class="stack tight"><textarea rows="2" value=${text} id=${id} aria-label=${id ? undefined : label} aria-describedby=${described} aria-invalid=${invalid ? "true" : undefined} placeholder="base 64" spellcheck=${false} onInput=${(event) => onChange(event.target.value.trim() === "" ? null : { B: event.target.value.trim() })}></textarea>
    ${text && html`<span class="dim small">binary, ${showBytes(Math.floor((text.replaceAll("=", "").length * 3) / 4))}</span>`}</span>`;
}

function SetEditor({ shape, value, onChange, label, id, described }) {
  const [typed, setTyped] = useState("");
  const members = value?.[shape.stored] ?? [];
  const write = (next) => onChange(next.length ? { [shape.stored]: next } : null);
  const add = () => {
    const text = shape.stored === "SS" ? typed : typed.trim();
    if (text !== "" && !members.includes(text)) write([...members, text]);
    setTyped("");
  };
  const press = (event) => {
    if (event.key === "Enter") {
      event.preventDefault();
      add();
    } else if (event.key === "Backspace" && typed === "" && members.length) {
      write(members.slice(0, -1));
    }
  };
  return html`<div class="chips">
    <ul aria-label="Members of ${label}">${members.map((each) => html`<li class="chip"><span class="mono clip" translate="no">${each === "" ? "(empty)" : each}</span><button type="button" class="iconbtn" aria-label="Remove ${each}" onClick=${() => write(members.filter((other) => other !== each))}><${Icon} name="x" /></button></li>`)}</ul>
    <span class="row"><span class="field grow"><input id=${id} aria-label=${id ? undefined : `Add to ${label}`} aria-describedby=${described} value=${typed} placeholder=${members.length ? `add a ${nameKind(shape.stored[0])}, Enter` : `no members: add a ${nameKind(shape.stored[0])}, Enter`} onInput=${(event) => setTyped(event.target.value)} onKeyDown=${press} onBlur=${add} /></span></span>
  </div>`;
}

/** Members that are forms themselves go under their names. */
function isTall(shape) {
  return ["model", "list", "map", "set"].includes(shape.members?.kind) ? " stacked" : "";
}

function ListEditor({ shape, value, onChange, label }) {
  const members = value?.L ?? [];
  const write = (next) => onChange({ L: next });
  const move = (from, to) => {
    const next = [...members];
    next.splice(to, 0, ...next.splice(from, 1));
    write(next);
  };
  return html`<div class="nested" role="group" aria-label=${label}>
    ${value === null && html`<p class="none">not set</p>`}
    ${members.map((each, number) => html`<div class="member${isTall(shape)}" key=${number}>
      <span class="faint num">${number}</span>
      <div class="grow"><${ValueEditor} shape=${shape.members ?? ANY} value=${each} label="${label} ${number}" onChange=${(next) => write(members.map((old, at) => (at === number ? (next ?? emptyMember(shape.members ?? ANY)) : old)))} /></div>
      ${number > 0 && html`<button type="button" class="iconbtn" aria-label="Move ${label} ${number} up" title="Move up" onClick=${() => move(number, number - 1)}><${Icon} name="down" className="flip" /></button>`}
      <button type="button" class="iconbtn" aria-label="Remove ${label} ${number}" title="Remove" onClick=${() => write(members.filter((_, at) => at !== number))}><${Icon} name="trash" /></button>
    </div>`)}
    <p class="row"><button type="button" class="btn quiet" onClick=${() => write([...members, emptyMember(shape.members ?? ANY)])}><${Icon} name="plus" /> Add a member</button>
      ${value !== null && html`<button type="button" class="btn quiet" onClick=${() => onChange(null)}>Unset</button>`}</p>
  </div>`;
}

function MapEditor({ shape, value, onChange, label }) {
  const [name, setName] = useState("");
  const members = value?.M ?? {};
  const write = (next) => onChange({ M: next });
  const add = () => {
    if (name !== "" && !(name in members)) write({ ...members, [name]: emptyMember(shape.members ?? ANY) });
    setName("");
  };
  return html`<div class="nested" role="group" aria-label=${label}>
    ${value === null && html`<p class="none">not set</p>`}
    ${Object.entries(members).map(([each, held]) => html`<div class="member${isTall(shape)}" key=${each}>
      <span class="mono clip member-name" title=${each} translate="no">${each}</span>
      <div class="grow"><${ValueEditor} shape=${shape.members ?? ANY} value=${held} label="${label} ${each}" onChange=${(next) => write({ ...members, [each]: next ?? emptyMember(shape.members ?? ANY) })} /></div>
      <button type="button" class="iconbtn" aria-label="Remove ${label} ${each}" title="Remove" onClick=${() => write(Object.fromEntries(Object.entries(members).filter(([other]) => other !== each)))}><${Icon} name="trash" /></button>
    </div>`)}
    <p class="row"><span class="field"><input aria-label="Name of a new member of ${label}" placeholder="name" value=${name} onInput=${(event) => setName(event.target.value)} onKeyDown=${(event) => event.key === "Enter" && (event.preventDefault(), add())} /></span>
      <button type="button" class="btn quiet" onClick=${add}><${Icon} name="plus" /> Add</button>
      ${value !== null && html`<button type="button" class="btn quiet" onClick=${() => onChange(null)}>Unset</button>`}</p>
  </div>`;
}

function ModelEditor({ shape, value, onChange, label }) {
  const members = value?.M ?? {};
  const known = new Set(shape.fields.map((each) => each.attribute));
  const write = (attribute, next) => {
    const { [attribute]: _, ...others } = members;
    onChange({ M: next === null ? others : { ...others, [attribute]: next } });
  };
  if (value === null) return html`<p class="row"><i class="none">not set</i> <button type="button" class="btn quiet" onClick=${() => onChange({ M: {} })}><${Icon} name="plus" /> Add a ${shape.name}</button></p>`;
  return html`<div class="nested" role="group" aria-label="${label}, a ${shape.name}">
    ${shape.fields.map((field) => html`<div class="member" key=${field.name}>
      <span class="mono clip member-name" title="${field.name}: ${field.type}">${field.name}${field.required ? html` <b class="faint" title="required">*</b>` : ""}</span>
      <div class="grow"><${ValueEditor} shape=${field.shape} value=${members[field.attribute] ?? null} label="${label} ${field.name}" onChange=${(next) => write(field.attribute, next)} /></div>
    </div>`)}
    ${Object.keys(members).filter((each) => !known.has(each)).map((each) => html`<div class="member" key=${each}>
      <span class="mono clip member-name" translate="no">${each}</span>
      <div class="grow"><${ValueEditor} shape=${ANY} value=${members[each]} label="${label} ${each}" onChange=${(next) => write(each, next)} /></div>
    </div>`)}
  </div>`;
}

const EDITORS = {
  text: TextEditor,
  time: TextEditor,
  date: TextEditor,
  uuid: TextEditor,
  id: TextEditor,
  number: NumberEditor,
  integer: NumberEditor,
  seconds: SecondsEditor,
  boolean: BooleanEditor,
  choice: ChoiceEditor,
  binary: BinaryEditor,
  set: SetEditor,
  list: ListEditor,
  map: MapEditor,
  model: ModelEditor,
};
