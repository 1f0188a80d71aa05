// The requests that something became: operation, index, key condition, items, units, time.
import { html } from "../html.js";
import { showCount, showMilliseconds, showUnits, trim } from "./text.js";

/** The calls of an answer, numbered. Without figures if they were only explained. */
export function Calls({ calls }) {
  return html`<ol class="steps">
    ${calls.map(
      (call, number) => html`<li>
        <span class="n" aria-hidden="true">${number + 1}</span>
        <div>
          <p class="row"><b>${call.operation}</b> <span class="badge">${call.index ?? "table"}</span>
            ${call.milliseconds !== undefined && html`<span class="end num dim">${call.read ? `${showCount(call.returned, "item")}${call.scanned > call.returned ? ` of ${call.scanned} read` : ""} · ` : ""}${trim(call.units)} ${call.read ? "RU" : "WU"} · ${showMilliseconds(call.milliseconds)}</span>`}</p>
          ${call.key && html`<p class="mono wrap" translate="no">${call.key}</p>`}
          ${call.note && html`<p class="dim">${call.note}</p>`}
          ${call.error && html`<p class="err-ink">failed with ${call.error}</p>`}
        </div>
      </li>`,
    )}
  </ol>`;
}

export function Totals({ calls, units }) {
  const milliseconds = calls.reduce((sum, each) => sum + each.milliseconds, 0);
  return html`<span class="num"><b>${showUnits(units)}</b> · ${showMilliseconds(milliseconds)}</span>`;
}
