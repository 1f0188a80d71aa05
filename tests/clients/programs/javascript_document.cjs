// The scenario, run with the JavaScript SDK's document client, in JavaScript's own values.

const {
  CreateTableCommand,
  DeleteTableCommand,
  DescribeTableCommand,
  DynamoDBClient,
  waitUntilTableExists,
  waitUntilTableNotExists,
} = require("@aws-sdk/client-dynamodb");
const {
  BatchGetCommand,
  BatchWriteCommand,
  DeleteCommand,
  DynamoDBDocumentClient,
  GetCommand,
  NumberValue,
  PutCommand,
  QueryCommand,
  TransactGetCommand,
  TransactWriteCommand,
  UpdateCommand,
  paginateQuery,
  paginateScan,
} = require("@aws-sdk/lib-dynamodb");
const {
  EVERY_TYPE,
  Report,
  TABLE,
  TOKEN,
  URL,
  describe,
  errorOf,
  tableRequest,
} = require("./reporting.cjs");

const report = new Report();
const bare = new DynamoDBClient({ endpoint: URL });
// Numbers stay whole: JavaScript's own have no 38 digits.
const client = DynamoDBDocumentClient.from(bare, { unmarshallOptions: { wrapNumbers: true } });
const send = (command) => client.send(command);
const waiting = { client: bare, maxWaitTime: 30, minDelay: 1 };

const key = (pk, sk) => ({ pk, sk });
const sortKeys = (items) => items.map((item) => Number(item.sk.value));
const ordered = (numbers) => numbers.sort((one, other) => one - other);

/** An attribute value as one of JavaScript's. */
function native(value) {
  const [[kind, inner]] = Object.entries(value);
  switch (kind) {
    case "N":
      return NumberValue.from(inner);
    case "B":
      return Uint8Array.from(Buffer.from(inner, "base64"));
    case "NULL":
      return null;
    case "L":
      return inner.map(native);
    case "M":
      return Object.fromEntries(Object.entries(inner).map(([name, one]) => [name, native(one)]));
    case "SS":
    case "NS":
    case "BS":
      return new Set(inner.map((one) => native({ [kind[0]]: one })));
    default:
      return inner;
  }
}

/** One of JavaScript's values in DynamoDB's JSON, sets in order. */
function shown(value) {
  if (value === null || value === undefined) return { NULL: true };
  if (typeof value === "boolean") return { BOOL: value };
  if (typeof value === "string") return { S: value };
  if (value instanceof NumberValue) return { N: value.value };
  if (value instanceof Uint8Array) return { B: Buffer.from(value).toString("base64") };
  if (value instanceof Set) {
    const inner = [...value].map(shown);
    const [kind] = Object.keys(inner[0]);
    return { [`${kind}S`]: inner.map((one) => one[kind]).sort() };
  }
  if (Array.isArray(value)) return { L: value.map(shown) };
  return { M: Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shown(one)])) };
}

const item = (found) => (found ? shown(found).M : null);
// The document client leaves the item of an error as it came.
const raw = (found) => found ?? null;

async function tables() {
  await send(new CreateTableCommand(tableRequest()));
  await waitUntilTableExists(waiting, { TableName: TABLE });
  const { Table } = await send(new DescribeTableCommand({ TableName: TABLE }));
  for (const [name, seen] of Object.entries(describe(Table))) report.add(name, seen);
}

async function items() {
  await send(new PutCommand({ TableName: TABLE, Item: native({ M: EVERY_TYPE }) }));
  const stored = { TableName: TABLE, Key: key("types", 1), ConsistentRead: true };
  report.add("items.stored", item((await send(new GetCommand(stored))).Item));
  const absent = { TableName: TABLE, Key: key("types", 2) };
  report.add("items.absent", (await send(new GetCommand(absent))).Item ?? null);
  const projected = await send(
    new GetCommand({
      TableName: TABLE,
      Key: key("types", 1),
      ProjectionExpression: "#t, #m.#i, #l[1]",
      ExpressionAttributeNames: { "#t": "text", "#m": "map", "#i": "inner", "#l": "list" },
    }),
  );
  report.add("items.projected", item(projected.Item));
  const updated = await send(
    new UpdateCommand({
      TableName: TABLE,
      Key: key("counter", 1),
      UpdateExpression: "SET #o = :o ADD #n :n, #t :t",
      ExpressionAttributeNames: { "#o": "owner", "#n": "count", "#t": "tags" },
      ExpressionAttributeValues: { ":o": "ada", ":n": 2, ":t": new Set(["x"]) },
      ReturnValues: "ALL_NEW",
    }),
  );
  report.add("items.updated", item(updated.Attributes));
  const incremented = await send(
    new UpdateCommand({
      TableName: TABLE,
      Key: key("counter", 1),
      UpdateExpression: "SET #n = #n + :n REMOVE #t",
      ExpressionAttributeNames: { "#n": "count", "#t": "tags" },
      ExpressionAttributeValues: { ":n": 3 },
      ReturnValues: "UPDATED_NEW",
    }),
  );
  report.add("items.incremented", item(incremented.Attributes));
  const removal = { TableName: TABLE, Key: key("counter", 1), ReturnValues: "ALL_OLD" };
  report.add("items.deleted", item((await send(new DeleteCommand(removal))).Attributes));
}

