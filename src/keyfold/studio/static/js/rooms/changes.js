// The room changes.
import { html } from "../html.js";

export function ChangesRoom({ table, here, principal, opened }) {
  return html`<div class="bar"><h1>Changes</h1></div>`;
}
