// Where editing begins: find an item, create one, or change many; drafts and the history of this tab.
import { html, useState } from "../../html.js";
import { useKeys } from "../../keyboard.js";
import { address, navigate } from "../../router.js";
import { Mark } from "../../parts/entity.js";
import { Icon } from "../../parts/icon.js";
import { writeItemKey } from "../../parts/itemkey.js";
import { Failed } from "../../parts/states.js";
import { HistoryList, UndoLine, keepDraft, keyOf, listDrafts, undoEdit, useHistory } from "./history.js";

export function StartView({ table, isReadOnly }) {
  const [text, setText] = useState("");
  const [, setRound] = useState(0);
  const [error, setError] = useState(null);
  const edits = useHistory(table.name);
  const drafts = listDrafts(table.name);
  const find = (event) => {
    event.preventDefault();
    navigate({ room: "items", query: { where: text } });
  };
  const forget = (place) => {
    keepDraft(place, null);
    setRound((old) => old + 1);
  };
  const reopen = (result) => {
    if (result?.after) navigate({ room: "edit", query: { at: writeItemKey(keyOf(table, result.after)) } });
  };
  const undoLast = () => {
    if (!edits.length || isReadOnly) return false;
    undoEdit(edits[0]).then((results) => reopen(results.at(-1))).catch(setError);
    return true;
  };
  useKeys({ "Control+z": [undoLast, "undo the last save"] }, [edits.length, edits[0]?.id]);
  return html`<div class="pane edit-start">
    ${error && html`<div class="sec"><${Failed} error=${error}><p>It was not undone.</p><//></div>`}
    ${!isReadOnly && html`<div class="undo-place"><${UndoLine} entry=${edits[0]} onUndone=${reopen} /></div>`}
    <section class="sec"><h3>Edit an item</h3>
      <form class="row" onSubmit=${find}><label class="sr" for="find-item">Find an item</label><span class="field grow"><${Icon} name="search" /><input id="find-item" value=${text} placeholder="A key, an id, user = ada" onInput=${(event) => setText(event.target.value)} /></span><button class="btn">Find in Items</button></form>
      <p class="dim small">Choose one there, and press <kbd>e</kbd>.</p></section>
    ${!isReadOnly && html`<section class="sec"><h3>Create an item</h3>
      <ul class="starts">${table.entities.map((each) => html`<li><a class="btn" href=${address({ room: "edit", query: { entity: each.name } })}><${Mark} entity=${each} /> ${each.name}</a></li>`)}</ul></section>`}
    <section class="sec"><h3>Many items</h3>
      <ul class="starts">
        ${!isReadOnly && html`<li><a class="btn" href=${address({ room: "edit", rest: ["bulk"] })}><${Icon} name="edit" /> Change or delete many</a></li><li><a class="btn" href=${address({ room: "edit", rest: ["import"] })}><${Icon} name="upload" /> Import CSV or JSON lines</a></li>`}
        <li><a class="btn" href=${address({ room: "edit", rest: ["export"] })}><${Icon} name="download" /> Export CSV or JSON lines</a></li>
      </ul></section>
    ${drafts.length > 0 && html`<section class="sec"><h3>Drafts <span class="end">in this tab, not saved</span></h3>
      <ul class="history">${drafts.map(([place, draft]) => html`<li class="row wrapping" key=${place}><span class="badge warn">draft</span> <a class="ref" href=${draft.path}>${draft.opened.item ? "" : "New "}${draft.entity ?? "item"} ${draft.opened.shown ? html`<span class="mono">${draft.opened.shown.keys.map((each) => each.text).join(" · ")}</span>` : ""}</a>
        <button type="button" class="btn quiet end" onClick=${() => forget(place)}>Discard</button></li>`)}</ul></section>`}
    ${!isReadOnly && html`<section class="sec"><h3>History <span class="end">of this tab</span></h3><${HistoryList} table=${table} edits=${edits} /></section>`}
  </div>`;
}
