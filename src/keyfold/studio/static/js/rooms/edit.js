// The room Edit: one item, a new one, or many; what a save does is shown before it is done.
import { html } from "../html.js";
import { address } from "../router.js";
import { Icon } from "../parts/icon.js";
import { readItemKey } from "../parts/itemkey.js";
import { Empty } from "../parts/states.js";
import { BulkView } from "./edit/bulk.js";
import { ItemEditor } from "./edit/editor.js";
import { ExportView } from "./edit/exporting.js";
import { ImportView } from "./edit/importing.js";
import { StartView } from "./edit/start.js";

const VIEWS = { bulk: ["Change or delete many", BulkView, true], import: ["Import", ImportView, true], export: ["Export", ExportView, false] };

export function EditRoom(props) {
  return html`<div class="edit-room"><${View} ...${props} /></div>`;
}

function View({ table, here, principal, opened }) {
  const view = VIEWS[here.rest[0]];
  if (view) return html`<${ManyView} view=${view} table=${table} here=${here} opened=${opened} />`;
  const key = readItemKey(here.query.at, table);
  if (here.query.at && !key) {
    return html`<div class="bar"><h1>Edit</h1></div><${Empty} title="This address has no key of ${table.name}"><p class="mono wrap">${here.query.at}</p><p><a class="btn" href=${address({ room: "edit" })}>Begin</a></p><//>`;
  }
  if (key) return html`<${ItemEditor} key=${here.query.at} table=${table} itemKey=${key} principal=${principal} opened=${opened} />`;
  if (here.query.entity && !opened.readOnly) return html`<${ItemEditor} key=${here.query.entity} table=${table} entity=${here.query.entity} principal=${principal} opened=${opened} />`;
  return html`<div class="bar"><h1>Edit</h1>${opened.readOnly && html`<${ReadOnly} />`}</div><${StartView} table=${table} isReadOnly=${opened.readOnly} />`;
}

function ManyView({ view: [title, Chosen, writes], table, here, opened }) {
  return html`<div class="bar"><h1>${title}</h1><span class="grow"></span><a class="btn quiet" href=${address({ room: "edit" })}>Back to Edit</a></div>
    ${writes && opened.readOnly ? html`<${Empty} title="The studio is read-only"><p>It was started with <code>--read-only</code>. Start it without, to change items.</p><//>` : html`<${Chosen} table=${table} here=${here} />`}`;
}

function ReadOnly() {
  return html`<span class="badge"><${Icon} name="lock" /> read-only: started with --read-only</span>`;
}
