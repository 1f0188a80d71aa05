// The design document, as elements: what `keyfold doc` writes.
import { html, useState } from "../../html.js";
import { act, useAction } from "../../api.js";
import { saveFile } from "../../parts/copy.js";
import { Icon } from "../../parts/icon.js";
import { Failed, Loading } from "../../parts/states.js";
import { Pieces } from "./prose.js";

export function DocumentTab({ table }) {
  const { result, error, isSlow, reload } = useAction("design/document", {});
  const [failure, setFailure] = useState(null);
  if (error) return html`<div class="sec"><${Failed} error=${error} onRetry=${reload} /></div>`;
  if (!result) return html`<${Loading} isSlow=${isSlow} label="Running every pattern on example items" />`;
  const save = () =>
    act("design/document", { markdown: true })
      .then((answer) => saveFile(`${table.name}.md`, answer.result.markdown, "text/markdown"))
      .catch(setFailure);
  return html`<article class="doc">
    <header class="row"><h2>${result.table}</h2><span class="grow"></span><button type="button" class="btn" onClick=${save}><${Icon} name="download" />Save as Markdown</button></header>
    ${failure && html`<${Failed} error=${failure} />`}
    <p><${Pieces} pieces=${result.introduction} /></p>
    <nav aria-label="Sections"><ul>${result.sections.map((each, number) => html`<li><a class="ref" href="#section-${number}" onClick=${(event) => jump(event, number)}>${each.title}</a></li>`)}</ul></nav>
    ${result.sections.map((each, number) => html`<${Section} section=${each} id=${`section-${number}`} />`)}
  </article>`;
}

function jump(event, number) {
  event.preventDefault();
  const section = document.getElementById(`section-${number}`);
  section.scrollIntoView();
  section.focus();
}

function Section({ section, id, depth = 3 }) {
  const title = depth === 3 ? html`<h3>${section.title}</h3>` : html`<h4>${section.title}</h4>`;
  return html`<section id=${id} tabindex=${id ? -1 : undefined}>
    ${title}
    ${section.blocks.map((each) => html`<${Block} block=${each} title=${section.title} />`)}
    ${section.sections.map((each) => html`<${Section} section=${each} depth=${4} />`)}
  </section>`;
}

function Block({ block, title }) {
  if (block.kind === "paragraph") return html`<p><${Pieces} pieces=${block.text} /></p>`;
  if (block.kind === "list") return html`<ul class="dots">${block.items.map((each) => html`<li><${Pieces} pieces=${each} /></li>`)}</ul>`;
  return html`<div class="scrolling" role="region" tabindex="0" aria-label=${block.title ?? title}><table class="t">
    <thead><tr>${block.columns.map((each) => html`<th scope="col" class=${each.numeric ? "r" : ""}>${each.name}</th>`)}</tr></thead>
    <tbody>${block.rows.map((row) => html`<tr>${row.map((cell, number) => html`<td class=${block.columns[number].numeric ? "r" : ""}><${Pieces} pieces=${cell} /></td>`)}</tr>`)}</tbody>
  </table></div>`;
}
