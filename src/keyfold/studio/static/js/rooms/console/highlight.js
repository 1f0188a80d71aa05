// Splits a statement into pieces with a kind: keyword, text, number, comment, function or other.

const PIECE = /(--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|('(?:[^']|'')*(?:'|$))|("(?:[^"]|"")*(?:"|$))|(\b\d+(?:\.\d+)?(?:e[+-]?\d+)?\b)|([A-Za-z_$][\w$]*)/gi;
const KEYWORDS = new Set("all and asc between by delete desc from in insert into is missing modified new not null old or order remove returning select set true false update value where".split(" "));
const FUNCTIONS = new Set("attribute_exists attribute_not_exists attribute_type begins_with contains list_append set_add set_delete size".split(" "));

/** Return the pieces of a statement: [{text, kind}], which joined give the statement. */
export function splitStatement(text) {
  const pieces = [];
  let end = 0;
  for (const found of text.matchAll(PIECE)) {
    if (found.index > end) pieces.push({ text: text.slice(end, found.index), kind: "" });
    pieces.push({ text: found[0], kind: kindOf(found) });
    end = found.index + found[0].length;
  }
  if (end < text.length) pieces.push({ text: text.slice(end), kind: "" });
  return pieces;
}

function kindOf([, comment, literal, , number, word]) {
  if (comment !== undefined) return "c";
  if (literal !== undefined) return "s";
  if (number !== undefined) return "n";
  if (word === undefined) return "";
  const lower = word.toLowerCase();
  return KEYWORDS.has(lower) ? "k" : FUNCTIONS.has(lower) ? "f" : "";
}
