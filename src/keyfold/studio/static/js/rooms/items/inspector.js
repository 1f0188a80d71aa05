// The inspector: one item, its keys, where it lies and why, its fields, and where it leads.
import { html, useEffect, useRef, useState } from "../../html.js";
import { useAction } from "../../api.js";
import { address } from "../../router.js";
import { useKept } from "../../session.js";
import { CopyButton } from "../../parts/copy.js";
import { EntityName, findEntity, hueOf } from "../../parts/entity.js";
import { Icon } from "../../parts/icon.js";
import { writeItemKey } from "../../parts/itemkey.js";
import { Key } from "../../parts/key.js";
import { Failed, Loading, Note } from "../../parts/states.js";
import { showBytes, showExactTime, showExpiry } from "../../parts/text.js";
import { Value } from "../../parts/values.js";
import { Places } from "./places.js";
import { References } from "./references.js";
import { ValueViewer } from "./viewer.js";

const NARROWEST = 280;
const WIDEST = 640;

export function Inspector({ table, at, layout, isReadOnly, isNarrow, onClose, onShown, onFollow }) {
  const { result, error, isLoading, isSlow, reload } = useAction("items/one", { key: at });
  const [width, setWidth] = useKept("items-inspector", 344);
  const [isTall, setTall] = useState(false);
  const isCurrent = result && writeItemKey(result.item.key) === writeItemKey(at);
  useEffect(() => onShown(isCurrent ? result : null), [isCurrent ? result : null]);
  const resize = (event) => startDrag(event, (move) => setWidth(Math.min(WIDEST, Math.max(NARROWEST, width - move))), (move) => move);
  const nudge = (event) => {
    const step = { ArrowLeft: 16, ArrowRight: -16 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    setWidth(Math.min(WIDEST, Math.max(NARROWEST, width + step)));
  };
  return html`<aside class="side sheet inspector${isTall ? " tall" : ""}" aria-label="Selected item" style=${isNarrow ? undefined : { width: `${width}px` }}>
    ${isNarrow
      ? html`<button type="button" class="grip" aria-expanded=${isTall} aria-label=${isTall ? "Make the pane smaller" : "Make the pane larger"} onClick=${() => setTall(!isTall)} onPointerDown=${(event) => startDrag(event, () => {}, (x, y) => (y < -30 ? setTall(true) : y > 30 && (isTall ? setTall(false) : onClose())))}></button>`
      : html`<div class="resizer" role="separator" aria-orientation="vertical" aria-label="Width of the pane" aria-valuenow=${width} aria-valuemin=${NARROWEST} aria-valuemax=${WIDEST} tabindex="0" onPointerDown=${resize} onKeyDown=${nudge}></div>`}
    ${error && !isLoading ? html`<div class="sec"><p class="row end-row"><${CloseButton} onClose=${onClose} /></p><${Failed} error=${error} onRetry=${error.isDenied || error.status === 404 ? undefined : reload} /></div>` : !isCurrent ? html`<${Loading} isSlow=${isSlow} label="Reading the item" />` : html`<${Shown} table=${table} shown=${result} at=${at} layout=${layout} isReadOnly=${isReadOnly} onClose=${onClose} onFollow=${onFollow} />`}
  </aside>`;
}

function CloseButton({ onClose }) {
  return html`<button type="button" class="iconbtn" aria-label="Close the pane" title="Close (Esc)" onClick=${onClose}><${Icon} name="x" /></button>`;
}

function startDrag(event, onMove, onEnd) {
  const [x, y] = [event.clientX, event.clientY];
  const move = (moved) => onMove(moved.clientX - x, moved.clientY - y);
  const end = (ended) => {
    removeEventListener("pointermove", move);
    removeEventListener("pointerup", end);
    onEnd(ended.clientX - x, ended.clientY - y);
  };
  addEventListener("pointermove", move);
  addEventListener("pointerup", end);
}

function Shown({ table, shown, at, layout, isReadOnly, onClose, onFollow }) {
  const { item } = shown;
  const entity = findEntity(table, item.entity);
  const heading = useRef(null);
  return html`<div class="sec" ref=${heading}>
      <div class="row"><h2 class="subject"><${EntityName} entity=${entity} name=${item.own ? "Keyfold’s own item" : undefined} /></h2>${item.expired && html`<span class="badge"><${Icon} name="clock" />expired</span>`}<span class="grow"></span><span class="faint num small">${showBytes(item.bytes)}</span>
        ${!isReadOnly && !item.own && html`<a class="btn quiet" href=${address({ table: table.name, room: "edit", query: { at: writeItemKey(item.key) } })}><${Icon} name="edit" />Edit</a>`}<${CloseButton} onClose=${onClose} /></div>
      <div class="itemkeys" ...${hueOf(entity)}>${item.keys.map((key) => html`<div><div class="lbl">${key.attribute}<${CopyButton} text=${key.text} label="Copy ${key.attribute}" /></div><${Key} shown=${key} /></div>`)}</div>
      ${item.problem && html`<${Note} kind="warn"><p><b>It does not fit ${entity?.name}.</b> ${item.problem}</p><//>`}
    </div>
    <div class="sec"><h3>Where this item lies</h3><${Places} table=${table} shown=${shown} /></div>
    ${layout === "raw" ? html`<div class="sec"><h3>As stored<span class="end"><${CopyButton} text=${JSON.stringify(shown.raw, null, 2)} label="Copy the item as DynamoDB’s JSON" /></span></h3><pre class="code" tabindex="0" translate="no">${JSON.stringify(shown.raw, null, 2)}</pre></div>` : html`<${Fields} table=${table} item=${item} entity=${entity} at=${at} />`}
    <${References} table=${table} references=${shown.references} writers=${shown.writers} onFollow=${onFollow} />`;
}

function Fields({ table, item, entity, at }) {
  const [open, setOpen] = useState(null);
  // Parts of the key first, the expiry last.
  const rank = (field) => (field.attribute === null ? 0 : field.attribute === table.ttl ? 2 : 1);
  const declared = item.fields.map((field, number) => ({ field, number })).sort((one, other) => rank(one.field) - rank(other.field) || one.number - other.number);
  const fields = [...declared.map((each) => each.field), ...item.others.map((each) => ({ ...each, isOther: true }))];
  return html`<div class="sec"><h3>Fields<span class="end">${entity ? `as ${entity.name}` : "as stored"}</span></h3>
    <dl class="kv">${fields.map((field) => html`<dt title=${field.attribute && field.attribute !== field.name ? `stored as ${field.attribute}` : undefined}>${field.name}${field.isOther && entity ? html` <span class="faint" title="not declared">?</span>` : ""}</dt><dd class=${field.value && ("M" in field.value || "L" in field.value) ? "many" : ""}><${FieldValue} table=${table} item=${item} field=${field} onOpen=${() => setOpen(field)} /></dd>`)}</dl>
    ${open && html`<${ValueViewer} at=${at} field=${open} onClose=${() => setOpen(null)} />`}
  </div>`;
}

function FieldValue({ table, item, field, onOpen }) {
  if (field.hidden) return html`<i class="none"><${Icon} name="lock" /> hidden from this role</i>`;
  if (field.secret && field.value) return html`<i class="none">secret</i>`;
  if (field.attribute !== null && field.attribute === table.ttl) return html`<span class=${item.expires === null ? "none" : ""} title=${item.expires === null ? undefined : showExactTime(item.expires)}>${showExpiry(item)}</span>`;
  return html`<${Value} value=${field.value} onOpen=${onOpen} />`;
}
