// The scenario, run with the JavaScript SDK's client, by its commands and paginators.

const {
  BatchGetItemCommand,
  BatchWriteItemCommand,
  CreateTableCommand,
  DeleteItemCommand,
  DeleteTableCommand,
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  TransactGetItemsCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand,
  UpdateTimeToLiveCommand,
  paginateListTables,
  paginateQuery,
  paginateScan,
  waitUntilTableExists,
  waitUntilTableNotExists,
} = require("@aws-sdk/client-dynamodb");
const {
  EVERY_TYPE,
  Report,
  TABLE,
  TOKEN,
  URL,
  describe,
  errorOf,
  tableRequest,
  wire,
} = require("./reporting.cjs");

const report = new Report();
const client = new DynamoDBClient({ endpoint: URL });
const send = (command) => client.send(command);
const waiting = { client, maxWaitTime: 30, minDelay: 1 };

const text = (value) => ({ S: value });
const number = (value) => ({ N: String(value) });
const key = (pk, sk) => ({ pk: text(pk), sk: number(sk) });
const sortKeys = (items) => items.map((item) => Number(item.sk.N));
const ordered = (numbers) => numbers.sort((one, other) => one - other);
const bytes = (base64) => Uint8Array.from(Buffer.from(base64, "base64"));

async function tables() {
  await send(new CreateTableCommand(tableRequest()));
  await waitUntilTableExists(waiting, { TableName: TABLE });
  const { Table } = await send(new DescribeTableCommand({ TableName: TABLE }));
  for (const [name, seen] of Object.entries(describe(Table))) report.add(name, seen);
  const names = [];
  for await (const page of paginateListTables({ client }, {})) names.push(...page.TableNames);
  report.add("tables.listed", names.includes(TABLE));
  const TimeToLiveSpecification = { AttributeName: "expires", Enabled: true };
  await send(new UpdateTimeToLiveCommand({ TableName: TABLE, TimeToLiveSpecification }));
  const described = await send(new DescribeTimeToLiveCommand({ TableName: TABLE }));
  report.add("tables.expiry", described.TimeToLiveDescription.AttributeName);
}

async function items() {
  const Item = { ...EVERY_TYPE };
  Item.binary = { B: bytes(Item.binary.B) };
  Item.binaries = { BS: Item.binaries.BS.map(bytes) };
  await send(new PutItemCommand({ TableName: TABLE, Item }));
  const stored = { TableName: TABLE, Key: key("types", 1), ConsistentRead: true };
  report.add("items.stored", wire((await send(new GetItemCommand(stored))).Item));
  const absent = { TableName: TABLE, Key: key("types", 2) };
  report.add("items.absent", (await send(new GetItemCommand(absent))).Item ?? null);
  const projected = await send(
    new GetItemCommand({
      TableName: TABLE,
      Key: key("types", 1),
      ProjectionExpression: "#t, #m.#i, #l[1]",
      ExpressionAttributeNames: { "#t": "text", "#m": "map", "#i": "inner", "#l": "list" },
    }),
  );
  report.add("items.projected", wire(projected.Item));
  const updated = await send(
    new UpdateItemCommand({
      TableName: TABLE,
      Key: key("counter", 1),
      UpdateExpression: "SET #o = :o ADD #n :n, #t :t",
      ExpressionAttributeNames: { "#o": "owner", "#n": "count", "#t": "tags" },
      ExpressionAttributeValues: { ":o": text("ada"), ":n": number(2), ":t": { SS: ["x"] } },
      ReturnValues: "ALL_NEW",
    }),
  );
  report.add("items.updated", wire(updated.Attributes));
  const incremented = await send(
    new UpdateItemCommand({
      TableName: TABLE,
      Key: key("counter", 1),
      UpdateExpression: "SET #n = #n + :n REMOVE #t",
      ExpressionAttributeNames: { "#n": "count", "#t": "tags" },
      ExpressionAttributeValues: { ":n": number(3) },
      ReturnValues: "UPDATED_NEW",
    }),
  );
  report.add("items.incremented", wire(incremented.Attributes));
  const removal = { TableName: TABLE, Key: key("counter", 1), ReturnValues: "ALL_OLD" };
  report.add("items.deleted", wire((await send(new DeleteItemCommand(removal))).Attributes));
}

async function conditions() {
  const created = { ...key("condition", 1), owner: text("ada") };
  const absent = { TableName: TABLE, ConditionExpression: "attribute_not_exists(pk)" };
  await send(new PutItemCommand({ ...absent, Item: created }));
  const again = new PutItemCommand({
    ...absent,
    Item: { ...created, owner: text("bob") },
    ReturnValuesOnConditionCheckFailure: "ALL_OLD",
  });
  report.add("conditions.unmet", await errorOf(send(again), wire));
  await send(
    new UpdateItemCommand({
      TableName: TABLE,
      Key: key("condition", 1),
      UpdateExpression: "SET #o = :new",
      ConditionExpression: "#o = :old AND attribute_exists(sk)",
      ExpressionAttributeNames: { "#o": "owner" },
      ExpressionAttributeValues: { ":new": text("cy"), ":old": text("ada") },
    }),
  );
  const got = await send(new GetItemCommand({ TableName: TABLE, Key: key("condition", 1) }));
  report.add("conditions.met", wire(got.Item));
}

