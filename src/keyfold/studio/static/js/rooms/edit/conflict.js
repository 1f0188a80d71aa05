// A conflict: somebody changed the item after it was read. Three columns, and a choice for each field.
import { html, useEffect, useRef, useState } from "../../html.js";
import { Icon } from "../../parts/icon.js";
import { isSame } from "./kinds.js";
import { Shown } from "./review.js";

/** `conflict` is {message, read, now, yours, rows}; `onResolve` gets the values that were chosen, by row name. */
export function Conflict({ conflict, onResolve, onDiscard, onRecreate }) {
  const start = Object.fromEntries(conflict.rows.map((row) => [row.name, isSame(row.yours, row.read) ? "now" : "yours"]));
  const [chosen, setChosen] = useState(start);
  const place = useRef(null);
  useEffect(() => {
    place.current.scrollIntoView({ block: "start" });
    place.current.focus();
  }, []);
  const choose = (name, side) => setChosen({ ...chosen, [name]: side });
  const resolve = () => onResolve(Object.fromEntries(conflict.rows.map((row) => [row.name, row[chosen[row.name]]])));
  return html`<section class="sec conflict" aria-label="Conflict" tabindex="-1" ref=${place}>
    <div class="note warn" role="alert"><${Icon} name="warn" /><div><p><b>${conflict.message}</b></p><p>Your edit is kept. ${conflict.now === null ? "It can be created anew." : "Choose for each field, then save again."}</p></div></div>
    ${conflict.now !== null && html`<div class="scroller" tabindex="0" role="region" aria-label="What was read, what is stored now, and yours"><table class="t three">
      <thead><tr><th scope="col">field</th><th scope="col">you read</th><th scope="col">now</th><th scope="col">yours</th></tr></thead>
      <tbody>${conflict.rows.map((row) => html`<tr key=${row.name}>
        <th scope="row" class="mono">${row.name}</th>
        <td class="mono dim"><${Shown} value=${row.read} /></td>
        ${["now", "yours"].map((side) => html`<td class=${chosen[row.name] === side ? "picked" : ""}><label class="row"><input type="radio" name="side-${row.name}" checked=${chosen[row.name] === side} onChange=${() => choose(row.name, side)} aria-label="${row.name}: ${side === "now" ? "take what is stored now" : "keep yours"}" /><span class="mono${isSame(row[side], row.read) ? " dim" : ""}"><${Shown} value=${row[side]} /></span></label></td>`)}
      </tr>`)}</tbody></table></div>`}
    <p class="row end-row"><button type="button" class="btn" onClick=${onDiscard}>Discard mine</button>
      ${conflict.now === null ? html`<button type="button" class="btn primary" onClick=${onRecreate}>Create it anew</button>` : html`<button type="button" class="btn primary" onClick=${resolve}>Use these values</button>`}</p>
  </section>`;
}
