// The studio's frame: top bar, rooms, legend, status bar, and the room of the current address.
import { html, render, useEffect, useState } from "./html.js";
import { act, useAction } from "./api.js";
import { handleKey, useKeys } from "./keyboard.js";
import { ROOMS, address, followLinks, navigate, readPrincipal, useLocation } from "./router.js";
import { Failed, Loading } from "./parts/states.js";
import { KeyList } from "./shell/keylist.js";
import { Legend } from "./shell/legend.js";
import { Finder } from "./shell/finder.js";
import { RoleButton } from "./shell/rolebutton.js";
import { StatusBar } from "./shell/statusbar.js";
import { DatabaseCrumb, TableCrumb } from "./shell/crumbs.js";
import { ThemeButton, applyTheme } from "./shell/theme.js";
import { Icon } from "./parts/icon.js";
import { ChangesRoom } from "./rooms/changes.js";
import { ConsoleRoom } from "./rooms/console.js";
import { CostsRoom } from "./rooms/costs.js";
import { DesignRoom } from "./rooms/design.js";
import { WarningBadge } from "./rooms/design/findings.js";
import { EditRoom } from "./rooms/edit.js";
import { ItemsRoom } from "./rooms/items.js";
import { PatternsRoom } from "./rooms/patterns.js";
import { RoleRoom } from "./rooms/role.js";

const COMPONENTS = {
  design: DesignRoom,
  items: ItemsRoom,
  patterns: PatternsRoom,
  edit: EditRoom,
  role: RoleRoom,
  changes: ChangesRoom,
  costs: CostsRoom,
  console: ConsoleRoom,
};
const MAIN_TABS = ["design", "items", "patterns", "role"];

function Studio() {
  const here = useLocation();
  const [opened, setOpened] = useState(null);
  const [error, setError] = useState(null);
  useEffect(() => {
    act("tables", { table: "", as: null })
      .then((answer) => setOpened(answer.result))
      .catch(setError);
  }, []);
  useEffect(() => {
    if (opened && !here.table && opened.tables.length) {
      navigate({ table: opened.tables.includes("Market") ? "Market" : opened.tables[0], room: "design" }, { replace: true });
    }
  }, [opened, here.table]);
  if (error) return html`<main class="alone"><h1>Keyfold Studio</h1><${Failed} error=${error} onRetry=${() => location.reload()} /></main>`;
  if (!opened) return html`<${Loading} isSlow=${false} />`;
  if (!opened.tables.length) return html`<main class="alone"><h1>Keyfold Studio</h1><p>${opened.database} has no tables yet. Declare one, and create it with <code>keyfold apply</code>; or see the four included designs with <code>keyfold studio --demo</code>.</p></main>`;
  if (!here.table) return html`<${Loading} isSlow=${false} />`;
  return html`<${Frame} opened=${opened} here=${here} />`;
}

function Frame({ opened, here }) {
  const { result: table, error, isSlow, reload } = useAction("table", { table: here.table, as: null });
  const room = ROOMS.find((each) => each.name === here.room) ?? ROOMS[0];
  const principal = readPrincipal(here.query.as);
  const isCurrent = table?.name === here.table;
  const [isFinding, setFinding] = useState(false);
  const [showsKeys, setShowsKeys] = useState(false);
  useEffect(() => {
    document.title = `${room.title} · ${here.table} · Keyfold Studio`;
  }, [room.title, here.table]);
  useKeys(
    {
      "Control+k": [() => setFinding(true), "find anything"],
      "?": [() => setShowsKeys(true), "show this list"],
      ...Object.fromEntries(ROOMS.map((each) => [`g ${each.key}`, [() => navigate({ table: here.table, room: each.name }), `go to ${each.title}`]])),
    },
    [here.table],
  );
  const Room = COMPONENTS[room.name];
  return html`<div class="app" onClick=${followLinks}>
    <a class="skip" href="#room" onClick=${skip}>Skip to the room</a>
    <header class="top">
      <a class="brand" href=${address({ table: here.table, room: "design" })} aria-label="Keyfold Studio"><${Logo} /><span>Keyfold Studio</span></a>
      <${DatabaseCrumb} opened=${opened} /><span class="slash hide-s">/</span>
      <${TableCrumb} opened=${opened} here=${here} table=${isCurrent ? table : null} />
      <button type="button" class="search" aria-label="Find an item, key or pattern" aria-keyshortcuts="Control+K" onClick=${() => setFinding(true)}><${Icon} name="search" /><span class="grow">Find an item, key or pattern</span><kbd>Ctrl K</kbd></button>
      ${opened.readOnly && html`<span class="badge hide-s">read-only</span>`}
      ${isCurrent && html`<${RoleButton} table=${table} principal=${principal} />`}
      <${ThemeButton} />
    </header>
    <nav class="nav" aria-label="Rooms">
      ${ROOMS.map((each) => html`<a href=${address({ table: here.table, room: each.name })} aria-current=${each === room ? "page" : undefined}><${Icon} name=${each.icon} />${each.title}${each.name === "design" && isCurrent ? html`<${WarningBadge} name=${table.name} />` : ""}${each.name === "patterns" && isCurrent ? html`<span class="badge">${table.patterns.length}</span>` : ""}</a>`)}
      ${isCurrent && html`<${Legend} table=${table} here=${here} room=${room} />`}
    </nav>
    <main class="main" id="room" tabindex="-1">
      ${isCurrent && table.origin === "inferred" && html`<p class="hint warn-hint" role="note"><${Icon} name="info" /> This declaration was inferred (${table.source}); give yours with <code>--table MODULE:NAME</code>.</p>`}
      ${isCurrent && table.problems.map((each) => html`<p class="hint warn-hint" role="note"><${Icon} name="warn" /> ${each}</p>`)}
      ${error ? html`<div class="sec"><${Failed} error=${error} onRetry=${reload} /></div>` : isCurrent ? html`<${Room} key=${`${here.table} ${here.query.as ?? ""}`} table=${table} here=${here} principal=${principal} opened=${opened} />` : html`<${Loading} isSlow=${isSlow} label="Reading the table" />`}
    </main>
    <${StatusBar} opened=${opened} principal=${principal} />
    <nav class="tabbar" aria-label="Rooms, short">
      ${ROOMS.filter((each) => MAIN_TABS.includes(each.name)).map((each) => html`<a href=${address({ table: here.table, room: each.name })} aria-current=${each === room ? "page" : undefined}><${Icon} name=${each.icon} />${each.name === "role" ? "Role" : each.title}</a>`)}
      <button type="button" onClick=${() => setFinding(true)}><${Icon} name="more" />More</button>
    </nav>
    ${isFinding && isCurrent && html`<${Finder} table=${table} here=${here} onClose=${() => setFinding(false)} />`}
    ${showsKeys && html`<${KeyList} onClose=${() => setShowsKeys(false)} />`}
  </div>`;
}

function skip(event) {
  event.preventDefault();
  document.getElementById("room").focus();
}

function Logo() {
  return html`<svg viewBox="0 0 20 20" aria-hidden="true"><path class="sheet-fill" d="M3 3.5h9l5 5v8H3z" /><path class="fold-fill" d="M12 3.5v5h5z" /><path class="line-stroke" d="M6 8.2h3M6 11h7M6 13.8h5" /></svg>`;
}

applyTheme();
addEventListener("keydown", handleKey);
render(html`<${Studio} />`, document.getElementById("studio"));
