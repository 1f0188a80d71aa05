// The legend: every entity with its mark and count. A click shows only its items, Ctrl-click adds or removes it.
import { html, useEffect, useRef, useState } from "../html.js";
import { act } from "../api.js";
import { navigate } from "../router.js";
import { useSession } from "../session.js";
import { Mark } from "../parts/entity.js";
import { trim } from "../parts/text.js";

export function Legend({ table, here, room }) {
  const [counts, setCounts] = useState(null);
  const [isCounting, setCounting] = useState(false);
  const counting = useRef(null);
  const { write } = useSession();
  useEffect(() => {
    counting.current?.abort();
    setCounting(false);
    setCounts(null);
  }, [table.name, here.query.as]);
  useEffect(() => {
    const aborting = new AbortController();
    act("items/counts", {}, { signal: aborting.signal })
      .then((answer) => setCounts((old) => (old?.isCounted && answer.result.about !== undefined ? old : answer.result)))
      .catch(() => undefined);
    return () => aborting.abort();
  }, [table.name, here.query.as, write]);
  useEffect(() => () => counting.current?.abort(), []);

  // A large table is counted in steps, each adding to what is shown.
  const count = async () => {
    const aborting = new AbortController();
    counting.current = aborting;
    setCounting(true);
    let cursor;
    let sum = null;
    try {
      do {
        const { result } = await act("items/counts", { count: true, cursor }, { signal: aborting.signal });
        sum = addCounts(sum, result);
        cursor = result.cursor ?? undefined;
        setCounts({ ...sum, isCounted: true, complete: !cursor });
      } while (cursor);
    } catch {
      // What was counted stays; a lost server is told elsewhere.
    }
    if (counting.current === aborting) setCounting(false);
  };

  const only = (here.query.only ?? "").split(",").filter(Boolean);
  const choose = (name, event) => {
    const isAdded = event.ctrlKey || event.metaKey;
    const next = isAdded ? (only.includes(name) ? only.filter((each) => each !== name) : [...only, name]) : only.length === 1 && only[0] === name ? [] : [name];
    const query = room.name === "items" ? { ...here.query, only: next.join(","), everywhere: undefined, at: undefined } : { only: next.join(",") };
    navigate({ room: "items", query });
  };
  return html`<h2><span>Entities</span><span>items</span></h2>
    <ul class="legend">
      ${table.entities.map(
        (entity) => html`<li><button type="button" aria-pressed=${only.includes(entity.name)} title="Show the items of ${entity.name}; with Ctrl, these too" onClick=${(event) => choose(entity.name, event)}>
          <${Mark} entity=${entity} /><span class="clip">${entity.name}</span><span class="n">${counts?.entities?.[entity.name]?.toLocaleString("en-US") ?? "…"}</span>
        </button></li>`,
      )}
    </ul>
    <p class="faint small" role="status">${say(counts, isCounting)}</p>
    ${counts?.about !== undefined && !isCounting && html`<p class="small"><button type="button" class="btn" onClick=${count}>Count (about ${trim(counts.units)} RU)</button></p>`}
    ${isCounting && html`<p class="small"><button type="button" class="btn quiet" onClick=${() => counting.current.abort()}>Stop counting</button></p>`}`;
}

function say(counts, isCounting) {
  if (!counts) return "";
  if (counts.about !== undefined) return `about ${counts.about.toLocaleString("en-US")} items in all`;
  if (counts.total === undefined) return "";
  const expired = counts.expired ? `, and ${counts.expired.toLocaleString("en-US")} expired, not yet deleted` : "";
  const more = isCounting || counts.complete === false ? " and more" : "";
  return `${counts.total.toLocaleString("en-US")} ${counts.expired ? "live items" : "items"}${more}${expired}`;
}

function addCounts(sum, step) {
  if (!sum) return step;
  const entities = Object.fromEntries(Object.entries(step.entities).map(([name, count]) => [name, count + (sum.entities[name] ?? 0)]));
  return { ...step, entities, total: sum.total + step.total, expired: sum.expired + step.expired, own: sum.own + step.own };
}
