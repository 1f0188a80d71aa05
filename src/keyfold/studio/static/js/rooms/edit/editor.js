// One item: the typed form or the raw text, what a save does, and what happens if somebody else was faster.
import { html, useEffect, useMemo, useRef, useState } from "../../html.js";
import { act, useAction, useSettled } from "../../api.js";
import { useKeys } from "../../keyboard.js";
import { address, navigate } from "../../router.js";
import { CopyButton } from "../../parts/copy.js";
import { EntityName, findEntity } from "../../parts/entity.js";
import { Icon } from "../../parts/icon.js";
import { writeItemKey } from "../../parts/itemkey.js";
import { Key } from "../../parts/key.js";
import { Empty, Failed, Loading, Note } from "../../parts/states.js";
import { showBytes, showExpiry } from "../../parts/text.js";
import { Conflict } from "./conflict.js";
import { Deletion } from "./deletion.js";
import { TypedForm } from "./form.js";
import { UndoLine, findDraft, keepDraft, keyOf, noteEdit, undoEdit, useHistory } from "./history.js";
import { isSame } from "./kinds.js";
import { RawEditor, writeItem } from "./raw.js";
import { Review, summarise } from "./review.js";

/** The editor of an item, by its `itemKey`, or of a new one of an `entity`. */
export function ItemEditor({ table, itemKey, entity, principal, opened: studio }) {
  const body = itemKey ? { key: itemKey } : { entity };
  const { result, error, isSlow, reload } = useAction("edit/open", body);
  if (error?.code === "item-missing") {
    return html`<${Empty} title="No item has this key"><p class="mono wrap">${writeItemKey(itemKey)}</p><p class="row"><a class="btn" href=${address({ room: "items" })}>Look in Items</a> <a class="btn" href=${address({ room: "edit" })}>Create one</a></p><//>`;
  }
  if (error) return html`<div class="sec"><${Failed} error=${error} onRetry=${reload} /></div>`;
  if (!result) return html`<${Loading} isSlow=${isSlow} label="Reading the item" />`;
  const place = `${table.name} ${JSON.stringify(principal)} ${JSON.stringify(body)}`;
  return html`<${OpenEditor} key=${place} table=${table} place=${place} first=${result} isReadOnly=${studio.readOnly} />`;
}

/** The values of a form as a draft. */
function startDraft(opened) {
  const fields = Object.fromEntries(opened.form.map((each) => [each.name, opened.item === null ? each.fresh ?? null : each.value]));
  return { fields, others: opened.others };
}

function isTouched(opened, mode, draft, text, table) {
  if (mode === "raw") return text !== (opened.item === null ? "" : writeItem(opened.item, table));
  if (opened.item === null) return opened.form.some((each) => !isSame(draft.fields[each.name] ?? null, each.fresh ?? null)) || Object.keys(draft.others).length > 0;
  const names = new Set([...Object.keys(draft.others), ...Object.keys(opened.others)]);
  return opened.form.some((each) => !isSame(draft.fields[each.name] ?? null, each.value)) || [...names].some((each) => !isSame(draft.others[each] ?? null, opened.others[each] ?? null));
}

