// The lines of the diagram in words: which patterns read and write an entity or an index.
import { html } from "../../html.js";
import { address } from "../../router.js";
import { writeSelection } from "./selection.js";

/** A pattern, as a link that selects it. */
export function PatternLink({ table, name }) {
  const pattern = table.patterns.find((each) => each.name === name);
  return html`<a class="ref" href=${address({ table: table.name, room: "design", query: { sel: writeSelection(table, { kind: "pattern", name }) } })}>${pattern?.title ?? name}</a>`;
}

/** The patterns that read, write and check an entity. */
export function DeedList({ table, diagram, entity }) {
  if (!diagram) return null;
  const lines = diagram.lines.filter((each) => each.entity === entity);
  const groups = ["reads", "writes", "checks"].map((deed) => [deed, lines.filter((each) => each.deed === deed)]).filter(([, found]) => found.length);
  const names = { reads: "read by", writes: "written by", checks: "checked by" };
  return html`<section class="sec"><h3>Patterns<span class="end num">${new Set(lines.map((each) => each.pattern)).size}</span></h3>
    ${groups.length ? html`<dl class="deeds">${groups.map(([deed, found]) => html`<div><dt>${names[deed]}</dt><dd>${[...Map.groupBy(found, (each) => each.pattern)].map(([name, uses]) => html`<span><${PatternLink} table=${table} name=${name} />${uses.some((each) => each.index) && html` <span class="faint small">through ${uses.filter((each) => each.index).map((each) => each.index).join(", ")}</span>`}</span>`)}</dd></div>`)}</dl>` : html`<p class="dim small">No pattern names it.</p>`}
  </section>`;
}
