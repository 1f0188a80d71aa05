// Whether the tail is live: connected, paused, or lost, and since when.
import { html, useEffect, useState } from "../../html.js";

export function Live({ tail }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (tail.status !== "lost") return undefined;
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [tail.status]);
  const seconds = tail.lostAt ? Math.max(0, Math.round((now - tail.lostAt) / 1000)) : 0;
  const text = tail.status === "lost" ? `reconnecting, last seen ${seconds} s ago` : tail.status === "failed" ? "stopped" : tail.status === "connecting" ? "connecting" : tail.isPaused ? "paused" : "live";
  return html`<span class="livestate" role="status"><i class="dot${tail.status === "lost" || tail.status === "failed" ? " lost" : tail.isPaused || tail.status === "connecting" ? " idle" : ""}"></i>${text}</span>`;
}
