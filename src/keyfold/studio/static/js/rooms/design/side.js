// The side pane: what is selected, or the table as a whole.
import { html } from "../../html.js";
import { useAction } from "../../api.js";
import { address, setQuery } from "../../router.js";
import { EntityName, findEntity } from "../../parts/entity.js";
import { Icon } from "../../parts/icon.js";
import { Failed, Loading } from "../../parts/states.js";
import { PatternLink } from "./deeds.js";
import { EntitySide, MembershipMark } from "./entityside.js";
import { Findings } from "./findings.js";
import { KeyShapes } from "./keyshapes.js";
import { Prose } from "./prose.js";
import { SourceSection } from "./source.js";

export function SidePane({ table, selected, diagram, found, width }) {
  const label = selected ? selected.name : table.name;
  return html`<aside class="side ${selected ? "sheet" : ""}" aria-label=${label} style=${{ "--side": `${width}px` }}>
    ${selected ? html`<${SelectedSide} key=${`${selected.kind} ${selected.name}`} table=${table} selected=${selected} diagram=${diagram} found=${found} />` : html`<${TableSide} table=${table} diagram=${diagram} found=${found} />`}
  </aside>`;
}

function SelectedSide({ table, selected, diagram, found }) {
  const { result, error, isSlow, reload } = useAction(`design/${selected.kind}`, { name: selected.name });
  const close = html`<button type="button" class="iconbtn closer" aria-label="Close, show the table" onClick=${() => setQuery({ sel: "" })}><${Icon} name="x" /></button>`;
  if (error) return html`${close}<div class="sec"><${Failed} error=${error} onRetry=${reload} /></div>`;
  if (!result) return html`${close}<${Loading} isSlow=${isSlow} label="Reading the declaration" />`;
  if (selected.kind === "entity") return html`${close}<${EntitySide} table=${table} entity=${findEntity(table, selected.name)} shown=${result} diagram=${diagram} found=${found} />`;
  if (selected.kind === "index") return html`${close}<${IndexSide} table=${table} shown=${result} diagram=${diagram} found=${found} />`;
  return html`${close}<${PatternSide} table=${table} shown=${result} diagram=${diagram} found=${found} />`;
}

function TableSide({ table, diagram, found }) {
  const facts = [
    ["key", [...table.key.partition, ...table.key.sort].join(" · ")],
    ["expires by", table.ttl ?? "nothing expires"],
    ["stream", table.stream ?? "none"],
    ["shards", table.shards.map((each) => each.name).join(", ") || "none"],
    ["roles", table.roles.map((each) => each.name).join(", ") || "none"],
    [table.origin === "inferred" ? "inferred" : "declared in", table.source],
  ];
  const unexplained = diagram?.patterns.filter((each) => each.problem) ?? [];
  return html`<section class="sec"><div class="row heading"><h2>${table.name}</h2><span class="faint">${[count(table.entities.length, "entity", "entities"), count(table.indexes.length, "index", "indexes"), count(table.patterns.length, "pattern", "patterns")].join(" · ")}</span></div>
      <dl class="kv wrapping">${facts.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>
      <p class="dim small about">Select an entity, an index or a pattern to see its lines, keys and source.</p>
    </section>
    ${unexplained.length > 0 && html`<section class="sec"><h3>Not explained</h3><p class="dim small">It is not known what these read and write, so they have no lines.</p><ul>${unexplained.map((each) => html`<li class="small"><${PatternLink} table=${table} name=${each.name} />: ${each.problem}</li>`)}</ul></section>`}
    <${Findings} table=${table} diagram=${diagram} selected=${null} found=${found} />`;
}

function count(number, one, many) {
  return number === 1 ? `1 ${one}` : `${number} ${many}`;
}

