// The editor: a text area over its own highlighted text, with completion at the cursor.
import { html, useEffect, useLayoutEffect, useRef, useState } from "../../html.js";
import { act } from "../../api.js";
import { splitStatement } from "./highlight.js";

const PAUSE = 150;
const CLOSED = { candidates: [], start: 0, at: -1 };

export function Editor({ text, setText, field, table }) {
  const [offered, setOffered] = useState(CLOSED);
  const marker = useRef(null);
  const list = useRef(null);
  const timer = useRef(0);
  const asking = useRef(null);
  const isOpen = offered.candidates.length > 0;
  const close = () => {
    clearTimeout(timer.current);
    asking.current?.abort();
    setOffered(CLOSED);
  };
  useEffect(() => close, []);
  useLayoutEffect(() => {
    if (!isOpen || !marker.current) return;
    list.current.style.left = `${Math.max(0, Math.min(marker.current.offsetLeft, field.current.clientWidth - list.current.offsetWidth))}px`;
    list.current.style.top = `${marker.current.offsetTop + 22 - field.current.scrollTop}px`;
    list.current.querySelector("[aria-selected='true']")?.scrollIntoView({ block: "nearest" });
  }, [offered]);

  const ask = (wait) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(async () => {
      asking.current?.abort();
      asking.current = new AbortController();
      const { selectionStart, value } = field.current;
      try {
        const { result } = await act("console/complete", { statement: value.slice(0, selectionStart) }, { signal: asking.current.signal });
        const typed = value.slice(result.start, selectionStart);
        const candidates = result.candidates.filter((each) => each.text.trimEnd() !== typed);
        if (field.current?.value === value) setOffered({ candidates, start: result.start, value, end: selectionStart, at: -1 });
      } catch {
        // Without completion, the statement can still be typed.
      }
    }, wait);
  };
  const type = (event) => {
    const { value, selectionStart } = event.target;
    setText(value);
    // After a blank, completion opens only where a name has to follow.
    const before = value.slice(0, selectionStart);
    if ((/[\w$"'.]$/.test(before) && !endsString(before)) || /\b(from|into|update)\s+$/i.test(before)) ask(PAUSE);
    else close();
  };
  const accept = (candidate) => {
    const area = field.current;
    // The address may have replaced the text meanwhile.
    if (area.value !== offered.value) return close();
    area.focus();
    area.setSelectionRange(offered.start, offered.end);
    // Keeps the browser's own undo, unlike a new value.
    if (!document.execCommand("insertText", false, candidate.text)) {
      area.setRangeText(candidate.text, offered.start, offered.end, "end");
      setText(area.value);
    }
    close();
    if (/["'.#]$/.test(candidate.text)) ask(PAUSE);
    return undefined;
  };
  const press = (event) => {
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      ask(0);
      return;
    }
    // What runs, or is dismissed before its completions came, needs none.
    if ((event.key === "Enter" && (event.ctrlKey || event.metaKey)) || (event.key === "Escape" && !isOpen)) {
      close();
      return;
    }
    if (!isOpen || event.ctrlKey || event.metaKey || event.altKey) return;
    const { candidates, at } = offered;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const next = event.key === "ArrowDown" ? at + 1 : at < 0 ? candidates.length - 1 : at - 1;
      setOffered({ ...offered, at: (next + candidates.length) % candidates.length });
    } else if (event.key === "Tab" && !event.shiftKey) accept(candidates[Math.max(0, at)]);
    else if (event.key === "Enter" && at >= 0) accept(candidates[at]);
    else if (event.key === "Escape") {
      close();
      event.stopPropagation();
    } else return;
    event.preventDefault();
  };
  return html`<div class="editor">
    <label class="sr" for="statement">Statement</label>
    <div class="layers">
      <pre aria-hidden="true" translate="no"><${Highlighted} text=${text} at=${isOpen ? offered.start : -1} marker=${marker} />${"\n"}</pre>
      <textarea id="statement" ref=${field} spellcheck=${false} autocapitalize="off" autocomplete="off" rows="3" value=${text} placeholder=${`SELECT * FROM "${table.name}" WHERE ${table.key.partition[0]} = '…'`}
        aria-autocomplete="list" aria-controls="completions" aria-activedescendant=${offered.at >= 0 ? `completion-${offered.at}` : undefined} aria-describedby="editor-keys"
        onInput=${type} onKeyDown=${press} onBlur=${close}></textarea>
      <ul id="completions" ref=${list} class="completions" role="listbox" aria-label="Completions" hidden=${!isOpen}>
        ${offered.candidates.map((each, place) => html`<li id="completion-${place}" role="option" aria-selected=${place === offered.at} onMouseDown=${(event) => { event.preventDefault(); accept(each); }}><span class="grow clip" translate="no">${each.text}</span><span class="faint clip">${each.detail || each.kind}</span></li>`)}
      </ul>
    </div>
    <p id="editor-keys" class="faint small">Tab takes a completion, Ctrl Space asks for one, Escape closes the list.</p>
    <span class="sr" role="status">${isOpen ? `${offered.candidates.length} completions` : ""}</span>
  </div>`;
}

/** Whether a text ends with the closing quote of a string. */
function endsString(text) {
  return text.endsWith("'") && text.split("'").length % 2 === 1;
}

/** A statement in colours, with a mark where a completion begins. */
export function Highlighted({ text, at = -1, marker }) {
  if (at < 0) return splitStatement(text).map((each) => html`<span class=${each.kind}>${each.text}</span>`);
  return html`${splitStatement(text.slice(0, at)).map((each) => html`<span class=${each.kind}>${each.text}</span>`)}<span ref=${marker}></span>${splitStatement(text.slice(at)).map((each) => html`<span class=${each.kind}>${each.text}</span>`)}`;
}
