// The tail of a stream: changes as they come, newest first, over connections that may be lost.
import { useEffect, useRef, useState } from "../../html.js";
import { watch } from "../../api.js";

// How many changes the page keeps.
export const MOST = 500;
// Changes that come together are rendered together.
const GATHER = 80;
const PAUSES = [500, 1000, 2000, 5000];

/**
 * Return the changes of the table since it was opened, and how the connection is.
 *
 * {changes, dropped, status, lostAt, isPaused, waiting, isGap, error, toggle, clear, restart}. While it is
 * paused, changes are gathered and not shown.
 */
export function useTail(from, identity) {
  const [view, setView] = useState({ changes: [], dropped: 0, status: "connecting" });
  const [isPaused, setPaused] = useState(false);
  const [waiting, setWaiting] = useState(0);
  const [round, setRound] = useState(0);
  const paused = useRef(false);
  const fresh = useRef([]);
  const timer = useRef(0);
  const update = (changed) => setView((old) => ({ ...old, ...changed }));
  const show = () => {
    timer.current = 0;
    if (paused.current) {
      setWaiting(fresh.current.length);
      return;
    }
    const taken = fresh.current.splice(0).toReversed();
    setWaiting(0);
    if (taken.length) setView((old) => join(old, taken));
  };
  useEffect(() => {
    const seen = new Set();
    const positions = {};
    let stream = undefined;
    let since = undefined;
    let attempts = 0;
    let stop = () => {};
    let again = 0;
    setView({ changes: [], dropped: 0, status: "connecting" });
    fresh.current = [];
    const handle = (event) => {
      if (event.type === "started") {
        stream = event.stream;
        if (from === "latest") since ??= event.now;
        attempts = 0;
        update({ status: "live", lostAt: null, error: null });
      } else if (event.type === "gap") {
        update({ isGap: true });
      } else {
        positions[event.shard] = event.change.sequence;
        // Those of the moment at which a connection was lost may come twice.
        if (seen.has(event.change.id)) return;
        seen.add(event.change.id);
        fresh.current.push(event.change);
        if (fresh.current.length > 4 * MOST) fresh.current.splice(0, MOST);
        timer.current ||= setTimeout(show, GATHER);
      }
    };
    const open = () => {
      const isResumed = stream !== undefined;
      const body = isResumed ? { from, positions, stream, since } : { from };
      stop = watch("changes/tail", body, { onEvent: handle, onError: fail });
    };
    const fail = (error) => {
      stop();
      if (error) {
        update({ status: "failed", error });
        return;
      }
      setView((old) => ({ ...old, status: "lost", lostAt: old.lostAt ?? Date.now() }));
      again = setTimeout(open, PAUSES[Math.min(attempts++, PAUSES.length - 1)]);
    };
    open();
    return () => {
      stop();
      clearTimeout(again);
      clearTimeout(timer.current);
      timer.current = 0;
    };
  }, [from, identity, round]);
  const toggle = () => {
    paused.current = !paused.current;
    setPaused(paused.current);
    if (!paused.current) show();
  };
  const clear = () => {
    fresh.current = [];
    setWaiting(0);
    update({ changes: [], dropped: 0, isGap: false });
  };
  return { ...view, isPaused, waiting, toggle, clear, restart: () => setRound((old) => old + 1) };
}

function join(old, taken) {
  const changes = [...taken, ...old.changes];
  return { ...old, changes: changes.slice(0, MOST), dropped: old.dropped + Math.max(0, changes.length - MOST) };
}
