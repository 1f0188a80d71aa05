// Ctrl K: one box for rooms, entities, patterns, and keys of items.
import { html, useMemo, useState } from "../html.js";
import { ROOMS, navigate } from "../router.js";
import { Mark } from "../parts/entity.js";
import { Icon } from "../parts/icon.js";
import { Dialog } from "../parts/dialog.js";

const MOST = 12;

export function Finder({ table, here, onClose }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const found = useMemo(() => find(table, here, text), [table, text]);
  const go = (hit) => {
    onClose();
    navigate(hit.to);
  };
  const press = (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      setAt((at + (event.key === "ArrowDown" ? 1 : found.length - 1)) % Math.max(1, found.length));
    } else if (event.key === "Enter" && found[at]) {
      event.preventDefault();
      go(found[at]);
    }
  };
  return html`<${Dialog} title="Find anything" className="finder" onClose=${onClose}>
    <div class="field"><${Icon} name="search" /><input autofocus value=${text} role="combobox" aria-expanded="true" aria-controls="found" aria-activedescendant=${found.length ? `found-${at}` : undefined} aria-label="Find" placeholder="An id, a key, a pattern, an entity or a room" onInput=${(event) => { setText(event.target.value); setAt(0); }} onKeyDown=${press} /></div>
    <ul id="found" role="listbox" aria-label="Found">
      ${found.map((hit, number) => html`<li id="found-${number}" role="option" aria-selected=${number === at} onMouseDown=${(event) => { event.preventDefault(); go(hit); }} onMouseEnter=${() => setAt(number)}>
        ${hit.entity ? html`<${Mark} entity=${hit.entity} />` : html`<${Icon} name=${hit.icon} />`} <span class="grow clip">${hit.label}</span> <span class="faint">${hit.detail}</span></li>`)}
    </ul>
    ${!found.length && html`<p class="dim">Nothing has that name.</p>`}
  <//>`;
}

function find(table, here, text) {
  const wanted = text.trim().toLowerCase();
  const matches = (...texts) => texts.some((each) => each.toLowerCase().includes(wanted));
  const rooms = ROOMS.filter((each) => matches(each.title)).map((each) => ({ label: each.title, detail: "room", icon: each.icon, to: { room: each.name } }));
  const entities = table.entities.filter((each) => matches(each.name)).map((each) => ({ label: each.name, detail: "its items", entity: each, to: { room: "items", query: { only: each.name } } }));
  const patterns = table.patterns.filter((each) => matches(each.name, each.title)).map((each) => ({ label: each.title, detail: each.name, icon: "pattern", to: { room: "patterns", rest: [each.name] } }));
  const keys = wanted ? [{ label: `Items with ${text.trim()} in their key or fields`, detail: "Items", icon: "items", to: { room: "items", query: { where: text.trim() } } }] : [];
  return [...patterns, ...entities, ...rooms, ...keys].slice(0, MOST);
}
