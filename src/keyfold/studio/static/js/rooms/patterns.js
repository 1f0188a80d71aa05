// The room patterns.
import { html } from "../html.js";

export function PatternsRoom({ table, here, principal, opened }) {
  return html`<div class="bar"><h1>Patterns</h1></div>`;
}
