// The findings of lint: asked for once per table, shown where they belong.
import { html, useEffect, useState } from "../../html.js";
import { act } from "../../api.js";
import { address } from "../../router.js";
import { Icon } from "../../parts/icon.js";
import { Failed } from "../../parts/states.js";
import { Prose } from "./prose.js";
import { isNear, writeSelection } from "./selection.js";

const asked = new Map();
const known = new Map();
const listeners = new Set();

// A request that failed is made again when somebody needs it next.
function ask(name) {
  if (!asked.has(name)) {
    const answer = act("design/findings", { table: name, as: null }).then((found) => found.result);
    answer.then(
      (review) => {
        known.set(name, review);
        listeners.forEach((tell) => tell());
      },
      () => asked.delete(name),
    );
    asked.set(name, answer);
  }
  return asked.get(name);
}

/** Return the review of a table: {review, error, retry}; both null while it is made. */
export function useFindings(name) {
  const [state, setState] = useState({ name, review: null, error: null });
  const [round, setRound] = useState(0);
  useEffect(() => {
    let isCurrent = true;
    setState({ name, review: null, error: null });
    ask(name).then(
      (review) => isCurrent && setState({ name, review, error: null }),
      (error) => isCurrent && setState({ name, review: null, error }),
    );
    return () => {
      isCurrent = false;
    };
  }, [name, round]);
  // Until the effect has run, the state is that of the table before.
  const current = state.name === name ? state : { review: null, error: null };
  return { ...current, retry: () => setRound((old) => old + 1) };
}

/** How many warnings a table has, for the navigation; nothing until its design was looked at. */
export function WarningBadge({ name }) {
  const [, setRound] = useState(0);
  useEffect(() => {
    const tell = () => setRound((old) => old + 1);
    listeners.add(tell);
    return () => listeners.delete(tell);
  }, []);
  const counts = known.get(name)?.counts;
  const number = counts ? counts.error + counts.warning : 0;
  if (!number) return null;
  return html`<span class="badge warn" title=${`${number} warnings of lint`}><${Icon} name="warn" label="warnings:" />${number}</span>`;
}

function SubjectLink({ table, subject }) {
  if (subject.kind === "table") return html`<span>table ${subject.name}</span>`;
  const pattern = subject.kind === "pattern" ? table.patterns.find((each) => each.name === subject.name) : null;
  const text = pattern ? pattern.title : `${subject.kind} ${subject.name}`;
  return html`<a class="ref" href=${address({ table: table.name, room: "design", query: { sel: writeSelection(table, subject) } })}>${text}</a>`;
}

/** One finding: its message, code, what it is about, how to mend it, and on demand why it matters. */
function Finding({ finding, table, isOwn }) {
  const isNote = finding.severity === "note";
  return html`<li class="finding ${isNote ? "" : "w"}">
    <${Icon} name=${isNote ? "info" : "warn"} label=${finding.severity} />
    <div>
      <p class="about-it"><b>${finding.title}</b> <span class="mono faint">${finding.code}</span></p>
      <p>${!isOwn && html`<${SubjectLink} table=${table} subject=${finding.subject} />: `}<${Prose} text=${finding.message} /></p>
      ${finding.accepted === null
        ? html`<p><${Prose} text=${finding.fix} /></p>`
        : html`<p><span class="badge"><${Icon} name="check" />accepted</span> <${Prose} text=${finding.accepted} /></p>`}
      <details><summary>Why it matters</summary><p><${Prose} text=${finding.why} /></p><p class="faint">${finding.source}${finding.place && html` · <span class="mono">${finding.place}</span>`}</p></details>
    </div>
  </li>`;
}

/** The findings near what is selected, or all of them. */
export function Findings({ table, diagram, selected, found }) {
  const { review, error, retry } = found;
  const shown = review?.findings.filter((each) => isNear(each, selected, diagram)) ?? [];
  const title = selected ? "Findings near it" : "Findings";
  const isOwn = (each) => selected !== null && each.subject.kind === selected.kind && each.subject.name === selected.name;
  const open = sortOwn(shown.filter((each) => each.accepted === null), isOwn);
  const accepted = sortOwn(shown.filter((each) => each.accepted !== null), isOwn);
  const total = review?.findings.filter((each) => each.accepted === null).length ?? 0;
  return html`<section class="sec" aria-live="polite" id="findings" tabindex="-1" aria-label=${title}>
    <h3>${title}${review && html`<span class="end num">${selected ? `${open.length} of ${total}` : open.length}</span>`}</h3>
    ${error && html`<${Failed} error=${error} onRetry=${retry} />`}
    ${!review && !error && html`<p class="dim small" role="status">Running every pattern on example items …</p>`}
    ${review && !shown.length && html`<p class="dim small">Lint found nothing${selected ? " here" : ""}.</p>`}
    ${open.length > 0 && html`<ul>${open.map((each) => html`<${Finding} finding=${each} table=${table} isOwn=${isOwn(each)} />`)}</ul>`}
    ${accepted.length > 0 && html`<details class="accepted" open=${!open.length}><summary>${accepted.length} accepted, with reasons</summary><ul>${accepted.map((each) => html`<${Finding} finding=${each} table=${table} isOwn=${isOwn(each)} />`)}</ul></details>`}
    ${review && !selected && review.skipped.length > 0 && html`<p class="faint small">Not reviewed: ${review.skipped.map((each) => `${each.code} (${each.reason})`).join("; ")}.</p>`}
  </section>`;
}

function sortOwn(findings, isOwn) {
  return [...findings.filter(isOwn), ...findings.filter((each) => !isOwn(each))];
}
