// The room console.
import { html } from "../html.js";

export function ConsoleRoom({ table, here, principal, opened }) {
  return html`<div class="bar"><h1>Console</h1></div>`;
}
