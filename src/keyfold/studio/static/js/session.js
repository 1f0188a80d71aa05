// What this tab has done so far: units, the last request, and whether the server answers.
import { useEffect, useState } from "./html.js";

const listeners = new Set();

export const session = {
  read: 0,
  write: 0,
  last: null,
  isLost: false,

  note(action, answer) {
    const units = answer.units ?? { read: 0, write: 0 };
    const calls = answer.calls ?? [];
    session.read += units.read;
    session.write += units.write;
    session.isLost = false;
    if (calls.length) {
      const milliseconds = calls.reduce((sum, each) => sum + each.milliseconds, 0);
      const denied = answer.error?.code === "access-denied";
      session.last = { operation: calls.at(-1).operation, ...units, milliseconds, denied };
    } else if (answer.error?.code === "access-denied") {
      session.last = { operation: action, ...units, milliseconds: 0, denied: true };
    }
    listeners.forEach((tell) => tell());
  },

  lose() {
    session.isLost = true;
    listeners.forEach((tell) => tell());
  },
};

/** Return the session, and render again when it changes. */
export function useSession() {
  const [, setRound] = useState(0);
  useEffect(() => {
    const tell = () => setRound((old) => old + 1);
    listeners.add(tell);
    return () => listeners.delete(tell);
  }, []);
  return session;
}

/** Return a value that stays in this browser, such as a theme or the width of a pane. */
export function useKept(name, initial) {
  const key = `keyfold-studio:${name}`;
  const [value, setValue] = useState(() => {
    try {
      return JSON.parse(localStorage.getItem(key)) ?? initial;
    } catch {
      return initial;
    }
  });
  const keep = (next) => {
    setValue(next);
    try {
      localStorage.setItem(key, JSON.stringify(next));
    } catch {
      // A private window may have no storage: the value lasts as long as the page.
    }
  };
  return [value, keep];
}
