// The room costs.
import { html } from "../html.js";

export function CostsRoom({ table, here, principal, opened }) {
  return html`<div class="bar"><h1>Costs</h1></div>`;
}
