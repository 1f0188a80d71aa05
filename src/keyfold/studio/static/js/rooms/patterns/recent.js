// The last runs in this browser, to open again.
import { html } from "../../html.js";
import { showMilliseconds, showTime, showUnits } from "../../parts/text.js";

export function RecentRuns({ recent, onOpen }) {
  if (!recent.length) return "";
  return html`<section class="sec"><h2 class="lbl">Recent runs<span class="end">in this browser</span></h2>
    <div class="scroll" tabindex="0" role="region" aria-label="Recent runs"><table class="t"><tbody>
      ${recent.map((row) => html`<tr><td class="mono">${row.pattern}</td><td class="mono clip args" translate="no" title=${row.text}>${Object.values(row.query).join(", ")}</td><td class="r">${showMilliseconds(row.milliseconds)}</td><td class="r">${showUnits(row.units)}</td><td class="dim">${showTime(row.at)}</td><td><button type="button" class="ref" onClick=${() => onOpen(row)}>Open</button></td></tr>`)}
    </tbody></table></div></section>`;
}
