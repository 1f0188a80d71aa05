// The matrix of a role: shards and indexes by right. Each cell can be tried.
import { html, useRef, useState } from "../../html.js";
import { setQuery } from "../../router.js";
import { Mark, findEntity } from "../../parts/entity.js";
import { Icon } from "../../parts/icon.js";

const RIGHTS = ["get", "query", "create", "update", "delete"];
const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

export function Matrix({ table, matrix, tried, attempt, onCount }) {
  const { role, tenant, own, areas, indexes, extras } = matrix;
  const [current, setCurrent] = useState([0, 0]);
  const grid = useRef(null);
  const move = (event) => {
    const step = MOVES[event.key];
    const cell = event.target.closest("[data-at]");
    if (!step || !cell) return;
    event.preventDefault();
    const [row, column] = cell.dataset.at.split(",").map(Number);
    let next = [row + step[0], column + step[1]];
    // Indexes have one cell: go on to the nearest.
    while (next[0] >= 0 && next[0] < areas.length + indexes.length) {
      const found = grid.current.querySelector(`[data-at="${next}"]`);
      if (found) return focusCell(found, next, setCurrent);
      if (step[1]) return;
      next = [next[0], 1];
    }
  };
  const cell = (row, right, isAllowed, target) => html`<${Cell} at=${[row, RIGHTS.indexOf(right)]} current=${current} right=${right} isAllowed=${isAllowed} where=${target.area ?? target.index} isTried=${isTried(attempt, tried, right, target)} onTry=${() => tryCell(target, right)} />`;
  const counted = areas.filter((area) => area.count);
  const readable = areas.filter((area) => area.rights.includes("get") || area.rights.includes("query"));
  const isComplete = readable.length > 0 && readable.every((area) => area.count?.whole);
  const several = areas.find((area) => area.entities.length > 1 && area.rights.length);
  return html`
    <h2 class="lbl">What ${role} may touch${tenant ? `, as ${tenant} = ${own ?? "…"}` : ""}
      <span class="end num">${!tenant || !own ? "" : isComplete ? html`<b class="figure">${sum(counted)}</b> of ${matrix.total?.toLocaleString("en-US") ?? "all"} <span title="Expired items and Keyfold's own included">stored items</span> are readable` : !matrix.counted ? html`<button type="button" class="ref" onClick=${onCount}>Count its items</button>` : ""}</span></h2>
    <div class="scrollx"><table class="t mx" role="grid" aria-label="Rights of ${role}" ref=${grid} onKeyDown=${move}>
      <thead><tr><th scope="col">shard</th>${RIGHTS.map((right) => html`<th scope="col" class="c">${right}</th>`)}<th scope="col">partitions</th><th scope="col" class="r">items</th></tr></thead>
      <tbody>
        ${areas.map((area, row) => html`<tr>
          <th scope="row"><span class="areaname">${area.entities.slice(0, 4).map((name) => html`<${Mark} entity=${findEntity(table, name)} />`)}<b>${area.name}</b>${area.shard ? "" : html`<span class="faint small">no shard</span>`}</span><span class="sr">${area.entities.join(", ")}</span></th>
          ${RIGHTS.map((right) => cell(row, right, area.rights.includes(right), { area: area.name }))}
          <td class="parts"><${Partitions} area=${area} tenant=${tenant} own=${own} /></td>
          <td class="r">${showItems(area, tenant)}</td>
        </tr>`)}
        ${indexes.map((index, number) => html`<tr class="ixrow">
          <th scope="row"><b>${index.name}</b> <span class="faint small">index</span></th>
          <td></td>${cell(areas.length + number, "query", index.query, { index: index.name })}<td colspan="3"></td>
          <td colspan="2" class="parts"><${IndexNote} index=${index} /></td>
        </tr>`)}
      </tbody>
    </table></div>
    <p class="dim small roomnote">${several ? html`Rights are for whole partitions: who may use <b>${several.name}</b> uses ${several.entities.join(" and ")} alike. ` : ""}Whatever the role does not name is denied. ${matrix.declared ? html`Declared in <code>${matrix.declared.file}:${matrix.declared.line}</code>.` : ""}</p>
    <${Extras} extras=${extras} />`;
}

