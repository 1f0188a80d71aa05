// The address is the state: /Market/items?through=IdLookupIndex&as=customer;user=ada
// Selecting replaces the entry of the history, navigating adds one.
import { useEffect, useState } from "./html.js";

const listeners = new Set();

// The rooms, in the order of the navigation, with the key that follows "g".
export const ROOMS = [
  { name: "design", title: "Design", icon: "design", key: "d" },
  { name: "items", title: "Items", icon: "items", key: "i" },
  { name: "patterns", title: "Patterns", icon: "pattern", key: "p" },
  { name: "edit", title: "Edit", icon: "edit", key: "e" },
  { name: "role", title: "As a role", icon: "role", key: "r" },
  { name: "changes", title: "Changes", icon: "changes", key: "c" },
  { name: "costs", title: "Cost and heat", icon: "cost", key: "h" },
  { name: "console", title: "Console", icon: "console", key: "s" },
];

/** Return the current address: {table, room, rest: [...], query: {name: text}}. */
export function readLocation() {
  const [table = "", room = "", ...rest] = location.pathname.split("/").filter(Boolean).map(decode);
  return { table, room, rest, query: Object.fromEntries(new URLSearchParams(location.search)) };
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Return the address of a room, as text. Empty values are left out; who the studio acts as stays. */
export function address({ table, room, rest = [], query = {} }) {
  const here = readLocation();
  const path = [table ?? here.table, room ?? here.room, ...rest].map(encodeURIComponent).join("/");
  const named = { as: here.query.as, ...query };
  const kept = Object.entries(named).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const search = new URLSearchParams(kept).toString();
  return search ? `/${path}?${search}` : `/${path}`;
}

/** Go to an address, given as text or as `address` takes it. */
export function navigate(target, { replace = false } = {}) {
  const text = typeof target === "string" ? target : address(target);
  if (text === location.pathname + location.search) return;
  history[replace ? "replaceState" : "pushState"](null, "", text);
  listeners.forEach((tell) => tell());
}

/** Change some parameters of the current address; by default that adds no entry to the history. */
export function setQuery(changes, { replace = true } = {}) {
  const here = readLocation();
  navigate({ ...here, query: { ...here.query, ...changes } }, { replace });
}

/** Return the current address, and render again when it changes. */
export function useLocation() {
  const [here, setHere] = useState(readLocation);
  useEffect(() => {
    const tell = () => setHere(readLocation());
    listeners.add(tell);
    addEventListener("popstate", tell);
    return () => {
      listeners.delete(tell);
      removeEventListener("popstate", tell);
    };
  }, []);
  return here;
}

/** A click on a link of the studio: followed without loading the page again. */
export function followLinks(event) {
  const link = event.target.closest?.("a[href^='/']");
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
  if (link.target || link.hasAttribute("download")) return;
  event.preventDefault();
  navigate(link.getAttribute("href"));
}

/** Return who the studio acts as: {roles, ids}, from "customer;user=ada"; null for the administrator. */
export function readPrincipal(text) {
  if (!text) return null;
  const [roles, ...ids] = text.split(";");
  return { roles: roles.split(","), ids: Object.fromEntries(ids.map((each) => [each.split("=")[0], decode(each.slice(each.indexOf("=") + 1))])) };
}

/** Return the text of a principal, for the address. */
export function writePrincipal(principal) {
  if (!principal) return undefined;
  const ids = Object.entries(principal.ids).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  return [principal.roles.join(","), ...ids].join(";");
}
