// The scenario's data and a report of the results, shared by the programs of the JavaScript SDK.
// Each runs as `program.cjs URL TABLE` and prints its results as one JSON object. They are
// CommonJS modules because NODE_PATH, which locates the SDK, works only for those.

const { randomUUID } = require("node:crypto");
const SCENARIO = require("../scenario.json");

const [URL, TABLE] = process.argv.slice(2);
const EVERY_TYPE = SCENARIO["every type"];
const TOKEN = randomUUID();

class Report {
  seen = {};

  add(name, seen) {
    this.seen[name] = seen;
  }

  /** Run the parts one after the other, then print all results. */
  async run(parts) {
    for (const part of parts) await part();
    console.log(JSON.stringify(this.seen));
  }
}

function tableRequest() {
  return { TableName: TABLE, ...SCENARIO.table };
}

/** Return the parts of a table's description that the scenario checks. */
function describe(table) {
  const indexes = [...table.GlobalSecondaryIndexes, ...table.LocalSecondaryIndexes];
  return {
    "tables.status": table.TableStatus,
    "tables.keys": Object.fromEntries(table.KeySchema.map((one) => [one.KeyType, one.AttributeName])),
    "tables.attributes": Object.fromEntries(
      table.AttributeDefinitions.map((one) => [one.AttributeName, one.AttributeType]),
    ),
    "tables.billing": table.BillingModeSummary.BillingMode,
    "tables.indexes": indexes.map((one) => one.IndexName).sort(),
  };
}

/** Return the error of a call as the SDK shows it; `shown` converts its items to JSON. */
async function errorOf(call, shown) {
  try {
    await call;
  } catch (error) {
    const seen = { code: error.name, message: error.message };
    if (error.Item) seen.item = shown(error.Item);
    if (error.CancellationReasons) {
      seen.reasons = error.CancellationReasons.map((one) => [one.Code, one.Message ?? null]);
      seen.items = error.CancellationReasons.map((one) => shown(one.Item));
    }
    return seen;
  }
  return { code: "none" };
}

/** Convert an item of attribute values to JSON, with binaries in base64 and sets sorted. */
function wire(item) {
  if (!item) return null;
  return Object.fromEntries(Object.entries(item).map(([name, value]) => [name, wireValue(value)]));
}

function wireValue(value) {
  const [[kind, inner]] = Object.entries(value);
  const base64 = (bytes) => Buffer.from(bytes).toString("base64");
  switch (kind) {
    case "B":
      return { B: base64(inner) };
    case "BS":
      return { BS: inner.map(base64).sort() };
    case "SS":
    case "NS":
      return { [kind]: [...inner].sort() };
    case "L":
      return { L: inner.map(wireValue) };
    case "M":
      return { M: wire(inner) };
    default:
      return value;
  }
}

module.exports = { EVERY_TYPE, Report, TABLE, TOKEN, URL, describe, errorOf, tableRequest, wire };
