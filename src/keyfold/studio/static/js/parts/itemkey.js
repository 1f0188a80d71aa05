// The primary key of an item as the parameter `at` of an address: U#ada#O~O#01JZ…
// Tilde and percent sign are escaped in each part. Numbers are their digits, binary is in base 64; the table
// knows which type each attribute has.

function escapePart(text) {
  return text.replaceAll("%", "%25").replaceAll("~", "%7E");
}

function unescapePart(text) {
  return text.replaceAll("%7E", "~").replaceAll("%25", "%");
}

/** Return the text of a primary key in DynamoDB's JSON, {pk: {S: "U#ada"}, sk: {S: "U#ada"}}. */
export function writeItemKey(key) {
  return Object.values(key).map((value) => escapePart(String(Object.values(value)[0]))).join("~");
}

/** Return the primary key of a text, in DynamoDB's JSON; null if it is no key of the table. */
export function readItemKey(text, table) {
  if (!text) return null;
  const names = [...table.key.partition, ...table.key.sort];
  const parts = text.split("~");
  if (parts.length !== names.length) return null;
  return Object.fromEntries(names.map((name, number) => [name, { [table.key.types[name] ?? "S"]: unescapePart(parts[number]) }]));
}

/** Return whether two primary keys are the same. */
export function isSameKey(one, other) {
  return one !== null && other !== null && writeItemKey(one) === writeItemKey(other);
}
