// The patterns of a table: reads and writes, with their units, and warnings of lint.
import { html, useRef, useState } from "../../html.js";
import { address } from "../../router.js";
import { useKeys } from "../../keyboard.js";
import { Icon } from "../../parts/icon.js";
import { Popover } from "../../parts/menu.js";
import { showUnits } from "../../parts/text.js";

/** Return the patterns whose title, name or description has all words of a text. */
export function filterPatterns(patterns, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return patterns.filter((each) => {
    const all = `${each.title} ${each.name} ${each.description}`.toLowerCase();
    return words.every((word) => all.includes(word));
  });
}

export function PatternList({ patterns, current, lastUnits }) {
  const [filter, setFilter] = useState("");
  const field = useRef(null);
  useKeys({ "/": [() => field.current?.focus(), "filter the patterns"] }, []);
  return html`<nav class="plist hide-s" aria-label="Patterns">
    <div class="field filter"><${Icon} name="search" /><input ref=${field} type="search" placeholder="Filter ${patterns.length} patterns" aria-label="Filter patterns" value=${filter} onInput=${(event) => setFilter(event.target.value)} /></div>
    <${Groups} patterns=${filterPatterns(patterns, filter)} current=${current} lastUnits=${lastUnits} filter=${filter} />
  </nav>`;
}

/** The same list, over the page: for narrow windows. */
export function PatternPicker({ patterns, current, lastUnits }) {
  const [filter, setFilter] = useState("");
  const chosen = patterns.find((each) => each.name === current);
  const button = html`<${Icon} name="pattern" /><span class="grow clip">${chosen?.title ?? "Choose a pattern"}</span><${Icon} name="down" />`;
  return html`<${Popover} className="pick" label="Choose a pattern" button=${button}>
    ${(close) => html`<div class="plist over" onClick=${(event) => event.target.closest("a") && close()}>
      <div class="field filter"><${Icon} name="search" /><input type="search" placeholder="Filter ${patterns.length} patterns" aria-label="Filter patterns" value=${filter} onInput=${(event) => setFilter(event.target.value)} /></div>
      <${Groups} patterns=${filterPatterns(patterns, filter)} current=${current} lastUnits=${lastUnits} filter=${filter} />
    </div>`}
  <//>`;
}

function Groups({ patterns, current, lastUnits, filter }) {
  const place = useRef(null);
  const move = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step && event.key !== "Home" && event.key !== "End") return;
    const links = [...place.current.querySelectorAll("a")];
    const at = links.indexOf(document.activeElement);
    if (at < 0) return;
    const next = event.key === "Home" ? links[0] : event.key === "End" ? links.at(-1) : links[at + step];
    next?.focus();
    event.preventDefault();
  };
  const focusable = patterns.some((each) => each.name === current) ? current : patterns[0]?.name;
  const groups = [
    ["Read", patterns.filter((each) => !each.writes)],
    ["Write", patterns.filter((each) => each.writes)],
  ];
  if (!patterns.length) return html`<p class="dim pad">No pattern has “${filter}” in its name, title or description.</p>`;
  return html`<div ref=${place} onKeyDown=${move}>
    ${groups.map(
      ([title, members]) =>
        members.length > 0 &&
        html`<h2>${title}</h2>
          <ul>
            ${members.map((each) => html`<li key=${each.name}><${Entry} pattern=${each} isCurrent=${each.name === current} isFocusable=${each.name === focusable} units=${lastUnits[each.name] ?? each.units} /></li>`)}
          </ul>`,
    )}
  </div>`;
}

function Entry({ pattern, isCurrent, isFocusable, units }) {
  const warnings = pattern.findings.filter((each) => each.severity !== "note");
  const label = warnings.map((each) => `${each.severity}: ${each.message}`).join(" ");
  return html`<a href=${address({ room: "patterns", rest: [pattern.name] })} aria-current=${isCurrent ? "true" : undefined} tabindex=${isFocusable ? "0" : "-1"} title=${pattern.title}>
    <span class="clip">${pattern.title}</span>
    <span class="b"><code class="clip" translate="no">${pattern.name}</code>${warnings.length > 0 && html`<span title=${label}><${Icon} name="warn" label="has ${warnings.length === 1 ? "a warning" : `${warnings.length} warnings`}" /></span>`}<span class="num">${units ? showUnits(units) : ""}</span></span>
  </a>`;
}
