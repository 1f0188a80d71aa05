// The side pane of an entity: keys, indexes with membership, findings, fields and source.
import { html } from "../../html.js";
import { address } from "../../router.js";
import { EntityName, hueOf } from "../../parts/entity.js";
import { Icon } from "../../parts/icon.js";
import { showBytes } from "../../parts/text.js";
import { Findings } from "./findings.js";
import { KeyShapes } from "./keyshapes.js";
import { Prose } from "./prose.js";
import { SourceSection } from "./source.js";
import { DeedList } from "./deeds.js";

const MARKS = { always: ["check", "yes", "always in it"], "if set": ["check", "some", "in it if set"], free: ["check", "some", "may be in it"], never: ["x", "no", "never in it"] };

export function MembershipMark({ belongs }) {
  const [icon, className, label] = MARKS[belongs];
  return html`<${Icon} name=${icon} className=${className} label=${label} />`;
}

export function EntitySide({ table, entity, shown, diagram, found }) {
  return html`
    <section class="sec keyed" ...${hueOf(entity)}>
      <div class="row heading"><h2><${EntityName} entity=${entity} /></h2>${shown.bytes !== null && html`<span class="faint" title="the mean of the ${shown.sample === "examples" ? "declared examples" : "generated examples"}">${showBytes(shown.bytes)} each</span>`}<span class="grow"></span>
        <a class="btn quiet" href=${address({ table: table.name, room: "items", query: { only: entity.name } })}>Items<${Icon} name="right" /></a></div>
      <${KeyShapes} keys=${shown.keys} />
      ${shown.description && html`<p class="dim small about"><${Prose} text=${shown.description.split("\n\n")[0]} /></p>`}
      ${shown.order.length > 0 && html`<p class="dim small about">${shown.order.map((each) => html`<${Prose} text=${each} /> `)}</p>`}
      ${shown.fallback && html`<p class="dim small about">It stands for every item that no other entity fits.</p>`}
    </section>
    ${shown.indexes.length > 0 && html`<section class="sec"><h3>Indexes</h3><ul class="where">
      ${shown.indexes.map((each) => html`<li><${MembershipMark} belongs=${each.belongs} /><div>
        <b><a class="ref" href=${address({ table: table.name, room: "design", query: { sel: each.index } })}>${each.index}</a></b> <span class="faint small">${each.projection}</span>
        <p><${Prose} text=${each.sentence} /></p>
        ${each.keys.length > 0 && html`<details><summary>Its key there</summary><${KeyShapes} keys=${each.keys} /></details>`}
      </div></li>`)}
    </ul></section>`}
    <${DeedList} table=${table} diagram=${diagram} entity=${entity.name} />
    <${Findings} table=${table} diagram=${diagram} selected=${{ kind: "entity", name: entity.name }} found=${found} />
    <section class="sec"><h3>Attributes<span class="end num">${shown.fields.length}</span></h3>
      <dl class="fields">${shown.fields.map((each) => html`<div><dt class="mono" translate="no">${each.attribute}</dt><dd><span class="mono" translate="no">${each.template ?? (each.field && each.field !== each.attribute ? `${each.field}: ${each.type}` : each.type)}</span>${each.notes.length > 0 && html`<span class="faint small"> <${Prose} text=${each.notes.join("; ")} /></span>`}</dd></div>`)}</dl>
    </section>
    <${SourceSection} source=${shown.source} />`;
}
