// The room edit.
import { html } from "../html.js";

export function EditRoom({ table, here, principal, opened }) {
  return html`<div class="bar"><h1>Edit</h1></div>`;
}
