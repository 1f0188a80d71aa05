// The typed editor: every field of the entity by its type, and the attributes that it does not declare.
import { html, useState } from "../../html.js";
import { Icon } from "../../parts/icon.js";
import { showInline } from "../../parts/values.js";
import { ValueEditor } from "./inputs.js";
import { ANY, emptyOf, isSame } from "./kinds.js";

const MANAGED = {
  version: "The store counts it up with every save.",
  updated: "The store sets it with every save.",
  created: "The store sets it with the first save.",
};

export function TypedForm({ opened, draft, errors, onChange, isLocked }) {
  const setField = (name, value) => onChange({ ...draft, fields: { ...draft.fields, [name]: value } });
  const setOthers = (others) => onChange({ ...draft, others });
  const inKey = opened.form.filter((each) => each.key);
  const rest = opened.form.filter((each) => !each.key);
  const row = (field) => html`<${FieldRow} key=${field.name} field=${field} value=${draft.fields[field.name] ?? null} errors=${find(errors, field.name)} isNew=${opened.item === null} isLocked=${isLocked} onChange=${(value) => setField(field.name, value)} />`;
  return html`
    <section class="sec"><h3>Key <span class="end">${opened.item === null ? "" : "a change moves the item"}</span></h3>${inKey.map(row)}</section>
    <section class="sec"><h3>Fields</h3>${rest.length ? rest.map(row) : html`<p class="dim">All fields of ${opened.entity} are in its key.</p>`}
      ${opened.hidden.map((name) => html`<div class="frow"><span class="fname mono">${name}</span><span class="none"><${Icon} name="lock" /> hidden from this role; a save leaves it alone</span></div>`)}</section>
    <${Others} others=${draft.others} errors=${errors} read=${opened.others} entity=${opened.entity} isLocked=${isLocked} onChange=${setOthers} />`;
}

function find(errors, name) {
  return errors.filter((each) => each.field === name || each.field.startsWith(`${name}.`));
}

function FieldRow({ field, value, errors, isNew, isLocked, onChange }) {
  const id = `field-${field.name}`;
  const isManaged = field.managed === "version" || field.managed === "updated" || (field.managed === "created" && isNew);
  const isDraft = !isNew && !isSame(value, field.value);
  const hint = `${id}-hint`;
  const isSimple = !["set", "list", "map", "model", "any"].includes(field.shape.kind);
  const placeholder = field.default !== null ? `${showInline(field.default)} (default)` : field.required ? "required" : "not set";
  return html`<div class="frow${isDraft ? " draft" : ""}${errors.length ? " bad" : ""}">
    <div class="fname">
      <label for=${isSimple && !isManaged ? id : undefined}><b class="mono">${field.name}</b></label>
      <span class="small faint">${field.type}${field.required ? ", required" : ""}</span>
      <span class="marks">${field.unique && html`<span class="badge" title="No other ${"item"} may have this value">unique</span>`}${field.expires && html`<span class="badge">expiry</span>`}${isDraft && html`<span class="badge warn">draft</span>`}</span>
    </div>
    <div class="fvalue">
      ${isManaged || isLocked
        ? html`<p class="row"><span class="mono">${value === null ? "" : showInline(value)}</span> ${isManaged && html`<span class="dim small">${MANAGED[field.managed]}</span>`}</p>`
        : html`<${ValueEditor} shape=${field.shape} value=${value} label=${field.name} id=${isSimple ? id : undefined} described=${hint} invalid=${errors.length > 0} placeholder=${placeholder} mayBeEmpty=${!field.key && !field.secret} isSecret=${field.secret} onFresh=${isNew && field.fresh && !isSame(field.fresh, value) ? () => onChange(field.fresh) : undefined} onChange=${onChange} />`}
      <div id=${hint}>
        ${errors.map((each) => html`<p class="err-ink small"><${Icon} name="warn" /> ${each.field === field.name ? "" : `${each.field.slice(field.name.length + 1)}: `}${each.message}</p>`)}
        ${field.description && html`<p class="dim small">${field.description}</p>`}
      </div>
    </div>
  </div>`;
}

function Others({ others, read, errors, entity, isLocked, onChange }) {
  const [name, setName] = useState("");
  const names = [...new Set([...Object.keys(read), ...Object.keys(others)])].sort();
  const add = () => {
    if (name && !(name in others)) onChange({ ...others, [name]: emptyOf("S") });
    setName("");
  };
  const remove = (each) => onChange(Object.fromEntries(Object.entries(others).filter(([other]) => other !== each)));
  return html`<section class="sec"><h3>Other attributes <span class="end">${entity ? `${entity} does not declare them` : ""}</span></h3>
    ${names.map((each) => html`<div class="frow${isSame(others[each] ?? null, read[each] ?? null) ? "" : " draft"}" key=${each}>
      <div class="fname"><b class="mono clip" title=${each} translate="no">${each}</b></div>
      <div class="fvalue"><span class="row upper"><div class="grow">${each in others ? html`<${ValueEditor} shape=${ANY} value=${others[each]} label=${each} onChange=${(value) => (value === null ? remove(each) : onChange({ ...others, [each]: value }))} />` : html`<span class="none">removed</span>`}</div>
        ${!isLocked && (each in others ? html`<button type="button" class="iconbtn" aria-label="Remove ${each}" title="Remove" onClick=${() => remove(each)}><${Icon} name="trash" /></button>` : html`<button type="button" class="btn quiet" onClick=${() => onChange({ ...others, [each]: read[each] })}>Keep</button>`)}</span>
        ${find(errors, `others.${each}`).map((error) => html`<p class="err-ink small"><${Icon} name="warn" /> ${error.message}</p>`)}</div>
    </div>`)}
    ${!isLocked && html`<p class="row"><span class="field"><input aria-label="Name of a new attribute" placeholder="name of an attribute" value=${name} onInput=${(event) => setName(event.target.value)} onKeyDown=${(event) => event.key === "Enter" && (event.preventDefault(), add())} /></span>
      <button type="button" class="btn quiet" onClick=${add}><${Icon} name="plus" /> Add</button></p>`}
  </section>`;
}
