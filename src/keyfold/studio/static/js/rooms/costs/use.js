// The workload of the sliders, in the address: r.last_orders=40/s, n.Order=2M, s.backups=2.
// Only what differs from the declaration is there.

const KINDS = { r: "rates", n: "items", s: "settings" };
export const MONTH_SECONDS = 730 * 3600;
const UNITS = { s: 1, second: 1, min: 60, minute: 60, h: 3600, hour: 3600, day: 86_400, month: MONTH_SECONDS };
const MULTIPLES = { "": 1, k: 1e3, M: 1e6, G: 1e9 };

/** Return the workload of an address: {rates, items, settings}. */
export function readUse(query) {
  const use = { rates: {}, items: {}, settings: {} };
  for (const [name, value] of Object.entries(query)) {
    const kind = KINDS[name.slice(0, name.indexOf("."))];
    if (!kind) continue;
    use[kind][name.slice(2)] = kind === "settings" && (value === "true" || value === "false") ? value === "true" : value;
  }
  return use;
}

/** Return the parameters of a workload. */
export function writeUse(use) {
  const parts = Object.entries(KINDS).flatMap(([letter, kind]) => Object.entries(use[kind]).map(([name, value]) => [`${letter}.${name}`, String(value)]));
  return Object.fromEntries(parts);
}

/** Return what removes every parameter of a workload. */
export function clearQuery(query) {
  return Object.fromEntries(Object.keys(query).filter((name) => KINDS[name.slice(0, name.indexOf("."))]).map((name) => [name, undefined]));
}

/** Return the number of a text such as "2.5M"; null if it is none. */
export function parseCount(text) {
  const found = /^(\d{1,15}(?:\.\d{1,9})?) ?([kMG]?)$/.exec(text.trim());
  return found ? Number(found[1]) * MULTIPLES[found[2]] : null;
}

/** Return a rate such as "40/s" as calls in a month; null if it is none. */
export function parseRate(text) {
  const [number, unit] = text.split("/");
  const count = parseCount(number ?? "");
  const seconds = UNITS[(unit ?? "").trim()];
  return count === null || !seconds ? null : (count * MONTH_SECONDS) / seconds;
}

/** Return a number as a short text that can be typed, such as "2.5M", of at most three digits. */
export function showShort(number) {
  if (!number) return "0";
  for (const [letter, times] of [["G", 1e9], ["M", 1e6], ["k", 1e3]]) {
    if (number >= times * 0.9995) return `${trimDigits(number / times)}${letter}`;
  }
  return trimDigits(number);
}

function trimDigits(number) {
  if (number >= 100) return String(Math.round(number));
  const digits = Math.min(9, 2 - Math.floor(Math.log10(number)));
  return String(Number(number.toFixed(digits)));
}

/** Return calls in a month as a rate, in the unit of another rate. */
export function showRate(month, like) {
  const unit = like?.includes("/") ? like.split("/")[1].trim() : "month";
  const count = (month * (UNITS[unit] ?? MONTH_SECONDS)) / MONTH_SECONDS;
  if (month && count < 0.01) return `${showShort(month)}/month`;
  return `${showShort(count)}/${unit in UNITS ? unit : "month"}`;
}

/** Return dollars; small ones with the digits that they have. */
export function showUsd(usd) {
  if (usd === 0) return "$0";
  if (usd < 0.01) return `$${Number(usd.toPrecision(2))}`;
  return `$${usd.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}
