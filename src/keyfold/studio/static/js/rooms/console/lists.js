// Statements to begin with: examples from the table, and what was run here before.
import { html } from "../../html.js";
import { useAction } from "../../api.js";
import { Failed, Loading } from "../../parts/states.js";
import { showExactTime, showTime } from "../../parts/text.js";
import { Highlighted } from "./editor.js";

export function Examples({ isRole, onChoose }) {
  const { result, error, isLoading, isSlow } = useAction("console/examples", {});
  return html`<section class="sec" aria-label="Examples"><h2 class="lbl">Examples <span class="end">${isRole ? "from the declaration" : "with items of this table"}</span></h2>
    ${error && html`<${Failed} error=${error} />`}
    ${!result && isLoading && html`<${Loading} isSlow=${isSlow} />`}
    ${result && !result.examples.length && html`<p class="dim">The table has no items, and its declaration no examples.</p>`}
    <ul class="statements">${result?.examples.map((each) => html`<li key=${each.statement}><button type="button" onClick=${() => onChoose(each.statement)}><span>${each.title}</span><code class="wrap" translate="no"><${Highlighted} text=${each.statement} /></code></button></li>`)}</ul>
  </section>`;
}

export function History({ table, history, onChoose, onClear }) {
  return html`<section class="sec" aria-label="History"><h2 class="lbl">History <span class="end">${history.length > 0 && html`<button type="button" class="ref" onClick=${onClear}>Clear</button>`}</span></h2>
    ${!history.length && html`<p class="dim">Statements that you run on ${table.name} are kept in this browser, without their results.</p>`}
    <ul class="statements">${history.map((each) => html`<li key=${each.text}><button type="button" onClick=${() => onChoose(each.text)}><span class="faint" title=${showExactTime(each.at)}>${showTime(each.at)}</span><code class="wrap" translate="no"><${Highlighted} text=${each.text} /></code></button></li>`)}</ul>
  </section>`;
}
