// Texts with names in them, set in a fixed-width font.
import { html } from "../../html.js";

/** A sentence with names in backticks; one without a partner stays as it is. */
export function Prose({ text }) {
  const parts = text.split("`");
  if (parts.length % 2 === 0) return html`${text}`;
  return html`${parts.map((part, number) => (number % 2 ? html`<code>${part}</code>` : part))}`;
}

// Names up to this length are not broken into lines.
const UNBROKEN = 28;

/** A list of texts and of {code}. */
export function Pieces({ pieces }) {
  return html`${pieces.map((each) => (typeof each === "string" ? each : html`<code class=${each.code.length <= UNBROKEN ? "short" : ""}>${each.code}</code>`))}`;
}