async function conditions() {
  const created = { ...key("condition", 1), owner: "ada" };
  const absent = { TableName: TABLE, ConditionExpression: "attribute_not_exists(pk)" };
  await send(new PutCommand({ ...absent, Item: created }));
  const again = new PutCommand({
    ...absent,
    Item: { ...created, owner: "bob" },
    ReturnValuesOnConditionCheckFailure: "ALL_OLD",
  });
  report.add("conditions.unmet", await errorOf(send(again), raw));
  await send(
    new UpdateCommand({
      TableName: TABLE,
      Key: key("condition", 1),
      UpdateExpression: "SET #o = :new",
      ConditionExpression: "#o = :old AND attribute_exists(sk)",
      ExpressionAttributeNames: { "#o": "owner" },
      ExpressionAttributeValues: { ":new": "cy", ":old": "ada" },
    }),
  );
  const got = await send(new GetCommand({ TableName: TABLE, Key: key("condition", 1) }));
  report.add("conditions.met", item(got.Item));
}

async function batches() {
  const numbers = [...Array(30).keys()];
  const write = (requests) => send(new BatchWriteCommand({ RequestItems: { [TABLE]: requests } }));
  for (const chunk of [numbers.slice(0, 25), numbers.slice(25)]) {
    await write(
      chunk.map((i) => {
        const owner = i % 2 === 0 ? "even" : "odd";
        return { PutRequest: { Item: { ...key("paged", i), owner, rank: 100 - i } } };
      }),
    );
  }
  const Keys = [3, 29, 77, 12].map((i) => key("paged", i));
  const read = await send(new BatchGetCommand({ RequestItems: { [TABLE]: { Keys } } }));
  report.add("batches.read", ordered(sortKeys(read.Responses[TABLE])));
  await write(numbers.slice(10).map((i) => ({ DeleteRequest: { Key: key("paged", i) } })));
  report.add("batches.left", (await query({ Select: "COUNT" })).Count);
}

function query({ values = {}, ...more }) {
  return send(
    new QueryCommand({
      TableName: TABLE,
      KeyConditionExpression: "pk = :pk",
      ExpressionAttributeValues: { ":pk": "paged", ...values },
      ...more,
    }),
  );
}

async function queries() {
  const pages = [];
  let ExclusiveStartKey;
  do {
    const page = await query({ Limit: 4, ExclusiveStartKey });
    pages.push(sortKeys(page.Items));
    ExclusiveStartKey = page.LastEvaluatedKey;
  } while (ExclusiveStartKey);
  report.add("queries.pages", pages);
  const walked = [];
  const walk = paginateQuery(
    { client, pageSize: 3 },
    {
      TableName: TABLE,
      KeyConditionExpression: "pk = :pk",
      ExpressionAttributeValues: { ":pk": "paged" },
    },
  );
  for await (const page of walk) walked.push(...sortKeys(page.Items));
  report.add("queries.walked", walked);
  const last = await query({ ScanIndexForward: false, Limit: 3 });
  report.add("queries.descending", sortKeys(last.Items));
  const between = await query({
    KeyConditionExpression: "pk = :pk AND sk BETWEEN :a AND :b",
    values: { ":a": 3, ":b": 5 },
  });
  report.add("queries.between", sortKeys(between.Items));
  const odd = await query({
    FilterExpression: "#o = :o",
    ExpressionAttributeNames: { "#o": "owner" },
    values: { ":o": "odd" },
  });
  report.add("queries.filtered", sortKeys(odd.Items));
  report.add("queries.counts", [odd.Count, odd.ScannedCount]);
  const owned = await send(
    new QueryCommand({
      TableName: TABLE,
      IndexName: "by_owner",
      KeyConditionExpression: "#o = :o AND sk > :sk",
      ExpressionAttributeNames: { "#o": "owner" },
      ExpressionAttributeValues: { ":o": "even", ":sk": 2 },
    }),
  );
  report.add("queries.by_owner", sortKeys(owned.Items));
  const ranked = await query({ IndexName: "by_rank", Limit: 3 });
  report.add("queries.by_rank", sortKeys(ranked.Items));
  const segments = await Promise.all([scan(0), scan(1)]);
  report.add("queries.scanned", ordered(segments.flat()));
}

