// Asks before an item is deleted, with the index entries that vanish.
import { html } from "../../html.js";
import { useAction } from "../../api.js";
import { Dialog } from "../../parts/dialog.js";
import { Key } from "../../parts/key.js";
import { Failed, Loading } from "../../parts/states.js";
import { Review } from "./review.js";

export function Deletion({ opened, isBusy, onCancel, onDelete }) {
  const { result, error, isSlow } = useAction("edit/preview", { read: opened.item, deletes: true });
  return html`<${Dialog} title="Delete this ${opened.entity ?? "item"}?" className="wide" onClose=${onCancel}>
    <div class="stack">
      <p class="row wrapping keyline">${opened.shown.keys.map((each) => html`<${Key} shown=${each} />`)}</p>
      ${error ? html`<${Failed} error=${error} />` : result ? html`<${Review} preview=${result} isDeletion />` : html`<${Loading} isSlow=${isSlow} />`}
      <p class="dim small">On the condition that it is as you read it. It can be undone from the history.</p>
      <p class="row end-row"><button type="button" class="btn" onClick=${onCancel}>Cancel</button> <button type="button" class="btn primary" disabled=${isBusy || !result} onClick=${onDelete}>Delete</button></p>
    </div>
  <//>`;
}