function IndexSide({ table, shown, diagram, found }) {
  const readers = [...new Set(diagram?.lines.filter((each) => each.index === shown.name).map((each) => each.pattern))];
  const order = { always: 0, "if set": 1, free: 2, never: 3 };
  const members = [...shown.members].sort((one, other) => order[one.belongs] - order[other.belongs]);
  const facts = [["partition key", shown.key.partition], ["sort key", shown.key.sort]].filter(([, names]) => names.length);
  return html`<section class="sec"><div class="row heading"><h2>${shown.name}</h2><span class="faint">${shown.local ? "local index" : "global index"}</span><span class="grow"></span>
        <a class="btn quiet" href=${address({ table: table.name, room: "items", query: { through: shown.name } })}>Items<${Icon} name="right" /></a></div>
      <dl class="kv wrapping">${facts.map(([name, names]) => html`<dt>${name}</dt><dd translate="no">${names.map((each) => `${each} (${shown.types[each]})`).join(", ")}</dd>`)}<dt>has</dt><dd>${shown.projection}</dd></dl>
      <p class="dim small about">An index contains the items that have all attributes of its key, and no others.</p></section>
    <section class="sec"><h3>Read by<span class="end num">${readers.length}</span></h3>${readers.length ? html`<ul class="plain">${readers.map((name) => html`<li><${PatternLink} table=${table} name=${name} /></li>`)}</ul>` : html`<p class="dim small">No pattern reads it.</p>`}</section>
    <section class="sec"><h3>Entities in it</h3><ul class="where">
      ${members.map((each) => html`<li><${MembershipMark} belongs=${each.belongs} /><div>
        <a href=${address({ table: table.name, room: "design", query: { sel: each.entity } })}><${EntityName} entity=${findEntity(table, each.entity)} /></a>
        <p><${Prose} text=${each.sentence} /></p>
        ${each.keys.length > 0 && html`<details><summary>Its key here</summary><${KeyShapes} keys=${each.keys} /></details>`}
      </div></li>`)}
    </ul></section>
    <${Findings} table=${table} diagram=${diagram} selected=${{ kind: "index", name: shown.name }} found=${found} />
    <${SourceSection} source=${shown.source} />`;
}

function PatternSide({ table, shown, diagram, found }) {
  return html`<section class="sec"><div class="row heading"><h2>${shown.title}</h2><span class="grow"></span>
        <a class="btn quiet" href=${address({ table: table.name, room: "patterns", rest: [shown.name] })}>Run<${Icon} name="right" /></a></div>
      <p class="mono wrap" translate="no">${shown.name}(${shown.parameters.map((each) => `${each.name}${each.required ? "" : "?"}: ${each.type}`).join(", ")})</p>
      ${shown.description && html`<p class="dim small about"><${Prose} text=${shown.description.split("\n\n")[0]} /></p>`}
      ${shown.rate && html`<p class="dim small about">Expected ${shown.rate}${shown.peak ? `, at most ${shown.peak}` : ""}.</p>`}</section>
    <section class="sec"><h3>Requests<span class="end num">${shown.steps.length}</span></h3>
      ${shown.problem && html`<p class="dim small">It cannot be explained without running it: ${shown.problem}</p>`}
      <ol class="steps">${shown.steps.map((step, number) => html`<li><span class="n" aria-hidden="true">${number + 1}</span><div>
        <p class="row"><b>${step.operation}</b> <span class="badge">${step.index ?? "table"}</span></p>
        <p class="deedline">${step.deeds.map((deed) => html`<span class="dim small">${deed.verb} </span>${deed.entity ? html`<a href=${address({ table: table.name, room: "design", query: { sel: deed.entity } })}><${EntityName} entity=${findEntity(table, deed.entity)} name=${deed.entity} /></a>` : html`<span class="small">items of any entity</span>`} `)}</p>
        ${step.key && html`<p class="mono wrap small" translate="no">${step.key}</p>`}
      </div></li>`)}</ol>
      ${shown.remarks.map((each) => html`<p class="dim small about"><${Icon} name="info" /> ${each}</p>`)}</section>
    <${Findings} table=${table} diagram=${diagram} selected=${{ kind: "pattern", name: shown.name }} found=${found} />
    <${SourceSection} source=${shown.source} />`;
}
