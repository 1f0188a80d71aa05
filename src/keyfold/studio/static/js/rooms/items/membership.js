// Who is in an index: a meter for each entity, and why the others are not there.
import { html } from "../../html.js";
import { EntityName, hueOf } from "../../parts/entity.js";
import { Sentence } from "./sentence.js";

export function Membership({ table, index, counts }) {
  const tally = counts?.indexes?.[index.name];
  const rows = table.entities
    .map((entity) => describe(table, index, entity, counts, tally))
    .sort((one, other) => other.order - one.order || other.inside - one.inside);
  return html`<section class="sec who" aria-label="Who is here">
    <h3>Who is here<span class="end hide-s">${tally ? "live items by entity" : "by declaration"}</span></h3>
    <table class="t mem"><tbody>
      ${rows.map((row) => html`<tr ...${hueOf(row.entity)}>
        <td><${EntityName} entity=${row.entity} /></td>
        <td class="r">${tally ? html`${row.inside.toLocaleString("en-US")} <span class="faint">of ${row.all.toLocaleString("en-US")}</span>` : ""}</td>
        <td>${tally ? html`<span class="meter" aria-hidden="true"><i style=${{ width: `${row.all ? (100 * row.inside) / row.all : 0}%` }}></i></span>` : ""}</td>
        <td class="dim"><${Sentence} text=${row.why} /></td>
      </tr>`)}
    </tbody></table>
  </section>`;
}

function describe(table, index, entity, counts, tally) {
  const inside = tally?.entities[entity.name] ?? 0;
  const all = counts?.entities?.[entity.name] ?? 0;
  const names = [...index.key.partition, ...index.key.sort];
  const own = new Set([...table.key.partition, ...table.key.sort]);
  if (names.every((name) => own.has(name))) return { entity, inside, all, order: 2, why: "all" };
  const declared = new Set([...own, ...entity.fields.map((field) => field.attribute), ...(entity.indexes[index.name] ?? []).map((key) => key.attribute)]);
  const missing = names.filter((name) => !declared.has(name));
  if (missing.length && !inside) return { entity, inside, all, order: 0, why: `has no ${missing.map((name) => `\`${name}\``).join(" and no ")}: can never be here` };
  if (!tally) return { entity, inside, all, order: 1, why: `when ${names.map((name) => `\`${name}\``).join(" and ")} ${names.length === 1 ? "is" : "are"} set` };
  if (!all) return { entity, inside, all, order: 1, why: "has no live items" };
  const lacking = Object.entries(tally.lacking[entity.name] ?? {});
  if (inside === all) return { entity, inside, all, order: 2, why: "all" };
  if (!inside) return { entity, inside, all, order: 1, why: `${lacking.filter(([, count]) => count === all).map(([name]) => `\`${name}\``).join(" and ") || "a part of the key"} is not set on any` };
  return { entity, inside, all, order: 2, why: lacking.map(([name, count]) => `${count.toLocaleString("en-US")} without \`${name}\``).join(", ") };
}

/** One sentence about an index: when an item is in it, and how many are. */
export function IndexHint({ table, index, counts }) {
  const names = [...index.key.partition, ...index.key.sort];
  const own = new Set([...table.key.partition, ...table.key.sort]);
  const isSparse = !names.every((name) => own.has(name));
  const tally = counts?.indexes?.[index.name];
  const when = names.map((name) => `\`${name}\``).join(" and ");
  const projection = index.project === "all" ? "all fields projected" : index.project === "keys" ? "keys only" : `keys and ${index.project.join(", ")}`;
  return html`<p class="hint"><span class="clip">${isSparse ? html`<b>Sparse index:</b> <${Sentence} text=${`an item is here when ${when} ${names.length === 1 ? "is" : names.length === 2 ? "are both" : "are all"} set.`} />` : html`<b>Every item is here</b>, under another key.`}
    ${tally ? html` <b class="num">${tally.total.toLocaleString("en-US")}</b> of ${counts.total.toLocaleString("en-US")} live items are.` : ""}</span><span class="grow"></span><span class="badge hide-s">${projection}</span></p>`;
}
