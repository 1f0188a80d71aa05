// What the items of a table look like: which entities are children of others, and what a card says of one.
import { findEntity } from "../../parts/entity.js";
import { showInline, unwrap } from "../../parts/values.js";
import { shortenId, showCount } from "../../parts/text.js";

const LINES = 3;
const TITLES = ["name", "title", "label", "subject", "street", "display_name"];
const known = new WeakMap();

/** Return facts about the entities of a table, by name: {parent, sortPieces, quiet, keyed}. */
function factsOf(table) {
  if (!known.has(table)) known.set(table, new Map(table.entities.map((each) => [each.name, makeFacts(table, each)])));
  return known.get(table);
}

function makeFacts(table, entity) {
  const [partition, sort] = entity.keys;
  const parent = table.entities.find((other) => other !== entity && sort && other.keys[1] && other.keys[0].text === partition.text && other.keys[1].pieces.some((piece) => piece.part) && sort.text !== other.keys[1].text && sort.text.startsWith(other.keys[1].text));
  const inKey = new Set(entity.keys.flatMap((key) => key.pieces.map((piece) => piece.part)));
  const indexed = new Set(table.indexes.flatMap((index) => [...index.key.partition, ...index.key.sort]));
  return {
    parent: parent?.name ?? null,
    parentPieces: parent ? parent.keys[1].pieces.length : 0,
    // Fields that cards leave out: parts of the key, the expiry, and those with one value only.
    quiet: new Set(entity.fields.filter((field) => field.attribute === null || inKey.has(field.name) || field.attribute === table.ttl || isConstant(field)).map((field) => field.name)),
    // Fields that decide whether an item is in an index.
    keyed: new Set(entity.fields.filter((field) => indexed.has(field.attribute)).map((field) => field.name)),
  };
}

function isConstant(field) {
  const text = typeof field.type === "string" ? field.type : "";
  return text.startsWith("Literal[") && !text.includes(",");
}

/** Return whether the items of an entity follow others in their partition, as lines follow an order. */
export function isChild(table, item) {
  return Boolean(factsOf(table).get(item.entity)?.parent);
}

/** Return the sort key of an item in pieces; a child's without what its parent has. */
export function sortPieces(table, item) {
  const shown = item.keys.at(-1);
  const facts = factsOf(table).get(item.entity);
  const skipped = facts && shown.matches && item.keys.length > 1 ? Math.min(facts.parentPieces, shown.pieces.length - 1) : 0;
  const pieces = shown.pieces.slice(skipped);
  return skipped ? [{ text: "…" }, ...pieces] : pieces;
}

/** Return when an item was made, by a typed id in its sort key; undefined if it has none. */
export function madeAt(item, table) {
  return isChild(table, item) ? undefined : item.keys.at(-1).pieces.findLast?.((piece) => piece.at)?.at;
}

/** Return the lines of a card: {name, text, isSet}; the name is null where the value speaks for itself. */
export function cardLines(table, item, most = LINES) {
  const facts = factsOf(table).get(item.entity);
  // Titles first; what leads elsewhere, and what decides on indexes, last.
  const rank = (field) => (TITLES.includes(field.name) ? 0 : field.name === "id" || facts?.keyed.has(field.name) ? 2 : isId(field.value) ? 3 : 1);
  const fields = [...item.fields, ...item.others].filter((field) => !facts?.quiet.has(field.name) && (field.value !== null || facts?.keyed.has(field.name)));
  if (item.partial) fields.splice(0, fields.length, ...fields.filter((field) => field.value !== null));
  return fields
    .map((field, number) => ({ field, number, rank: rank(field) }))
    .sort((one, other) => one.rank - other.rank || one.number - other.number)
    .slice(0, most)
    .map(({ field }) => ({ name: TITLES.includes(field.name) ? null : field.name, text: field.value === null ? "not set" : showShort(field.value), isSet: field.value !== null }));
}

function isId(value) {
  return value !== null && "S" in value && shortenId(value.S) !== value.S;
}

/** Return a value in a few words: ids without their middle, and only the number of members. */
export function showShort(value, most = 80) {
  const [kind, data] = unwrap(value);
  const members = kind === "cut" ? data.members : kind === "L" ? data.length : kind === "M" ? Object.keys(data).length : undefined;
  if (members !== undefined) return members ? showCount(members, "member") : "empty";
  return shortenId(showInline(value, most));
}

/** Return an item in a few words, for rows of an index. */
export function summarise(table, item) {
  const [line] = cardLines(table, item, 1);
  if (!line) return item.partial ? "keys only" : "";
  return line.name ? `${line.name} ${line.text}` : line.text;
}

/** Return how a screen reader names an item. */
export function nameItem(table, item) {
  const entity = findEntity(table, item.entity);
  const parts = [entity?.name ?? "Item of no entity", item.keys.at(-1).text, summarise(table, item), item.expired ? "expired" : ""];
  return parts.filter(Boolean).join(", ");
}
