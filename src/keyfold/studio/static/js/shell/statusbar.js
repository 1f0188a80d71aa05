// The status bar: the database, the last request, and the units of this session.
import { html } from "../html.js";
import { useSession } from "../session.js";
import { showMilliseconds, showUnits, trim } from "../parts/text.js";

export function StatusBar({ opened, principal }) {
  const session = useSession();
  const { last } = session;
  return html`<footer class="stat">
    <span><i class="dot${session.isLost ? " lost" : ""}"></i>${session.isLost ? html`<b>no answer from the studio's server</b>` : opened.database}</span>
    ${principal && html`<span>as <b>${principal.roles.join(", ")}</b>${Object.entries(principal.ids).map(([name, value]) => `, ${name} ${value}`)}</span>`}
    ${last && html`<span class="hide-s">last <b>${last.denied ? "denied" : `${last.operation} ${showUnits(last)}`}</b>${last.denied ? "" : ` · ${showMilliseconds(last.milliseconds)}`}</span>`}
    <span class="end">session <b>${trim(session.read)} RU · ${trim(session.write)} WU</b></span>
  </footer>`;
}
