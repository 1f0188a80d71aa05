// Icons of the sprite in index.html. Decorative unless it has a label.
import { html } from "../html.js";

export function Icon({ name, label, className = "" }) {
  return html`<svg class="ico ${className}" viewBox="0 0 16 16" role=${label ? "img" : undefined} aria-label=${label} aria-hidden=${label ? undefined : "true"}>
    <use href="#i-${name}" />
  </svg>`;
}
