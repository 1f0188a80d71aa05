// Sentences of the server: names in backticks are code.
import { html } from "../../html.js";

export function Sentence({ text }) {
  return text.split("`").map((piece, number) => (number % 2 ? html`<code translate="no">${piece}</code>` : piece));
}
