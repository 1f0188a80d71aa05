// Items as DynamoDB has them, one line each; the inspector has the whole of the current one.
import { html, useEffect, useMemo, useRef } from "../../html.js";
import { Mark, findEntity } from "../../parts/entity.js";
import { isSameKey, writeItemKey } from "../../parts/itemkey.js";
import { findWindow, sumUp, useScroll } from "./windowing.js";

const ROW = 29;
const EXTRA_ROWS = 12;
const LINE = 400;

export function RawList({ table, model, pane, at, canGoOn, onOpen }) {
  const items = useMemo(() => model.bands.flatMap((band) => band.cards), [model.bands]);
  const list = useRef(null);
  const view = useScroll(pane);
  const top = list.current?.offsetTop ?? 0;
  const [first, last] = findWindow(sumUp(items.length, () => ROW), view.start - top, view.start - top + view.size, EXTRA_ROWS);
  useEffect(() => {
    if (!view.size || view.start + view.size < 0.8 * (top + items.length * ROW)) return;
    const unfinished = model.bands.find((each) => each.cursor && !each.error && each.cards.length < 400);
    if (unfinished) model.next(unfinished.id);
    else if (canGoOn) model.more();
  }, [view.start, view.size, model.bands, canGoOn, model.isLoading]);
  return html`<ul class="rawlist" ref=${list} role="list" aria-label="items in DynamoDB’s JSON" style=${{ height: `${items.length * ROW}px` }}>
    ${items.slice(first, last).map((item, number) => html`<li key=${writeItemKey(item.key)} style=${{ top: `${(first + number) * ROW}px` }} aria-setsize=${items.length} aria-posinset=${first + number + 1} class=${item.expired ? "gone" : ""}>
      <button type="button" aria-current=${isSameKey(item.key, at) ? "true" : undefined} onClick=${() => onOpen(item)}><${Mark} entity=${findEntity(table, item.entity)} expired=${item.expired} /><code class="clip" translate="no">${JSON.stringify(item.raw ?? item.key).slice(0, LINE)}</code></button>
    </li>`)}
  </ul>`;
}
