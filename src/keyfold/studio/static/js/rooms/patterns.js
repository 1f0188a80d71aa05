// Patterns: each as a form that runs; what it found, the requests it became, its cost, and its code.
import { html, useEffect, useState } from "../html.js";
import { useAction } from "../api.js";
import { navigate } from "../router.js";
import { Empty, Failed, Loading } from "../parts/states.js";
import { PatternList, PatternPicker } from "./patterns/list.js";
import { findLastUnits } from "./patterns/recent.js";
import { PatternView } from "./patterns/view.js";

export function PatternsRoom({ table, here, opened }) {
  const plain = useAction("patterns/list", {});
  const measured = useAction("patterns/list", plain.result ? { measured: true } : null);
  const [, setRound] = useState(0);
  const patterns = measured.result?.patterns ?? plain.result?.patterns;
  const first = patterns?.find((each) => !each.writes) ?? patterns?.[0];
  const current = here.rest[0];
  useEffect(() => {
    if (!current && first) navigate({ room: "patterns", rest: [first.name], query: here.query }, { replace: true });
  }, [current, first?.name]);
  if (plain.error) return html`<div class="bar"><h1>Patterns</h1></div><div class="sec"><${Failed} error=${plain.error} onRetry=${plain.reload} /></div>`;
  if (!patterns) return html`<div class="bar"><h1>Patterns</h1></div><${Loading} isSlow=${plain.isSlow} label="Reading the patterns" />`;
  if (!patterns.length) {
    return html`<div class="bar"><h1>Patterns</h1></div><${Empty} title="${table.name} declares no patterns"><p class="dim">A pattern is a function that returns a request: decorate it with <code>@table.pattern("Get an order")</code>, and it has a form here.</p><//>`;
  }
  const chosen = patterns.find((each) => each.name === current);
  const lastUnits = findLastUnits(table.name);
  const head = html`<header class="phead">
    <div class="bar"><h1 class="title">${chosen?.title ?? "Patterns"}</h1><${PatternPicker} patterns=${patterns} current=${current} lastUnits=${lastUnits} /></div>
    ${chosen?.description && html`<${Description} text=${chosen.description} />`}
  </header>`;
  return html`<div class="split patterns">
    <${PatternList} patterns=${patterns} current=${current} lastUnits=${lastUnits} />
    ${chosen
      ? html`<${PatternView} key=${chosen.name} table=${table} here=${here} opened=${opened} pattern=${chosen.name} findings=${chosen.findings} onRun=${() => setRound((old) => old + 1)}>${head}<//>`
      : html`<div class="pane pmain">${head}${current && html`<${Empty} title="${table.name} has no pattern ${current}"><p class="dim">Choose one from the list.</p><//>`}</div>`}
  </div>`;
}

/** What a pattern does: its first paragraph, and the rest if asked. */
function Description({ text }) {
  const [isOpen, setOpen] = useState(false);
  const [lead, ...rest] = text.split(/\n\s*\n/);
  return html`<div class="dim desc"><p>${lead}${rest.length > 0 && html` <button type="button" class="ref" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>${isOpen ? "Less" : "More"}</button>`}</p>
    ${isOpen && rest.map((each) => html`<p>${each}</p>`)}</div>`;
}
