// What the view says beside its items: the picture in one sentence, how items were found, and what is left.
import { html } from "../../html.js";
import { navigate, setQuery } from "../../router.js";
import { Icon } from "../../parts/icon.js";
import { Empty, Failed, Loading } from "../../parts/states.js";
import { showUnits, trim } from "../../parts/text.js";

export function TableHint({ table, layout }) {
  if (layout === "raw") return html`<p class="hint">Items as DynamoDB stores them, one line each; choose one to see the whole.</p>`;
  if (layout === "rows") return html`<p class="hint">One table for each kind of entity, as far as items are loaded.</p>`;
  if (!table.key.sort.length) return html`<p class="hint"><span>Each band is a <b>partition</b> with one item: the table has no sort key.</span></p>`;
  return html`<p class="hint"><span>Each band is a <b>partition</b>; cards are its items, left to right by <b>sort key</b>.</span><span class="grow"></span><span class="hide-s clip">The bar under a band has one tick an item.</span></p>`;
}

/** How the items were found, and what else could be done. */
export function Banner({ table, index, model, where, only, everywhere, principal }) {
  const { error, missed, notes, size, how, bands, isLoading } = model;
  const isFiltered = Boolean(where || only.length);
  const search = () => setQuery({ everywhere: "1" }, { replace: false });
  const cost = size ? ` (about ${trim(size.units)} RU)` : "";
  return html`
    ${error && html`<div class="sec"><${Failed} error=${error} onRetry=${error.isDenied ? undefined : model.reload}>${error.isDenied && html`<p>${principal ? "Filter by a key that this role may read." : ""}</p>`}<//></div>`}
    ${!isLoading && notes?.map((each) => html`<p class="banner"><${Icon} name="info" /> ${each}</p>`)}
    ${!isLoading && isFiltered && how === "keys" && bands.length > 0 && html`<p class="banner"><${Icon} name="check" /> <span>Found by ${index ? `the key of ${index.name}` : "key"}: ${model.read.toLocaleString("en-US")} items read, ${showUnits({ read: model.units, write: 0 })}.${missed?.length ? ` ${missed.join(" and ")} ${missed.length === 1 ? "has" : "have"} such a field, too, but not in a key.` : ""} ${!principal && html`<button type="button" class="ref" onClick=${search}>Search every item${cost}</button>`}</span></p>`}
    ${!isLoading && everywhere && html`<p class="banner"><${Icon} name="search" /> <span>Every item is searched, page by page. <button type="button" class="ref" onClick=${() => setQuery({ everywhere: undefined }, { replace: false })}>By key only</button></span></p>`}
    ${!isLoading && !error && !bands.length && !model.cursor && html`<${Nothing} table=${table} index=${index} model=${model} where=${where} only=${only} search=${search} cost=${cost} principal=${principal} />`}
    ${isLoading && !bands.length && html`<${Loading} isSlow=${model.isSlow} label="Reading items" onCancel=${model.cancel} />`}
    ${model.wasCancelled && !bands.length && html`<${Empty} title="Cancelled"><button type="button" class="btn" onClick=${model.reload}>Read again</button><//>`}`;
}

function Nothing({ table, index, model, where, only, search, cost, principal }) {
  if (!where && !only.length) {
    if (principal) return html`<${Empty} title="Nothing that this role may list"><p>${model.notes?.length ? "It may read partitions that a filter names." : `${table.name} grants it no partition of its own.`}</p><//>`;
    return html`<${Empty} title=${index ? `No item is in ${index.name}` : `${table.name} has no items`}><p>${index ? "An item is in an index when all attributes of the index’s key are set." : "Write one in Edit, or import a file there."}</p>${!index && html`<button type="button" class="btn" onClick=${() => navigate({ room: "edit" })}>Write an item</button>`}<//>`;
  }
  const asked = [where, only.length ? `only ${only.join(", ")}` : ""].filter(Boolean).join(", ");
  const empty = model.empty ?? [];
  return html`<${Empty} title="No items for ${asked}">
    ${empty.length > 0 ? html`<p>${empty.length === 1 ? "Partition" : "Partitions"} ${empty.slice(0, 6).map((each, number) => html`${number ? ", " : ""}<code translate="no">${each.texts.join(" · ")}</code>`)} ${empty.length === 1 ? "holds" : "hold"} no such items.</p>` : html`<p>${model.read.toLocaleString("en-US")} items were read.</p>`}
    <p class="row"><button type="button" class="btn" onClick=${() => setQuery({ where: undefined, only: undefined, everywhere: undefined }, { replace: false })}>Show all items</button>${model.how === "keys" && !principal && html`<button type="button" class="btn" onClick=${search}>Search every item${cost}</button>`}</p>
  <//>`;
}

/** What comes after the last band: more by scrolling, more if asked, or the end. */
export function Ending({ model, canGoOn, isPlain }) {
  const { cursor, bands, isLoading, isSlow, read, size, own } = model;
  if (!bands.length && !cursor) return null;
  const of = size ? ` of about ${size.items.toLocaleString("en-US")}` : "";
  if (isLoading && bands.length) return html`<p class="ending dim" role="status">${isSlow ? html`Reading on, ${trim(model.units)} RU so far. <button type="button" class="btn quiet" onClick=${model.cancel}>Cancel <kbd>Esc</kbd></button>` : ""}</p>`;
  if (cursor && !canGoOn) return html`<p class="ending"><span class="dim">${read.toLocaleString("en-US")}${of} items read, ${trim(model.units)} RU.</span> <button type="button" class="btn" onClick=${model.more}>Go on</button></p>`;
  if (cursor) return html`<p class="ending dim">${read.toLocaleString("en-US")}${of} items read. <button type="button" class="btn" onClick=${model.more}>Next page</button></p>`;
  return html`<p class="ending dim">${isPlain || model.how === "scan" ? `That is all: ${read.toLocaleString("en-US")} items read` : ""}${own ? `, ${own.toLocaleString("en-US")} of them Keyfold’s own, which are not shown` : ""}</p>`;
}
