// The facts of the diagram as tables: keys of entities, indexes, and what each pattern reads and writes.
import { html } from "../../html.js";
import { useAction } from "../../api.js";
import { address } from "../../router.js";
import { EntityName, findEntity, hueOf } from "../../parts/entity.js";
import { Template } from "../../parts/key.js";
import { Failed, Loading } from "../../parts/states.js";
import { shortenId } from "../../parts/text.js";
import { PatternLink } from "./deeds.js";
import { Prose } from "./prose.js";

const SHORT = { always: "always", free: "may be", never: "never" };

export function KeysTab({ table, diagram }) {
  const { result, error, isSlow, reload } = useAction("design/keys", {});
  if (error) return html`<div class="sec"><${Failed} error=${error} onRetry=${reload} /></div>`;
  if (!result) return html`<${Loading} isSlow=${isSlow} label="Reading the keys" />`;
  return html`<div class="sheets">
    <${Facts} title="Entities and their keys" columns=${["entity", "shard", ...table.key.partition, ...table.key.sort, "for example", ...table.indexes.map((each) => each.name)]}
      rows=${result.entities.map((entity) => entityRow(table, entity))} />
    ${diagram.indexes.length > 0 && html`<${Facts} title="Indexes" columns=${["index", "key", "has", "entities in it", "read by"]} rows=${diagram.indexes.map((index) => indexRow(table, diagram, index))} />`}
    ${diagram.patterns.length > 0 && html`<${Facts} title="Patterns" columns=${["pattern", "", "reads", "writes", "checks", "through"]} rows=${diagram.patterns.map((pattern) => patternRow(table, diagram, pattern))} />`}
  </div>`;
}

/** A table that turns into cards where there is no room for its columns. */
function Facts({ title, columns, rows }) {
  return html`<section class="facts"><h2>${title} <span class="faint num">${rows.length}</span></h2>
    <div class="scrolling" role="region" aria-label=${title} tabindex="0"><table class="t cardy" role="table">
      <thead role="rowgroup"><tr role="row">${columns.map((name) => html`<th role="columnheader" scope="col">${name || html`<span class="sr">kind</span>`}</th>`)}</tr></thead>
      <tbody role="rowgroup">${rows.map((cells) => html`<tr role="row">${cells.map((cell, number) => (number ? html`<td role="cell" data-label=${columns[number]} class=${cell === null ? "blank" : ""}>${cell}</td>` : html`<th role="rowheader" scope="row">${cell}</th>`))}</tr>`)}</tbody>
    </table></div></section>`;
}

function entityRow(table, entity) {
  const known = findEntity(table, entity.name);
  const href = address({ table: table.name, room: "design", query: { sel: entity.name } });
  const attributes = [...table.key.partition, ...table.key.sort];
  return [
    html`<a href=${href}><${EntityName} entity=${known} /></a>`,
    entity.shard,
    ...attributes.map((name) => {
      const key = entity.keys.find((each) => each.attribute === name);
      return key ? html`<span ...${hueOf(known)}><${Template} shown=${key.template} /></span>` : null;
    }),
    html`<span class="mono dim" title=${entity.keys.map((each) => each.example?.text ?? "").join(" · ")} translate="no">${entity.keys.map((each) => (each.example ? shortenId(each.example.text) : "none")).join(" · ")}</span>`,
    ...entity.indexes.map((each) => html`<span title=${each.sentence.replaceAll("`", "")} class=${each.belongs === "never" ? "faint" : ""}>${each.belongs === "if set" ? html`if <code>${each.fields.join(", ")}</code> set` : SHORT[each.belongs]}</span>`),
  ];
}

function indexRow(table, diagram, index) {
  const members = diagram.memberships.filter((each) => each.index === index.name && each.belongs !== "never");
  const readers = [...new Set(diagram.lines.filter((each) => each.index === index.name).map((each) => each.pattern))];
  return [
    html`<a class="ref" href=${address({ table: table.name, room: "design", query: { sel: index.name } })}>${index.name}</a>`,
    html`<span class="mono" translate="no">${[...index.key.partition, ...index.key.sort].join(" · ")}</span>`,
    index.projection,
    members.length === table.entities.length && members.every((each) => each.belongs === "always") ? "every item, of every entity" : members.length ? html`<ul class="plain">${members.map((each) => html`<li><${Prose} text=${each.sentence} /></li>`)}</ul>` : "none",
    readers.length ? html`<ul class="plain">${readers.map((name) => html`<li><${PatternLink} table=${table} name=${name} /></li>`)}</ul>` : "no pattern",
  ];
}

function patternRow(table, diagram, pattern) {
  const lines = diagram.lines.filter((each) => each.pattern === pattern.name);
  const cell = (deed) => {
    const found = [...new Set(lines.filter((each) => each.deed === deed).map((each) => each.entity))];
    return found.length ? html`<span class="chips">${found.map((name) => (name ? html`<${EntityName} entity=${findEntity(table, name)} />` : html`<span>any</span>`))}</span>` : null;
  };
  const through = [...new Set(lines.map((each) => each.index).filter(Boolean))];
  return [
    html`<${PatternLink} table=${table} name=${pattern.name} />`,
    pattern.writes === null ? "not explained" : pattern.writes ? "write" : "read",
    cell("reads"),
    cell("writes"),
    cell("checks"),
    through.length ? through.join(", ") : null,
  ];
}