async function scan(Segment) {
  const scanned = [];
  const pages = paginateScan(
    { client, pageSize: 5 },
    {
      TableName: TABLE,
      Segment,
      TotalSegments: 2,
      FilterExpression: "pk = :pk",
      ExpressionAttributeValues: { ":pk": "paged" },
    },
  );
  for await (const page of pages) scanned.push(...sortKeys(page.Items));
  return scanned;
}

async function transactions() {
  const put = (Item) => send(new PutCommand({ TableName: TABLE, Item }));
  await put({ ...key("account", 1), balance: 10 });
  await put({ ...key("account", 2), balance: 0 });
  await put(key("account", 3));
  const write = (TransactItems, token) =>
    send(new TransactWriteCommand({ TransactItems, ClientRequestToken: token }));
  const moves = [
    move(1, -4, { least: 4 }),
    move(2, 4),
    { Delete: { TableName: TABLE, Key: key("account", 3) } },
    { Put: { TableName: TABLE, Item: key("account", 4) } },
  ];
  for (let time = 0; time < 2; time++) await write(moves, TOKEN);
  report.add("transactions.read", await read(1, 2, 4));
  report.add("transactions.absent", (await read(1, 3))[1]);
  const check = {
    TableName: TABLE,
    Key: key("account", 4),
    ConditionExpression: "attribute_exists(pk)",
  };
  const tooMuch = [{ ConditionCheck: check }, move(1, -40, { least: 40 }), move(2, 40)];
  report.add("transactions.cancelled", await errorOf(write(tooMuch), raw));
  report.add("transactions.unchanged", await read(1, 2));
  const mismatch = await errorOf(write(moves.slice(0, 2), TOKEN), raw);
  report.add("transactions.mismatch", mismatch.code);
}

function move(sk, by, { least } = {}) {
  const Update = {
    TableName: TABLE,
    Key: key("account", sk),
    UpdateExpression: "SET balance = balance + :by",
    ExpressionAttributeValues: { ":by": by },
  };
  if (least !== undefined) {
    Update.ConditionExpression = "balance >= :least";
    Update.ExpressionAttributeValues[":least"] = least;
    Update.ReturnValuesOnConditionCheckFailure = "ALL_OLD";
  }
  return { Update };
}

async function read(...numbers) {
  const TransactItems = numbers.map((sk) => ({ Get: { TableName: TABLE, Key: key("account", sk) } }));
  const { Responses } = await send(new TransactGetCommand({ TransactItems }));
  return Responses.map(({ Item }) => item(Item));
}

async function errors() {
  const commands = {
    no_table: new GetCommand({ TableName: `${TABLE}-missing`, Key: key("a", 1) }),
    table_in_use: new CreateTableCommand(tableRequest()),
    empty_key: new PutCommand({ TableName: TABLE, Item: key("", 1) }),
    no_index: new QueryCommand({
      TableName: TABLE,
      IndexName: "by_nothing",
      KeyConditionExpression: "pk = :pk",
      ExpressionAttributeValues: { ":pk": "a" },
    }),
    wrong_type: new PutCommand({ TableName: TABLE, Item: { pk: "a", sk: "1" } }),
    syntax: new UpdateCommand({
      TableName: TABLE,
      Key: key("a", 1),
      UpdateExpression: "SET = :v",
      ExpressionAttributeValues: { ":v": 1 },
    }),
  };
  for (const [name, command] of Object.entries(commands)) {
    report.add(`errors.${name}`, await errorOf(send(command), raw));
  }
}

async function end() {
  await send(new DeleteTableCommand({ TableName: TABLE }));
  await waitUntilTableNotExists(waiting, { TableName: TABLE });
  const gone = send(new DescribeTableCommand({ TableName: TABLE }));
  report.add("tables.deleted", await errorOf(gone, raw));
}

report.run([tables, items, conditions, batches, queries, transactions, errors, end]);
