// Numbers, times and sizes as text. Numbers of items stay as they are stored: never rounded here.

const ids = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9A-HJKMNP-TV-Z]{26}/g;

/** Return a text with the middle of long ids left out; show the whole one on hover. */
export function shortenId(text) {
  return text.replace(ids, (id) => `${id.slice(0, 4)}…${id.slice(-4)}`);
}

/** Return a time (ISO 8601, or seconds since 1970) as a date, with the time of day if asked. */
export function showTime(value, { withClock = true } = {}) {
  const date = typeof value === "number" ? new Date(value * 1000) : new Date(value);
  if (Number.isNaN(date.getTime())) return String(value);
  const options = { day: "numeric", month: "short", year: "numeric", ...(withClock ? { hour: "2-digit", minute: "2-digit" } : {}) };
  return new Intl.DateTimeFormat("en-GB", options).format(date);
}

/** Return a time with its zone, for hovering. */
export function showExactTime(value) {
  const date = typeof value === "number" ? new Date(value * 1000) : new Date(value);
  return Number.isNaN(date.getTime()) ? String(value) : `${date.toISOString()} (UTC)`;
}

/** Return when something expires or expired, as people say it. */
export function showExpiry(item, now = Date.now() / 1000) {
  if (item.expires === null) return "never expires";
  const days = Math.abs(item.expires - now) / 86_400;
  const span = days >= 1 ? `${Math.round(days)} day${Math.round(days) === 1 ? "" : "s"}` : `${Math.max(1, Math.round(days * 24))} h`;
  return item.expired ? `expired ${showTime(item.expires, { withClock: false })}` : `expires in ${span}`;
}

export function showBytes(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${(bytes / 1000).toFixed(1)} KB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

export function showCount(number, noun) {
  return `${number.toLocaleString("en-US")} ${noun}${number === 1 ? "" : "s"}`;
}

/** Return capacity units, such as "1.5 RU" or "1 RU · 2 WU". */
export function showUnits({ read, write }) {
  const parts = [];
  if (read || !write) parts.push(`${trim(read)} RU`);
  if (write) parts.push(`${trim(write)} WU`);
  return parts.join(" · ");
}

export function trim(number) {
  return Number(number.toFixed(2)).toLocaleString("en-US");
}

export function showMilliseconds(value) {
  return value < 10 ? `${value.toFixed(1)} ms` : `${Math.round(value).toLocaleString("en-US")} ms`;
}
