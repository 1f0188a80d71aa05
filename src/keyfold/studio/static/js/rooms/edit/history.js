// What this tab has saved, so that it can be undone; and drafts that were not saved yet.
import { html, useEffect, useState } from "../../html.js";
import { act } from "../../api.js";
import { Icon } from "../../parts/icon.js";
import { EntityName, findEntity } from "../../parts/entity.js";
import { Failed } from "../../parts/states.js";
import { showTime } from "../../parts/text.js";
import { writeItemKey } from "../../parts/itemkey.js";
import { address } from "../../router.js";

const KEY = "keyfold-studio:edits";
const MOST = 100;
// Beyond this, only the newest edits are kept over a reload.
const MOST_TEXT = 2_000_000;
export const UNDO_SECONDS = 30;
const listeners = new Set();
let entries = read();

function read() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY)) ?? [];
  } catch {
    return [];
  }
}

function write(next) {
  entries = next.slice(0, MOST);
  let kept = entries;
  let text = JSON.stringify(kept);
  while (text.length > MOST_TEXT && kept.length > 1) {
    kept = kept.slice(0, Math.floor(kept.length / 2));
    text = JSON.stringify(kept);
  }
  try {
    sessionStorage.setItem(KEY, text);
  } catch {
    // Without storage, the history lasts as long as the page.
  }
  listeners.forEach((tell) => tell());
}

/** Note an edit: {table, as, entity, what, items: [{before, after}], at, name}. */
export function noteEdit(edit) {
  const made = { ...edit, id: `${Date.now()}-${entries.length}`, at: Date.now() };
  write([made, ...entries]);
  return made;
}

/** Return the edits of a table, the newest first, and render again when they change. */
export function useHistory(table) {
  const [, setRound] = useState(0);
  useEffect(() => {
    const tell = () => setRound((old) => old + 1);
    listeners.add(tell);
    return () => listeners.delete(tell);
  }, []);
  return entries.filter((each) => each.table === table);
}

/** Undo an edit, each of its items on the condition that it is as the edit left it. Throws ApiError. */
export async function undoEdit(entry) {
  const results = [];
  const left = [...entry.items];
  try {
    while (left.length) {
      const { before, after } = left[0];
      const answer = await act("edit/undo", { before, after });
      results.push(answer.result);
      left.shift();
    }
  } finally {
    write(left.length ? entries.map((each) => (each.id === entry.id ? { ...each, items: left } : each)) : entries.filter((each) => each.id !== entry.id));
  }
  return results;
}

/** For 30 seconds after an edit, a line that offers to undo it. */
export function UndoLine({ entry, onUndone }) {
  const isRecent = entry !== undefined && Date.now() - entry.at < UNDO_SECONDS * 1000;
  return isRecent ? html`<${RecentEdit} key=${entry.id} entry=${entry} onUndone=${onUndone} />` : null;
}

function RecentEdit({ entry, onUndone }) {
  const [isGone, setGone] = useState(false);
  const [error, setError] = useState(null);
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setGone(true), Math.max(0, entry.at + UNDO_SECONDS * 1000 - Date.now()));
    return () => clearTimeout(timer);
  }, [entry.id]);
  const undo = () => {
    setBusy(true);
    undoEdit(entry)
      .then((results) => onUndone(results.at(-1)))
      .catch(setError)
      .finally(() => setBusy(false));
  };
  if (error) return html`<${Failed} error=${error}><p>Nothing was undone.</p><//>`;
  if (isGone) return null;
  return html`<div class="note ok" role="status"><${Icon} name="check" /><div class="row grow wrapping"><span>${entry.what}.</span>
    <button type="button" class="btn end" disabled=${isBusy} onClick=${undo}><${Icon} name="undo" /> Undo <kbd>Ctrl Z</kbd></button></div></div>`;
}

/** All edits of this tab, with what can be undone. */
export function HistoryList({ table, edits, onUndone }) {
  const [errors, setErrors] = useState({});
  const undo = (entry) =>
    undoEdit(entry)
      .then((results) => onUndone?.(results.at(-1)))
      .catch((error) => setErrors((old) => ({ ...old, [entry.id]: error })));
  if (!edits.length) return html`<p class="dim">Nothing was saved in this tab yet. What you save can be undone here, as long as nobody else changes it.</p>`;
  return html`<ul class="history">${edits.map((entry) => html`<li key=${entry.id}>
    <div class="row wrapping">${entry.entity && html`<${EntityName} entity=${findEntity(table, entry.entity)} />`} <span>${entry.what}</span>
      ${entry.items.length === 1 && entry.items[0].after && html`<a class="ref mono clip" href=${address({ room: "edit", query: { at: writeItemKey(keyOf(table, entry.items[0].after)) } })}>${writeItemKey(keyOf(table, entry.items[0].after))}</a>`}
      <span class="end dim small">${showTime(entry.at / 1000)}</span>
      <button type="button" class="btn" onClick=${() => undo(entry)}><${Icon} name="undo" /> Undo</button></div>
    ${errors[entry.id] && html`<${Failed} error=${errors[entry.id]}><p>It was not undone.</p><//>`}
  </li>`)}</ul>`;
}

export function keyOf(table, item) {
  return Object.fromEntries([...table.key.partition, ...table.key.sort].map((name) => [name, item[name]]));
}

// Drafts.

const DRAFTS = "keyfold-studio:drafts";
let drafts = readDrafts();

function readDrafts() {
  try {
    return JSON.parse(sessionStorage.getItem(DRAFTS)) ?? {};
  } catch {
    return {};
  }
}

/** Return the draft of a place, such as "Market ada~O#…"; undefined if it has none. */
export function findDraft(place) {
  return drafts[place];
}

/** Keep a draft in this tab; null forgets it. */
export function keepDraft(place, draft) {
  const { [place]: _, ...others } = drafts;
  drafts = draft === null ? others : { ...others, [place]: draft };
  try {
    sessionStorage.setItem(DRAFTS, JSON.stringify(drafts));
  } catch {
    // It lasts as long as the page.
  }
}

/** Return the drafts of a table, as [place, draft]. */
export function listDrafts(table) {
  return Object.entries(drafts).filter(([, draft]) => draft.table === table);
}
