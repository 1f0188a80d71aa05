// The raw editor: an item in DynamoDB's JSON, with the positions of what is wrong in it.
import { html, useRef } from "../../html.js";
import { Icon } from "../../parts/icon.js";

// Longer values take several lines.
const SHORT = 100;

/** Return an item as text, the key first. */
export function writeItem(item, table) {
  const names = [...table.key.partition, ...table.key.sort];
  const rest = Object.keys(item).filter((each) => !names.includes(each)).sort();
  const lines = [...names.filter((each) => each in item), ...rest].map((name) => `  ${JSON.stringify(name)}: ${writeValue(item[name])}`);
  return `{\n${lines.join(",\n")}\n}`;
}

function writeValue(value) {
  const short = JSON.stringify(value);
  if (short.length <= SHORT || ["S", "N", "B"].includes(Object.keys(value)[0])) return short.replace(/^\{("[A-Z]+"):/, "{$1: ");
  return JSON.stringify(value, null, 2).replaceAll("\n", "\n  ");
}

export function RawEditor({ text, errors, isLocked, onChange }) {
  const area = useRef(null);
  const go = (error) => {
    const lines = text.split("\n");
    const at = lines.slice(0, error.line - 1).reduce((sum, each) => sum + each.length + 1, 0) + error.column - 1;
    area.current.focus();
    area.current.setSelectionRange(at, Math.min(text.length, at + 1));
  };
  return html`<section class="sec raw">
    <p class="dim small">The item as it is stored, in DynamoDB's JSON: <code>{"S": "text"}</code>, <code>{"N": "1.50"}</code>, <code>{"SS": ["a"]}</code>, <code>{"B": "base 64"}</code>. It is checked by its entity's declaration; times and <code>before_write</code> are not filled in.</p>
    <textarea ref=${area} class="code-area" rows=${Math.min(30, Math.max(10, text.split("\n").length + 1))} aria-label="The item in DynamoDB's JSON" aria-describedby="raw-errors" aria-invalid=${errors.length ? "true" : undefined} readonly=${isLocked} spellcheck=${false} value=${text} onInput=${(event) => onChange(event.target.value)}></textarea>
    <div id="raw-errors">${errors.map((each) => html`<p class="err-ink small"><${Icon} name="warn" /> ${each.field && html`<b class="mono">${each.field}</b> `}${each.message} ${each.line && html`<button type="button" class="ref" onClick=${() => go(each)}>line ${each.line}, column ${each.column}</button>`}</p>`)}</div>
  </section>`;
}
