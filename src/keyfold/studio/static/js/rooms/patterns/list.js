// The list of patterns: reads, then writes, each with its usual units. A picker where there is no room for a list.
import { html, useState } from "../../html.js";
import { address, navigate } from "../../router.js";
import { Icon } from "../../parts/icon.js";
import { showUnits } from "../../parts/text.js";

export function PatternList({ patterns, current, here }) {
  const [text, setText] = useState("");
  const wanted = text.trim().toLowerCase();
  const found = patterns.filter((each) => `${each.name} ${each.title}`.toLowerCase().includes(wanted));
  const groups = [
    ["Read", found.filter((each) => !each.writes)],
    ["Write", found.filter((each) => each.writes)],
  ].filter(([, members]) => members.length);
  return html`<nav class="plist" aria-label="Patterns">
    <label class="picker only-s"><span class="sr">Pattern</span>
      <select value=${current ?? ""} onChange=${(event) => navigate({ room: "patterns", rest: [event.target.value] })}>
        ${!current && html`<option value="">Choose a pattern</option>`}
        ${patterns.map((each) => html`<option value=${each.name}>${each.title}</option>`)}
      </select>
    </label>
    <div class="hide-s">
      <div class="field"><${Icon} name="search" /><input value=${text} aria-label="Filter ${patterns.length} patterns" placeholder="Filter ${patterns.length} patterns" onInput=${(event) => setText(event.target.value)} /></div>
      ${groups.map(([title, members]) => html`<h2>${title}</h2><ul>${members.map((each) => html`<li><${Row} pattern=${each} isCurrent=${each.name === current} here=${here} /></li>`)}</ul>`)}
      ${!found.length && html`<p class="dim pad">No pattern has that name.</p>`}
    </div>
  </nav>`;
}

function Row({ pattern, isCurrent }) {
  const warnings = pattern.findings.filter((each) => each.severity !== "note");
  return html`<a href=${address({ room: "patterns", rest: [pattern.name] })} aria-current=${isCurrent ? "page" : undefined} title=${pattern.title}>
    <span class="clip t">${pattern.title}</span>
    <span class="row"><code class="clip grow">${pattern.name}</code>
      ${warnings.length > 0 && html`<span class="warn-ink" title=${warnings.map((each) => `${each.code}: ${each.message}`).join("\n")}><${Icon} name="warn" label=${`${warnings.length} finding${warnings.length === 1 ? "" : "s"}`} /></span>`}
      ${pattern.units && html`<span class="num dim small">${showUnits(pattern.units)}</span>`}</span>
  </a>`;
}