function focusCell(found, at, setCurrent) {
  setCurrent(at);
  found.focus();
}

function Cell({ at, current, right, isAllowed, where, isTried, onTry }) {
  const label = `${right} in ${where}: ${isAllowed ? "allowed" : "denied"}. Try it`;
  const isCurrent = at[0] === current[0] && at[1] === current[1];
  return html`<td class="c ${isAllowed ? "y" : "n"}${isTried ? " tried" : ""}"><button type="button" data-at=${String(at)} tabindex=${isCurrent ? 0 : -1} aria-label=${label} title=${label} aria-current=${isTried ? "true" : undefined} onClick=${onTry}><${Icon} name=${isAllowed ? "check" : "dash"} /></button></td>`;
}

function tryCell(target, right) {
  setQuery({ try: undefined, right, area: target.area, through: target.index, key: undefined, sort: undefined });
}

/** Whether a cell is what the attempt is about: the area and the right that it misses. */
function isTried(attempt, tried, right, target) {
  if (!attempt) return false;
  if (target.index) return attempt.index === target.index || (tried?.index === target.index && right === "query");
  if (attempt.right) return attempt.right === right && !attempt.index && (attempt.area ?? tried?.area) === target.area;
  return tried?.area === target.area && (tried.missing ?? []).includes(right);
}

function Partitions({ area, tenant, own }) {
  if (!area.rights.length) return html`<span class="faint">none</span>`;
  const limits = [area.hidden.length ? `does not see ${area.hidden.join(", ")}` : "", area.fixed.length ? `does not change ${area.fixed.join(", ")}` : "", area.writable ? "" : `writes only items of ${area.name}`].filter(Boolean);
  return html`
    ${area.partitions.length ? area.partitions.map((pieces) => html`<${Pieces} pieces=${pieces} />`) : html`<span class="dim">all that no shard has</span>`}
    ${area.scope === "items" && html`<span class="dim small">items ${area.items.map((pieces) => html`<${Pieces} pieces=${pieces} />`)}</span>`}
    ${tenant && area.scope === "all" && html`<span class="dim small">shared by every ${tenant}</span>`}
    ${limits.map((each) => html`<span class="small limit"><${Icon} name="lock" />${each}</span>`)}`;
}

export function Pieces({ pieces }) {
  return html`<span class="key flat" translate="no" title=${pieces.map((piece) => piece.text).join("")}>${pieces.map((piece) => (piece.part ? html`<span class="p"><b>${piece.text}</b></span>` : html`<span class="l">${piece.text}</span>`))}</span>`;
}

function showItems(area, tenant) {
  const isReadable = area.rights.includes("get") || area.rights.includes("query");
  if (!isReadable) return html`<span class="faint">0</span>`;
  if (area.count) return `${area.count.items.toLocaleString("en-US")}${area.count.whole ? "" : "+"}`;
  return tenant ? "" : html`<span class="faint" title="all tenants'">all</span>`;
}

function IndexNote({ index }) {
  if (index.query) return index.partitions.length ? index.partitions.map((pieces) => html`<${Pieces} pieces=${pieces} />`) : html`<span class="dim">all partitions</span>`;
  const patterns = index.lookupPatterns;
  return html`<span class="dim">${patterns.length ? html`looked up by ${patterns.map((name, number) => html`${number ? ", " : ""}<code>${name}</code>`)} only` : index.lookup ? "items can be looked up by their index key" : "not queried"}</span>${index.reason ? html`<span class="faint small">${index.reason}</span>` : ""}`;
}

function Extras({ extras }) {
  const listed = [
    extras.everything.length ? `${extras.everything.join(", ")} of EVERYTHING, also outside of shards` : "",
    extras.unique.length ? `taking and releasing unique values of ${extras.unique.join(", ")}` : "",
    extras.operations.length ? `calling ${extras.operations.join(", ")}` : "",
  ].filter(Boolean);
  if (!listed.length && !extras.endUser) return "";
  return html`<p class="dim small roomnote">${listed.length ? `It also allows ${listed.join("; ")}. ` : ""}${extras.endUser ? "It is a role of end users, who see handles instead of system keys." : ""}</p>`;
}

function sum(areas) {
  return areas.reduce((total, area) => total + area.count.items, 0).toLocaleString("en-US");
}

