// Keys. Single letters work outside of fields only; "g d" is g, then d.
import { useEffect } from "./html.js";

const bound = [];
let before = "";
let timer = 0;

/** Bind keys while a component is shown: {"e": [function, "edit"], "Control+Enter": […]}; later ones win. */
export function useKeys(keys, dependencies) {
  useEffect(() => {
    bound.push(keys);
    return () => void bound.splice(bound.indexOf(keys), 1);
  }, dependencies);
}

/** Return what the keys that are bound now do, for the list of keys. */
export function listKeys() {
  return Object.entries(Object.assign({}, ...bound)).map(([key, [, meaning]]) => [key, meaning]);
}

/** Return whether single letters are switched on. */
export function lettersOn() {
  return localStorage.getItem("keyfold-studio:letters") !== "false";
}

function isTyping(target) {
  return target.closest?.("input, textarea, select, [contenteditable]") !== null;
}

function nameOf(event) {
  const modifiers = [event.ctrlKey || event.metaKey ? "Control" : "", event.altKey ? "Alt" : "", event.shiftKey && event.key.length > 1 ? "Shift" : ""];
  return [...modifiers.filter(Boolean), event.key.length === 1 && (event.ctrlKey || event.metaKey) ? event.key.toLowerCase() : event.key].join("+");
}

export function handleKey(event) {
  const name = nameOf(event);
  const plain = event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey;
  if (plain && (isTyping(event.target) || !lettersOn())) return;
  const names = before ? [`${before} ${name}`] : [name];
  before = "";
  clearTimeout(timer);
  if (plain && name === "g" && names[0] === "g") {
    before = "g";
    timer = setTimeout(() => (before = ""), 1000);
    return;
  }
  for (const keys of bound.toReversed()) {
    for (const each of names) {
      if (keys[each]) {
        const handled = keys[each][0](event);
        if (handled !== false) {
          event.preventDefault();
          return;
        }
      }
    }
  }
}
