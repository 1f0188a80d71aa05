// The legend: every entity with its mark and count. A click shows only its items, Ctrl-click adds or removes it.
import { html, useEffect, useState } from "../html.js";
import { act } from "../api.js";
import { navigate } from "../router.js";
import { Mark } from "../parts/entity.js";

export function Legend({ table, here, room }) {
  const [counts, setCounts] = useState(null);
  useEffect(() => {
    let isCurrent = true;
    setCounts(null);
    act("items/counts", {})
      .then((answer) => isCurrent && setCounts(answer.result))
      .catch(() => isCurrent && setCounts(null));
    return () => {
      isCurrent = false;
    };
  }, [table.name, here.query.as]);
  const only = (here.query.only ?? "").split(",").filter(Boolean);
  const choose = (name, event) => {
    const isAdded = event.ctrlKey || event.metaKey;
    const next = isAdded ? (only.includes(name) ? only.filter((each) => each !== name) : [...only, name]) : only.length === 1 && only[0] === name ? [] : [name];
    const query = room.name === "items" ? { ...here.query, only: next.join(","), at: undefined } : { only: next.join(",") };
    navigate({ room: "items", query });
  };
  return html`<h2><span>Entities</span><span>items</span></h2>
    <ul class="legend">
      ${table.entities.map(
        (entity) => html`<li><button type="button" aria-pressed=${only.includes(entity.name)} title="Show the items of ${entity.name}" onClick=${(event) => choose(entity.name, event)}>
          <${Mark} entity=${entity} />${entity.name}<span class="n">${counts?.entities?.[entity.name]?.toLocaleString("en-US") ?? "…"}</span>
        </button></li>`,
      )}
    </ul>
    ${counts?.about !== undefined && html`<p class="faint small">about ${counts.about.toLocaleString("en-US")} items in all</p>`}`;
}