function OpenEditor({ table, place, first, isReadOnly }) {
  const kept = useMemo(() => findDraft(place), [place]);
  const [opened, setOpened] = useState(kept?.opened ?? first);
  const [mode, setMode] = useState(kept?.mode ?? (first.entity ? "typed" : "raw"));
  const [draft, setDraft] = useState(kept?.draft ?? startDraft(opened));
  const [text, setText] = useState(kept?.text ?? (opened.item ? writeItem(opened.item, table) : ""));
  const [conflict, setConflict] = useState(kept?.conflict ?? null);
  const [failure, setFailure] = useState(null);
  const [isArmed, setArmed] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [said, setSaid] = useState("");
  const [isDeleting, setDeleting] = useState(false);
  const saveButton = useRef(null);
  const edits = useHistory(table.name);
  const isOwn = opened.shown?.own ?? false;
  const isLocked = isReadOnly || isOwn;
  const isNew = opened.item === null;
  const touched = isTouched(opened, mode, draft, text, table);
  const sent = mode === "raw" ? { mode: "raw", text } : { mode: "typed", entity: opened.entity, fields: draft.fields, others: draft.others };
  const settled = useSettled(JSON.stringify(sent));
  const checked = useAction("edit/preview", touched && !isLocked ? { read: opened.item, draft: JSON.parse(settled) } : null);
  const isCurrent = settled === JSON.stringify(sent) && !checked.isLoading;
  const preview = touched ? checked.result : null;
  // What the server refused last, until the next change.
  const refused = failure?.facts.fields ?? [];
  const errors = preview && !preview.ok ? preview.errors : refused;

  useEffect(() => {
    keepDraft(place, touched && !isLocked ? { table: table.name, entity: opened.entity, opened, mode, draft, text, conflict, path: location.pathname + location.search } : null);
  }, [settled, conflict, touched]);

  const change = (set) => (value) => {
    setArmed(false);
    setFailure(null);
    setSaid("");
    set(value);
  };
  const begin = (next) => {
    setOpened(next);
    setDraft(startDraft(next));
    setText(next.item ? writeItem(next.item, table) : "");
    setConflict(null);
    setFailure(null);
    setArmed(false);
  };
  const switchMode = async (next) => {
    if (next === mode) return;
    setArmed(false);
    if (!touched) {
      begin(opened);
      setMode(next);
      return;
    }
    if (next === "raw") {
      const item = preview?.ok && isCurrent ? preview.item : patch(opened, draft);
      setText(writeItem(item, table));
      setMode(next);
      return;
    }
    const answer = await act("edit/preview", { read: opened.item, draft: { mode: "raw", text } });
    if (answer.result.ok && answer.result.entity === opened.entity) {
      setDraft({ fields: answer.result.fields, others: answer.result.others });
      setMode(next);
    }
  };
  const fail = (error) => {
    if (error.code === "edit-conflict") setConflict({ ...error.facts, message: error.message });
    else setFailure(error);
  };
  const save = async () => {
    if (!touched || isBusy || isLocked) return;
    setBusy(true);
    setFailure(null);
    setSaid("");
    try {
      const { result } = await act("edit/save", { read: opened.item, draft: sent });
      keepDraft(place, null);
      const what = isNew ? `Created a ${result.entity ?? "new item"}` : `Saved this ${result.entity ?? "item"}`;
      noteEdit({ table: table.name, entity: result.entity, what, items: [{ before: result.before, after: result.after }] });
      begin(result.opened);
      navigate({ room: "edit", query: { at: writeItemKey(keyOf(table, result.after)) } }, { replace: true });
    } catch (error) {
      fail(error);
    } finally {
      setBusy(false);
    }
  };
  const review = () => {
    if (!touched || conflict || isLocked) return;
    if (isArmed && isCurrent && preview?.ok) {
      save();
      return;
    }
    setArmed(true);
    saveButton.current?.scrollIntoView({ block: "nearest" });
    saveButton.current?.focus();
  };
  const undone = (result) => {
    if (result?.opened) {
      setSaid("Undone: the former state is back.");
      begin(result.opened);
      navigate({ room: "edit", query: { at: writeItemKey(keyOf(table, result.after)) } }, { replace: true });
    } else navigate({ room: "edit" });
  };
  const undoLast = () => {
    // In a field with a draft, the browser's own undo is meant.
    if (!edits.length || touched || isLocked) return false;
    undoEdit(edits[0]).then((results) => undone(results.at(-1))).catch(setFailure);
    return true;
  };
  useKeys({ "Control+s": [review, "show the diff, then save"], "Control+z": [undoLast, "undo the last save"], Escape: [() => (isArmed ? setArmed(false) : false), "back to the form"] }, [settled, JSON.stringify(sent), isArmed, isCurrent, preview, conflict, isBusy, edits.length, touched, opened]);

  const resolve = (values) => {
    const { fields, others } = split(opened, values);
    act("edit/open", { key: keyOf(table, conflict.now) }).then((answer) => {
      const now = answer.result;
      setOpened(now);
      const base = startDraft(now);
      const merged = { fields: { ...base.fields, ...fields }, others: drop({ ...base.others, ...others }) };
      setDraft(merged);
      setText(writeItem(patch(now, merged), table));
      setConflict(null);
      setArmed(false);
    }).catch(fail);
  };
  const recreate = () => {
    setOpened({ ...opened, item: null, shown: null, form: opened.form.map((each) => ({ ...each, value: null })) });
    setConflict(null);
  };
  const discard = () => (conflict?.now ? act("edit/open", { key: keyOf(table, conflict.now) }).then((answer) => begin(answer.result)).catch(fail) : begin(opened));
  const remove = async () => {
    setBusy(true);
    try {
      const { result } = await act("edit/delete", { read: opened.item });
      keepDraft(place, null);
      noteEdit({ table: table.name, entity: result.entity, what: `Deleted a ${result.entity ?? "item"}`, items: [{ before: result.before, after: null }] });
      navigate({ room: "edit" });
    } catch (error) {
      setDeleting(false);
      fail(error);
    } finally {
      setBusy(false);
    }
  };
  const shown = opened.shown;
  return html`
    <div class="bar edit-bar">
      <h1 class="row">${isNew ? "New" : "Edit"} <${EntityName} entity=${findEntity(table, opened.entity)} name=${isOwn ? "Keyfold's own item" : "item of no entity"} /></h1>
      ${touched && html`<span class="badge warn">draft</span>`}
      ${isReadOnly && html`<span class="badge" title="The studio was opened with --read-only. Start it without, to change items."><${Icon} name="lock" /> read-only: started with --read-only</span>`}
      <span class="grow"></span>
      ${opened.entity && html`<div class="seg" role="group" aria-label="Form or raw">${[["typed", "Form"], ["raw", "Raw"]].map(([each, name]) => html`<button type="button" aria-pressed=${mode === each} onClick=${() => switchMode(each)}>${name}</button>`)}</div>`}
      ${!isNew && html`<a class="btn quiet" aria-label="Show in Items" href=${address({ room: "items", query: { at: writeItemKey(shown.key) } })}><${Icon} name="items" /> <span class="hide-s">Show in Items</span></a>`}
      ${!isNew && !isLocked && html`<button type="button" class="btn quiet" aria-label="Delete" onClick=${() => setDeleting(true)}><${Icon} name="trash" /> <span class="hide-s">Delete</span></button>`}
    </div>
    <div class="split edit-split">
      <div class="pane" data-e=${findEntity(table, opened.entity)?.hue ?? 0}>
        ${shown && html`<section class="sec"><div class="row wrapping keyline">${shown.keys.map((each) => html`<span><span class="lbl">${each.attribute}</span><${Key} shown=${each} /></span>`)}
          <span class="end dim small">${showBytes(shown.bytes)}${shown.expires === null ? "" : ` · ${showExpiry(shown)}`} <${CopyButton} text=${writeItemKey(shown.key)} label="Copy the key" /></span></div>
          ${shown.expired && html`<${Note} kind="warn">It has expired: reads through patterns leave it out. A save creates it anew.<//>`}
          ${shown.problem && html`<${Note} kind="warn">It does not fit ${opened.entity}: ${shown.problem}. Mend the field and save, to repair it.<//>`}
          ${isOwn && html`<${Note}>Keyfold keeps this item for itself, to guard a unique value or to remember a request. It follows from other items, and is not edited by hand.<//>`}
          ${!opened.entity && !isOwn && html`<${Note} kind="warn">Its key fits no entity of ${table.name}: it is written as it is, without validation.<//>`}</section>`}
        ${conflict && html`<${Conflict} conflict=${conflict} onResolve=${resolve} onDiscard=${discard} onRecreate=${recreate} />`}
        ${mode === "typed" ? html`<${TypedForm} opened=${opened} draft=${draft} errors=${errors} isLocked=${isLocked} onChange=${change(setDraft)} />` : html`<${RawEditor} text=${text} errors=${errors} isLocked=${isLocked} onChange=${change(setText)} />`}
      </div>
      <aside class="side edit-side${isArmed ? " armed" : ""}" aria-label="What a save does">
        <div class="sec stack">
          <h3>${isNew ? "What creating it does" : "What a save does"}</h3>
          ${!touched && !isLocked && html`<${UndoLine} entry=${edits[0]} onUndone=${undone} />`}
          ${said && html`<div role="status"><${Note} kind="ok">${said}<//></div>`}
          ${failure && html`<${Failed} error=${failure}><p>Nothing was written. Your draft is kept.</p><//>`}
          ${isLocked ? html`<p class="dim">${isReadOnly ? "The studio is read-only: nothing can be saved." : "This item is not edited by hand."}</p>` : !touched ? html`<p class="dim">What you change is listed here before it is saved, with the index entries that appear and vanish.</p>` : !preview ? html`<p class="dim" aria-busy="true">Checking the draft</p>` : preview.ok ? html`<${Review} preview=${preview} />` : html`<${Note} kind="warn"><p><b>Not valid yet.</b></p>${errors.filter((each) => !each.field || mode === "raw").map((each) => html`<p>${each.field} ${each.message}</p>`)}${mode === "typed" && html`<p>${errors.filter((each) => each.field).map((each) => each.field).join(", ")}</p>`}<//>`}
          ${checked.error && touched && html`<${Failed} error=${checked.error} onRetry=${checked.reload} />`}
          ${!isLocked && touched && html`<p class="row end-row"><button type="button" class="btn" onClick=${() => { keepDraft(place, null); begin(opened); }}>Discard</button>
            ${!conflict && html`<button type="button" class="btn primary" ref=${saveButton} aria-disabled=${!preview?.ok} onClick=${() => preview?.ok && save()}>${isBusy ? "Saving" : isNew ? "Create" : "Save"} <kbd>Ctrl S</kbd></button>`}</p>
            ${conflict ? html`<p class="dim small">Resolve the conflict first.</p>` : html`<p class="dim small">${isNew ? "On the condition that no item has this key." : shown.expired ? "On the condition that nobody has created it anew meanwhile." : "On the condition that the item is as you read it."}</p>`}`}
          <p class="sr" role="status">${isArmed && preview?.ok ? `${summarise(preview)}. Ctrl S saves.` : ""}</p>
        </div>
      </aside>
    </div>
    ${isDeleting && html`<${Deletion} opened=${opened} isBusy=${isBusy} onCancel=${() => setDeleting(false)} onDelete=${remove} />`}`;
}

/** Return the item that was read, with the attributes of a draft. */
function patch(opened, draft) {
  const item = { ...(opened.item ?? {}) };
  for (const field of opened.form) {
    if (field.attribute === null) continue;
    const value = draft.fields[field.name] ?? null;
    if (value === null) delete item[field.attribute];
    else item[field.attribute] = value;
  }
  for (const name of Object.keys(opened.others)) delete item[name];
  return { ...item, ...draft.others };
}

/** Split chosen values into those of fields and of other attributes. */
function split(opened, values) {
  const names = new Set(opened.form.map((each) => each.name));
  const pick = (isField) => Object.fromEntries(Object.entries(values).filter(([name]) => names.has(name) === isField));
  return { fields: pick(true), others: pick(false) };
}

function drop(values) {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));
}
