// The room role.
import { html } from "../html.js";

export function RoleRoom({ table, here, principal, opened }) {
  return html`<div class="bar"><h1>Role</h1></div>`;
}
