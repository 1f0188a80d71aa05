// The room design.
import { html } from "../html.js";

export function DesignRoom({ table, here, principal, opened }) {
  return html`<div class="bar"><h1>Design</h1></div>`;
}
