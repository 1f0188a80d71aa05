// Types of DynamoDB: their names for people, empty values, and conversions from one to another.
import { unwrap } from "../../parts/values.js";

export const KINDS = [
  ["S", "text"],
  ["N", "number"],
  ["BOOL", "true or false"],
  ["NULL", "null"],
  ["L", "list"],
  ["M", "map"],
  ["SS", "set of texts"],
  ["NS", "set of numbers"],
  ["B", "binary"],
  ["BS", "set of binaries"],
];

export const ANY = { kind: "any", stored: null };

const SEALED = "keyfold-sealed:";

/** Return whether a value is a secret, which the server has sealed. */
export function isSealed(value) {
  return value !== null && value !== undefined && String(Object.values(value)[0]).startsWith(SEALED);
}

/** Return the name of a stored type, such as "set of texts". */
export function nameKind(kind) {
  return KINDS.find(([each]) => each === kind)?.[1] ?? kind;
}

/** Return an empty value of a stored type. */
export function emptyOf(kind) {
  if (kind === "BOOL") return { BOOL: false };
  if (kind === "NULL") return { NULL: true };
  if (kind === "M") return { M: {} };
  return { [kind]: kind === "L" || kind.length === 2 ? [] : "" };
}

/** Return an empty value for the members of a list or map. */
export function emptyMember(shape) {
  if (shape.kind === "choice") return shape.choices[0].value;
  return emptyOf(shape.stored ?? "S");
}

/** Return a value as another stored type, with what can be kept of it. */
export function convert(value, kind) {
  if (value === null) return emptyOf(kind);
  const [old, data] = unwrap(value);
  if (old === kind) return value;
  const isText = (each) => ["S", "N", "B"].includes(each);
  if (isText(old) && isText(kind)) return { [kind]: data };
  if (isText(old) && kind === "BOOL") return { BOOL: data === "true" };
  if (old === "BOOL" && kind === "S") return { S: String(data) };
  if (isText(old) && kind.length === 2 && kind.endsWith("S")) return { [kind]: data === "" ? [] : [data] };
  if (old.length === 2 && old.endsWith("S") && kind.length === 2 && kind.endsWith("S")) return { [kind]: data };
  if (old.length === 2 && old.endsWith("S") && kind === "L") return { L: data.map((each) => ({ [old[0]]: each })) };
  if (old === "L" && kind.length === 2 && kind.endsWith("S")) return { [kind]: data.map((each) => String(unwrap(each)[1])) };
  return emptyOf(kind);
}

/** Return whether two values are the same; members of sets have no order. */
export function isSame(one, other) {
  return JSON.stringify(order(one)) === JSON.stringify(order(other));
}

function order(value) {
  if (value === null || value === undefined) return null;
  const [kind, data] = unwrap(value);
  if (kind.length === 2 && kind.endsWith("S")) return { [kind]: [...data].sort() };
  if (kind === "L") return { L: data.map(order) };
  if (kind === "M") return { M: Object.keys(data).sort().map((name) => [name, order(data[name])]) };
  return value;
}
