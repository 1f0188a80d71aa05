// What the studio is opened on: the database, and which of its tables is shown.
import { html } from "../html.js";
import { address } from "../router.js";
import { Icon } from "../parts/icon.js";
import { Popover } from "../parts/menu.js";

const ORIGINS = { declared: "declared", design: "an included design", inferred: "inferred" };

export function DatabaseCrumb({ opened }) {
  return html`<span class="crumb still hide-s" title=${opened.database}><${Icon} name="db" />${opened.database} <small>${opened.kind}</small></span>`;
}

export function TableCrumb({ opened, here, table }) {
  const button = html`<b>${here.table}</b>${table && html`<small class="hide-s">${ORIGINS[table.origin]}</small>`}<${Icon} name="down" />`;
  return html`<${Popover} className="crumb" label="Choose a table" button=${button}>
    ${(close) => html`<ul class="menu">
      ${opened.tables.map((name) => html`<li><a href=${address({ table: name, room: here.room || "design", query: { as: undefined } })} aria-current=${name === here.table ? "true" : undefined} onClick=${close}>${name}</a></li>`)}
    </ul>`}
  <//>`;
}
