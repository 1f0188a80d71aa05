// Which patterns run as a role, and which are denied, with the reason.
import { html } from "../../html.js";
import { address } from "../../router.js";
import { Icon } from "../../parts/icon.js";

export function PatternLists({ patterns, role, here }) {
  const running = patterns.filter((each) => each.outcome === "runs" || each.outcome === "own");
  const denied = patterns.filter((each) => each.outcome === "denied");
  const unknown = patterns.filter((each) => each.outcome === "unknown");
  if (!patterns.length) return html`<p class="dim">The table declares no patterns.</p>`;
  return html`<div class="two">
    <div><h2 class="lbl">${running.length} ${running.length === 1 ? "pattern runs" : "patterns run"}</h2><ul class="pl">${running.map((each) => html`<${Row} each=${each} role=${role} here=${here} icon="check" kind="yes" label="runs" />`)}</ul>${running.length ? "" : html`<p class="dim small">None.</p>`}</div>
    <div><h2 class="lbl">${denied.length} ${denied.length === 1 ? "is" : "are"} denied</h2><ul class="pl">${denied.map((each) => html`<${Row} each=${each} role=${role} here=${here} icon="deny" kind="no" label="denied" />`)}</ul>${denied.length ? "" : html`<p class="dim small">None.</p>`}
      ${unknown.length > 0 && html`<h2 class="lbl">${unknown.length} not known</h2><ul class="pl">${unknown.map((each) => html`<${Row} each=${each} role=${role} here=${here} icon="info" kind="faint" label="not known" />`)}</ul>`}</div>
  </div>
  <p class="dim small roomnote">Tried on the declaration's examples in memory, by the same rules as in the database. Nothing was read or written there.</p>`;
}

function Row({ each, role, here, icon, kind, label }) {
  const { right, area, key, sort, through, ...kept } = here.query;
  const href = address({ room: "role", rest: [role.name], query: { ...kept, try: each.name } });
  const isCurrent = here.query.try === each.name;
  return html`<li data-kind=${kind} aria-current=${isCurrent ? "true" : undefined}><a href=${href} title=${each.title}><${Icon} name=${icon} label=${label} className=${kind} /><span><code>${each.name}</code><span class="dim">${each.note}</span></span></a></li>`;
}
