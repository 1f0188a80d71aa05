// The room Design: the table as a picture, its keys as tables, its document; beside it what is selected.
import { html, useRef } from "../html.js";
import { useAction } from "../api.js";
import { useKeys } from "../keyboard.js";
import { navigate, setQuery } from "../router.js";
import { useKept } from "../session.js";
import { Icon } from "../parts/icon.js";
import { Failed, Loading } from "../parts/states.js";
import { Diagram } from "./design/diagram.js";
import { DocumentTab } from "./design/document.js";
import { saveSvg } from "./design/export.js";
import { useFindings } from "./design/findings.js";
import { KeysTab } from "./design/keys.js";
import { ModuleTab } from "./design/module.js";
import { findSelection } from "./design/selection.js";
import { Resizer } from "./design/resizer.js";
import { SidePane } from "./design/side.js";

const [LEAST_SIDE, MOST_SIDE] = [300, 560];

export function DesignRoom({ table, here }) {
  const { result: diagram, error, isSlow, reload } = useAction("design/diagram", {});
  const found = useFindings(table.name);
  const svg = useRef(null);
  const [width, setWidth] = useKept("design-side", 360);
  const selected = findSelection(table, here.query.sel);
  const tabs = [["diagram", "Diagram"], ["keys", "Keys"], ["document", "Document"], ...(table.origin === "inferred" ? [["module", "Declaration"]] : [])];
  const tab = tabs.find(([name]) => name === here.query.tab)?.[0] ?? "diagram";
  const choose = (name) => navigate({ ...here, query: { ...here.query, tab: name === "diagram" ? "" : name } });
  useKeys({ Escape: [() => (here.query.sel ? setQuery({ sel: "" }) : false), "clear the selection"] }, [here.query.sel]);
  const side = tab === "diagram" || selected;
  return html`<div class="bar"><h1>Design</h1><${Tabs} tabs=${tabs} current=${tab} onChoose=${choose} /><span class="grow"></span>
      <${Badges} found=${found} />
      ${tab === "diagram" && html`<button type="button" class="btn hide-s" disabled=${!diagram} onClick=${() => saveSvg(svg.current, table.name)}>Export SVG</button>`}
    </div>
    ${here.query.sel && !selected && html`<p class="hint warn-hint" role="note"><${Icon} name="info" /> ${table.name} has no entity, index or pattern named <code>${here.query.sel}</code>.</p>`}
    <div class="split design" role="tabpanel" aria-label=${tabs.find(([name]) => name === tab)[1]}>
      <div class="pane tab-${tab}">
        ${error ? html`<div class="sec"><${Failed} error=${error} onRetry=${reload} /></div>` : !diagram ? html`<${Loading} isSlow=${isSlow} label="Explaining the patterns" />` : html`<${Tab} tab=${tab} table=${table} here=${here} diagram=${diagram} selected=${selected} findings=${found.review?.findings} svg=${svg} />`}
      </div>
      ${side && html`<${Resizer} width=${width} least=${LEAST_SIDE} most=${MOST_SIDE} onResize=${setWidth} /><${SidePane} table=${table} selected=${selected} diagram=${diagram} found=${found} width=${width} />`}
    </div>`;
}

function Tab({ tab, ...rest }) {
  if (rest.table.entities.length === 0 && tab === "diagram") return html`<div class="sec"><p>${rest.table.name} has no entities yet.</p></div>`;
  if (tab === "keys") return html`<${KeysTab} ...${rest} />`;
  if (tab === "document") return html`<${DocumentTab} ...${rest} />`;
  if (tab === "module") return html`<${ModuleTab} ...${rest} />`;
  return html`<${Diagram} ...${rest} />`;
}

function Tabs({ tabs, current, onChoose }) {
  const press = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = tabs.findIndex(([name]) => name === current);
    const next = (at + step + tabs.length) % tabs.length;
    onChoose(tabs[next][0]);
    event.currentTarget.children[next].focus();
  };
  return html`<div class="seg" role="tablist" aria-label="Views of the design" onKeyDown=${press}>
    ${tabs.map(([name, title]) => html`<button type="button" role="tab" aria-selected=${name === current} tabindex=${name === current ? 0 : -1} onClick=${() => onChoose(name)}>${title}</button>`)}
  </div>`;
}

/** How many warnings and notes there are; either leads to the list of all. */
function Badges({ found }) {
  const counts = found.review?.counts;
  if (!counts) return null;
  const show = () => {
    setQuery({ sel: "", tab: "" });
    requestAnimationFrame(() => document.getElementById("findings")?.focus());
  };
  const shown = [["err", "warn", counts.error, "error"], ["warn", "warn", counts.warning, "warning"], ["", "info", counts.note, "note"]].filter(([, , number]) => number);
  return html`${shown.map(([kind, icon, number, noun]) => html`<button type="button" class="badge lint ${kind}" onClick=${show}><${Icon} name=${icon} />${number} ${noun}${number === 1 ? "" : "s"}</button>`)}`;
}