async function batches() {
  const numbers = [...Array(30).keys()];
  const write = (requests) => send(new BatchWriteItemCommand({ RequestItems: { [TABLE]: requests } }));
  await Promise.all(
    [numbers.slice(0, 25), numbers.slice(25)].map((chunk) =>
      write(chunk.map((i) => ({ PutRequest: { Item: paged(i) } }))),
    ),
  );
  const Keys = [3, 29, 77, 12].map((i) => key("paged", i));
  const read = await send(new BatchGetItemCommand({ RequestItems: { [TABLE]: { Keys } } }));
  report.add("batches.read", ordered(sortKeys(read.Responses[TABLE])));
  await write(numbers.slice(10).map((i) => ({ DeleteRequest: { Key: key("paged", i) } })));
  report.add("batches.left", (await query({ Select: "COUNT" })).Count);
}

function paged(i) {
  return { ...key("paged", i), owner: text(i % 2 === 0 ? "even" : "odd"), rank: number(100 - i) };
}

function query({ values = {}, ...more }) {
  return send(
    new QueryCommand({
      TableName: TABLE,
      KeyConditionExpression: "pk = :pk",
      ExpressionAttributeValues: { ":pk": text("paged"), ...values },
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
      ExpressionAttributeValues: { ":pk": text("paged") },
    },
  );
  for await (const page of walk) walked.push(...sortKeys(page.Items));
  report.add("queries.walked", walked);
  const last = await query({ ScanIndexForward: false, Limit: 3 });
  report.add("queries.descending", sortKeys(last.Items));
  const between = await query({
    KeyConditionExpression: "pk = :pk AND sk BETWEEN :a AND :b",
    values: { ":a": number(3), ":b": number(5) },
  });
  report.add("queries.between", sortKeys(between.Items));
  const odd = await query({
    FilterExpression: "#o = :o",
    ExpressionAttributeNames: { "#o": "owner" },
    values: { ":o": text("odd") },
  });
  report.add("queries.filtered", sortKeys(odd.Items));
  report.add("queries.counts", [odd.Count, odd.ScannedCount]);
  const owned = await send(
    new QueryCommand({
      TableName: TABLE,
      IndexName: "by_owner",
      KeyConditionExpression: "#o = :o AND sk > :sk",
      ExpressionAttributeNames: { "#o": "owner" },
      ExpressionAttributeValues: { ":o": text("even"), ":sk": number(2) },
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
      ExpressionAttributeValues: { ":pk": text("paged") },
    },
  );
  for await (const page of pages) scanned.push(...sortKeys(page.Items));
  return scanned;
}

async function transactions() {
  const put = (Item) => send(new PutItemCommand({ TableName: TABLE, Item }));
  await put({ ...key("account", 1), balance: number(10) });
  await put({ ...key("account", 2), balance: number(0) });
  await put(key("account", 3));
  const write = (TransactItems, token) =>
    send(new TransactWriteItemsCommand({ TransactItems, ClientRequestToken: token }));
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
  report.add("transactions.cancelled", await errorOf(write(tooMuch), wire));
  report.add("transactions.unchanged", await read(1, 2));
  const mismatch = await errorOf(write(moves.slice(0, 2), TOKEN), wire);
  report.add("transactions.mismatch", mismatch.code);
}

function move(sk, by, { least } = {}) {
  const Update = {
    TableName: TABLE,
    Key: key("account", sk),
    UpdateExpression: "SET balance = balance + :by",
    ExpressionAttributeValues: { ":by": number(by) },
  };
  if (least !== undefined) {
    Update.ConditionExpression = "balance >= :least";
    Update.ExpressionAttributeValues[":least"] = number(least);
    Update.ReturnValuesOnConditionCheckFailure = "ALL_OLD";
  }
  return { Update };
}

async function read(...numbers) {
  const TransactItems = numbers.map((sk) => ({ Get: { TableName: TABLE, Key: key("account", sk) } }));
  const { Responses } = await send(new TransactGetItemsCommand({ TransactItems }));
  return Responses.map(({ Item }) => wire(Item));
}

async function errors() {
  const commands = {
    no_table: new GetItemCommand({ TableName: `${TABLE}-missing`, Key: key("a", 1) }),
    table_in_use: new CreateTableCommand(tableRequest()),
    empty_key: new PutItemCommand({ TableName: TABLE, Item: key("", 1) }),
    no_index: new QueryCommand({
      TableName: TABLE,
      IndexName: "by_nothing",
      KeyConditionExpression: "pk = :pk",
      ExpressionAttributeValues: { ":pk": text("a") },
    }),
    wrong_type: new PutItemCommand({ TableName: TABLE, Item: { pk: text("a"), sk: text("1") } }),
    syntax: new UpdateItemCommand({
      TableName: TABLE,
      Key: key("a", 1),
      UpdateExpression: "SET = :v",
      ExpressionAttributeValues: { ":v": number(1) },
    }),
  };
  for (const [name, command] of Object.entries(commands)) {
    report.add(`errors.${name}`, await errorOf(send(command), wire));
  }
}

async function end() {
  await send(new DeleteTableCommand({ TableName: TABLE }));
  await waitUntilTableNotExists(waiting, { TableName: TABLE });
  const gone = send(new DescribeTableCommand({ TableName: TABLE }));
  report.add("tables.deleted", await errorOf(gone, wire));
}

report.run([tables, items, conditions, batches, queries, transactions, errors, end]);
