// The room of items: partitions as bands, through the table or an index, filtered, with an inspector.
import { html, useEffect, useRef, useState } from "../html.js";
import { useAction } from "../api.js";
import { useKeys } from "../keyboard.js";
import { address, navigate, setQuery } from "../router.js";
import { copyText } from "../parts/copy.js";
import { Dialog } from "../parts/dialog.js";
import { Mark, findEntity } from "../parts/entity.js";
import { readItemKey, writeItemKey } from "../parts/itemkey.js";
import { ItemsBar } from "./items/bar.js";
import { BandList } from "./items/bands.js";
import { Inspector } from "./items/inspector.js";
import { IndexHint, Membership } from "./items/membership.js";
import { useBands } from "./items/model.js";
import { RawList } from "./items/rawlist.js";
import { addressOf, describeReference } from "./items/references.js";
import { AbsentRow, IndexRows, RowTables } from "./items/rows.js";
import { Banner, Ending, TableHint } from "./items/says.js";
import { useNarrow } from "./items/windowing.js";

export function ItemsRoom({ table, here, principal, opened }) {
  const { through, where = "", only = "", everywhere } = here.query;
  const index = table.indexes.find((each) => each.name === through) ?? null;
  const layout = here.query.layout ?? (index || !table.key.sort.length ? "rows" : "cards");
  const at = readItemKey(here.query.at, table);
  // The partition of the item that an address names comes first; choosing another one does not reorder.
  const near = useRef(at);
  const names = only.split(",").filter(Boolean);
  const isPlain = !where && !names.length;
  const model = useBands({ through: index?.name, where, only: names, everywhere: everywhere === "1" || undefined, raw: layout === "raw" || undefined, near: isPlain && !index ? near.current ?? undefined : undefined });
  const { result: counts } = useAction("items/counts", index ? {} : null);
  const pane = useRef(null);
  const filter = useRef(null);
  const isNarrow = useNarrow();
  const [shown, setShown] = useState(null);
  const [isChoosing, setChoosing] = useState(false);
  const [said, setSaid] = useState("");

  const open = (item) => setQuery({ at: writeItemKey(item.key) });
  const close = () => {
    setQuery({ at: undefined });
    const places = [".card[aria-current]", "tr[aria-current] button", "[aria-current]", ".card[tabindex='0']"];
    places.map((each) => pane.current?.querySelector(each)).find(Boolean)?.focus();
  };
  const follow = (event, reference) => {
    if (event && (event.ctrlKey || event.metaKey || event.shiftKey || event.button)) return;
    event?.preventDefault();
    event?.stopPropagation();
    setChoosing(false);
    const isLoaded = reference.at && !index && model.bands.some((band) => band.cards.some((card) => writeItemKey(card.key) === writeItemKey(reference.at)));
    if (isLoaded) setQuery({ at: writeItemKey(reference.at) }, { replace: false });
    else {
      near.current = reference.at ?? null;
      navigate(addressOf(table, reference));
    }
  };
  const goThrough = (name) => {
    near.current = at;
    setQuery({ through: name ?? undefined, layout: undefined }, { replace: false });
  };
  const step = (by) => {
    const all = [null, ...table.indexes.map((each) => each.name)];
    goThrough(all[(all.indexOf(index?.name ?? null) + by + all.length) % all.length]);
  };
  const say = (text) => {
    setSaid(text);
    setTimeout(() => setSaid(""), 1500);
  };
  useKeys(
    {
      "/": [() => filter.current?.focus(), "filter this view"],
      "[": [() => step(-1), "previous index"],
      "]": [() => step(1), "next index"],
      1: [() => setQuery({ layout: "cards" }), "as cards"],
      2: [() => setQuery({ layout: "rows" }), "as rows"],
      3: [() => setQuery({ layout: "raw" }), "as DynamoDB has them"],
      f: [() => (at ? setChoosing(true) : say("Choose an item first.")), "follow a reference"],
      y: [() => shown && copyText(shown.title).then((done) => say(done ? `Copied ${shown.title}` : "The browser refused to copy")), "copy the key"],
      Y: [() => copyText(location.href).then((done) => say(done ? "Copied a link to this view" : "The browser refused to copy")), "copy a link to this view"],
      e: [() => shown && !opened.readOnly && navigate(address({ room: "edit", query: { at: writeItemKey(shown.item.key) } })), "edit the item"],
      Escape: [() => (document.querySelector("dialog[open]") ? false : model.isLoading && model.isSlow ? model.cancel() : at ? close() : false), "close the item, or cancel"],
    },
    [shown, index, here, model.isLoading, model.isSlow],
  );
  useEffect(() => {
    if (pane.current) pane.current.scrollTop = 0;
  }, [index?.name, where, only, layout]);
  useEffect(() => {
    if (!at) setShown(null);
  }, [at === null]);

  // The key may come before the item: one reference is followed, of several one is chosen.
  useEffect(() => {
    if (!isChoosing || !shown || shown.references.length > 1) return;
    setChoosing(false);
    if (shown.references.length) follow(null, shown.references[0]);
    else say("This item leads to no other.");
  }, [isChoosing, shown]);

  // A search of all items goes on only if it is asked to.
  const canGoOn = isPlain && model.how === "scan";
  const view = { table, index, model, pane, at, isNarrow, canGoOn, onOpen: open };
  const place = index && shown?.places.find((each) => each.index === index.name);
  const absent = place && place.state !== "in" && place.state !== "unknown" ? html`<${AbsentRow} table=${table} shown=${shown} place=${place} />` : "";
  return html`<${ItemsBar} table=${table} index=${index} where=${where} only=${names} layout=${layout} input=${filter} onThrough=${goThrough} />
    ${index ? html`<${IndexHint} table=${table} index=${index} counts=${counts} />` : html`<${TableHint} table=${table} layout=${layout} />`}
    <div class="split items">
      <div class="pane" ref=${pane} aria-busy=${model.isLoading ? "true" : undefined}>
        ${index && isPlain && html`<${Membership} table=${table} index=${index} counts=${counts} />`}
        <${Banner} table=${table} index=${index} model=${model} where=${where} only=${names} everywhere=${everywhere === "1"} principal=${principal} />
        ${layout === "cards" ? html`<${BandList} ...${view} />` : layout === "raw" ? html`<${RawList} ...${view} />` : index ? html`<section class="sec" aria-label="Partitions by ${index.key.partition.join(" · ")}"><h3>Partitions by ${index.key.partition.join(" · ")}</h3><${IndexRows} ...${view} absent=${absent} /></section>` : html`<${RowTables} ...${view} />`}
        <${Ending} model=${model} canGoOn=${canGoOn} isPlain=${isPlain} />
      </div>
      ${at && html`<${Inspector} table=${table} at=${at} layout=${layout} isReadOnly=${opened.readOnly} isNarrow=${isNarrow} onClose=${close} onShown=${setShown} onFollow=${follow} />`}
    </div>
    <p class="sr" role="status">${said || (model.isLoading ? "" : `${model.bands.length} partitions loaded`)}</p>
    ${said && html`<p class="said" aria-hidden="true">${said}</p>`}
    ${isChoosing && shown?.references.length > 1 && html`<${Dialog} title="Follow a reference" onClose=${() => setChoosing(false)}><ul class="menu">${shown.references.map((each) => html`<li><a href=${addressOf(table, each)} onClick=${(event) => follow(event, each)}><${Mark} entity=${findEntity(table, each.entity)} /> <span class="grow clip">${describeReference(each)}</span> <span class="faint mono clip">${each.label}</span></a></li>`)}</ul><//>`}`;
}
