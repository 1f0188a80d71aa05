// Requests to the studio's server. Each adds to the session's units, which the status bar shows.
import { useEffect, useRef, useState } from "./html.js";
import { readLocation, readPrincipal } from "./router.js";
import { session } from "./session.js";

// How long a view waits before it shows that it loads.
const PATIENCE = 150;

/** What the server refused: its code, message and further facts, such as `fields`. */
export class ApiError extends Error {
  constructor(status, facts) {
    super(facts.message);
    this.status = status;
    this.code = facts.code;
    this.facts = facts;
  }

  /** Whether the principal lacks a right for it. */
  get isDenied() {
    return this.code === "access-denied";
  }
}

/** Ask for an action; return {result, units: {read, write}, calls}. Throws ApiError. */
export async function act(name, body = {}, { signal } = {}) {
  const here = readLocation();
  const sent = { table: here.table, as: readPrincipal(here.query.as), ...body };
  let response;
  try {
    response = await fetch(`/api/${name}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(sent),
      signal,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    session.lose();
    throw new ApiError(0, { code: "studio-unreachable", message: "The studio's server does not answer. Is it still running?" });
  }
  const answer = await response.json();
  session.note(name, answer);
  if (!response.ok) throw new ApiError(response.status, answer.error);
  return answer;
}

/**
 * Ask for an action whenever its body changes, and render what came.
 *
 * Returns {result, calls, units, error, isLoading, isSlow, reload}. The last result stays until the next one
 * is there; a request that is no longer needed is aborted. A `body` of null asks for nothing.
 */
export function useAction(name, body) {
  const [state, setState] = useState({ isLoading: body !== null });
  const [round, setRound] = useState(0);
  const text = JSON.stringify([body, readLocation().table, readLocation().query.as]);
  useEffect(() => {
    if (body === null) {
      setState({ isLoading: false });
      return undefined;
    }
    const aborting = new AbortController();
    setState((old) => ({ ...old, isLoading: true, isSlow: false, error: null }));
    const timer = setTimeout(() => setState((old) => ({ ...old, isSlow: true })), PATIENCE);
    act(name, body, { signal: aborting.signal })
      .then((answer) => setState({ ...answer, isLoading: false }))
      .catch((error) => {
        if (error.name !== "AbortError") setState((old) => ({ ...old, error, isLoading: false }));
      })
      .finally(() => clearTimeout(timer));
    return () => {
      clearTimeout(timer);
      aborting.abort();
    };
  }, [name, text, round]);
  return { ...state, reload: () => setRound((old) => old + 1) };
}

/** Watch a stream of events; returns a function that ends it. */
export function watch(name, body, { onEvent, onError, onOpen }) {
  const here = readLocation();
  const sent = { table: here.table, as: readPrincipal(here.query.as), ...body };
  const source = new EventSource(`/events/${name}?body=${encodeURIComponent(JSON.stringify(sent))}`);
  source.onopen = () => onOpen?.();
  source.onmessage = (event) => onEvent(JSON.parse(event.data));
  source.addEventListener("failed", (event) => {
    source.close();
    const { error } = JSON.parse(event.data);
    onError(new ApiError(400, error));
  });
  source.onerror = () => onError(null);
  return () => source.close();
}

/** Return a value that follows another one after a pause, for what is typed. */
export function useSettled(value, pause = 250) {
  const [settled, setSettled] = useState(value);
  const first = useRef(true);
  useEffect(() => {
    if (first.current) {
      first.current = false;
      return undefined;
    }
    const timer = setTimeout(() => setSettled(value), pause);
    return () => clearTimeout(timer);
  }, [value, pause]);
  return settled;
}
