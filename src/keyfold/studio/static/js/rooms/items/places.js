// Where an item lies: the table and every index, and why it is or is not there.
import { html } from "../../html.js";
import { address } from "../../router.js";
import { Icon } from "../../parts/icon.js";
import { writeItemKey } from "../../parts/itemkey.js";
import { showInline, unwrap } from "../../parts/values.js";
import { Sentence } from "./sentence.js";

const ICONS = { in: ["check", "yes", "in"], out: ["x", "no", "not in"], never: ["dash", "faint", "never in"], unknown: ["lock", "faint", "not known"] };

export function Places({ table, shown }) {
  return html`<ul class="where">${shown.places.map((place) => html`<${Place} table=${table} place=${place} shown=${shown} />`)}</ul>`;
}

function Place({ table, place, shown }) {
  const [icon, className, label] = ICONS[place.state];
  const name = place.index ?? "Table";
  const query = { through: place.index ?? undefined, at: writeItemKey(shown.item.key), where: place.state === "in" && place.index ? whereOf(table, place, shown) : undefined };
  return html`<li><${Icon} name=${icon} label=${label} className=${className} /><div>
    <a class="ref" href=${address({ table: table.name, room: "items", query })}><b>${name}</b></a> <span class="faint mono">${place.key.join(" · ")}</span>
    <p><${Sentence} text=${place.sentence} /></p>
    ${place.state !== "never" && place.conditions.length > 0 && html`<div class="cond">${place.conditions.map((each) => html`<${Icon} name=${each.set ? "check" : "x"} className=${each.set ? "yes" : "no"} label=${each.set ? "set" : "not set"} /><span title=${each.template ? `made as ${each.template}` : undefined}>${each.attribute}</span>${each.value ? html`<span class="clip" translate="no">${showQuoted(each.value)}</span>` : html`<span class="faint">not set</span>`}`)}</div>`}
    ${place.state === "out" && html`<p>Set ${place.conditions.filter((each) => !each.set).map((each) => each.attribute).join(" and ")} to bring it in (1 write unit more).</p>`}
    ${place.patterns.length > 0 && place.state === "in" && html`<p>Read by ${place.patterns.map((each, number) => html`${number ? ", " : ""}<a class="ref" href=${address({ table: table.name, room: "patterns", rest: [each.name] })}>${each.title}</a>`)}.</p>`}
  </div></li>`;
}

function whereOf(table, place, shown) {
  const index = table.indexes.find((each) => each.name === place.index);
  const attribute = index.key.partition[0];
  const value = shown.raw[attribute];
  return value && !("cut" in value) ? `${attribute} = ${unwrap(value)[1]}` : undefined;
}

function showQuoted(value) {
  const [kind, data] = unwrap(value);
  return kind === "S" ? JSON.stringify(data) : showInline(value, 60);
}
