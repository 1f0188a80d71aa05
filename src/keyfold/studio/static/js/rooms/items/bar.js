// The bar of the room: what to read through, the filter, and the layout.
import { html, useEffect, useState } from "../../html.js";
import { setQuery } from "../../router.js";
import { Icon } from "../../parts/icon.js";
import { Mark, findEntity } from "../../parts/entity.js";

const LAYOUTS = [["cards", "Cards", "1"], ["rows", "Rows", "2"], ["raw", "Raw", "3"]];

export function ItemsBar({ table, index, where, only, layout, input, onThrough }) {
  const [text, setText] = useState(where);
  useEffect(() => setText(where), [where]);
  const filter = (event) => {
    event.preventDefault();
    setQuery({ where: text.trim(), everywhere: undefined, at: undefined }, { replace: false });
  };
  const clear = () => {
    setText("");
    setQuery({ where: undefined, everywhere: undefined }, { replace: false });
    input.current?.focus();
  };
  const press = (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    if (text !== where) setText(where);
    else event.target.blur();
  };
  const places = [{ name: null, title: "Table", key: table.key }, ...table.indexes.map((each) => ({ name: each.name, title: each.name, key: each.key }))];
  return html`<div class="bar itemsbar">
    <h1 class="hide-s">Items</h1>
    <div class="seg" role="group" aria-label="Read through">
      ${places.map((place) => html`<button type="button" aria-pressed=${place.name === (index?.name ?? null)} onClick=${() => onThrough(place.name)}>${place.title} <small class="hide-s">${[...place.key.partition, ...place.key.sort].join(" · ")}</small></button>`)}
    </div>
    <span class="grow"></span>
    ${only.map((name) => html`<button type="button" class="badge chip" aria-label="Show other entities than ${name}, too" onClick=${() => setQuery({ only: only.filter((each) => each !== name).join(",") }, { replace: false })}><${Mark} entity=${findEntity(table, name)} />only ${name}<${Icon} name="x" /></button>`)}
    <form role="search" class="field filterbox" onSubmit=${filter}><${Icon} name="search" /><input ref=${input} value=${text} onInput=${(event) => setText(event.target.value)} onKeyDown=${press} aria-label="Filter by key, field or text" placeholder=${exampleOf(table)} spellcheck="false" autocomplete="off" aria-keyshortcuts="/" />${text && html`<button type="button" class="clear" aria-label="Clear the filter" onClick=${clear}><${Icon} name="x" /></button>`}</form>
    <div class="seg" role="group" aria-label="Layout">${LAYOUTS.map(([name, title, key]) => html`<button type="button" aria-pressed=${layout === name} aria-keyshortcuts=${key} onClick=${() => setQuery({ layout: name })}>${title}</button>`)}</div>
  </div>`;
}

/** Return a filter that would work in this table. */
function exampleOf(table) {
  const parts = table.entities.flatMap((entity) => entity.keys[0].pieces.map((piece) => piece.part)).filter(Boolean);
  return parts.length ? `${parts[0]} = …, a key, any text` : "a key, a field = value, any text";
}
