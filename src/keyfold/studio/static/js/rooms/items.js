// The room items.
import { html } from "../html.js";

export function ItemsRoom({ table, here, principal, opened }) {
  return html`<div class="bar"><h1>Items</h1></div>`;
}
