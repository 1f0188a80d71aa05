"""The scenario, run with aioboto3's resource, with its tables, builders and batch writer."""

# pyright: basic
# pyright: reportMissingImports=false
from __future__ import annotations

import asyncio
from typing import Any

import aioboto3
from boto3.dynamodb.conditions import Attr, Key
from botocore.exceptions import ClientError
from reporting import (
    EVERY_TYPE,
    TABLE,
    TOKEN,
    URL,
    Report,
    describe,
    from_wire,
    plain,
    table_request,
)

report = Report()


def key(pk: str, sk: int) -> dict[str, Any]:
    return {"pk": pk, "sk": sk}


def sort_keys(items: list[dict[str, Any]]) -> list[int]:
    return [int(item["sk"]) for item in items]


async def error_of(call: Any, **request: Any) -> dict[str, Any]:
    """Return the error of a call, as the resource shows it."""
    try:
        await call(**request)
    except ClientError as error:
        response = error.response
        seen = {"code": response["Error"]["Code"], "message": response["Error"]["Message"]}
        if "Item" in response:
            seen["item"] = plain(_native(response["Item"]))
        if "CancellationReasons" in response:
            reasons = response["CancellationReasons"]
            seen["reasons"] = [[one["Code"], one.get("Message")] for one in reasons]
            seen["items"] = [plain(_native(one.get("Item"))) for one in reasons]
        return seen
    return {"code": "none"}


def _native(item: dict[str, Any] | None) -> dict[str, Any] | None:
    # The resource converts items in responses, but not those in errors.
    return None if item is None else {name: from_wire(one) for name, one in item.items()}


async def tables(dynamodb: Any, table: Any) -> None:
    made = await dynamodb.create_table(**table_request())
    await made.wait_until_exists()
    await made.reload()
    description = {
        "TableStatus": await made.table_status,
        "KeySchema": await made.key_schema,
        "AttributeDefinitions": await made.attribute_definitions,
        "BillingModeSummary": await made.billing_mode_summary,
        "GlobalSecondaryIndexes": await made.global_secondary_indexes,
        "LocalSecondaryIndexes": await made.local_secondary_indexes,
    }
    for name, seen in describe(description).items():
        report.add(name, seen)
    report.add("tables.listed", TABLE in [one.name async for one in dynamodb.tables.all()])
    client = table.meta.client
    await client.update_time_to_live(
        TableName=TABLE, TimeToLiveSpecification={"AttributeName": "expires", "Enabled": True}
    )
    described = await client.describe_time_to_live(TableName=TABLE)
    report.add("tables.expiry", described["TimeToLiveDescription"]["AttributeName"])


async def items(dynamodb: Any, table: Any) -> None:
    await table.put_item(Item=_native(EVERY_TYPE))
    got = await table.get_item(Key=key("types", 1), ConsistentRead=True)
    report.add("items.stored", plain(got["Item"]))
    report.add("items.absent", (await table.get_item(Key=key("types", 2))).get("Item"))
    got = await table.get_item(
        Key=key("types", 1),
        ProjectionExpression="#t, #m.#i, #l[1]",
        ExpressionAttributeNames={"#t": "text", "#m": "map", "#i": "inner", "#l": "list"},
    )
    report.add("items.projected", plain(got["Item"]))
    updated = await table.update_item(
        Key=key("counter", 1),
        UpdateExpression="SET #o = :o ADD #n :n, #t :t",
        ExpressionAttributeNames={"#o": "owner", "#n": "count", "#t": "tags"},
        ExpressionAttributeValues={":o": "ada", ":n": 2, ":t": {"x"}},
        ReturnValues="ALL_NEW",
    )
    report.add("items.updated", plain(updated["Attributes"]))
    updated = await table.update_item(
        Key=key("counter", 1),
        UpdateExpression="SET #n = #n + :n REMOVE #t",
        ExpressionAttributeNames={"#n": "count", "#t": "tags"},
        ExpressionAttributeValues={":n": 3},
        ReturnValues="UPDATED_NEW",
    )
    report.add("items.incremented", plain(updated["Attributes"]))
    deleted = await table.delete_item(Key=key("counter", 1), ReturnValues="ALL_OLD")
    report.add("items.deleted", plain(deleted["Attributes"]))


async def conditions(dynamodb: Any, table: Any) -> None:
    created = {**key("condition", 1), "owner": "ada"}
    await table.put_item(Item=created, ConditionExpression=Attr("pk").not_exists())
    report.add(
        "conditions.unmet",
        await error_of(
            table.put_item,
            Item={**created, "owner": "bob"},
            ConditionExpression=Attr("pk").not_exists(),
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        ),
    )
    await table.update_item(
        Key=key("condition", 1),
        UpdateExpression="SET #o = :new",
        ConditionExpression=Attr("owner").eq("ada") & Attr("sk").exists(),
        ExpressionAttributeNames={"#o": "owner"},
        ExpressionAttributeValues={":new": "cy"},
    )
    got = await table.get_item(Key=key("condition", 1))
    report.add("conditions.met", plain(got["Item"]))


async def batches(dynamodb: Any, table: Any) -> None:
    async with table.batch_writer() as batch:
        for i in range(30):
            owner = "even" if i % 2 == 0 else "odd"
            await batch.put_item(Item={**key("paged", i), "owner": owner, "rank": 100 - i})
    keys = [key("paged", i) for i in (3, 29, 77, 12)]
    response = await dynamodb.batch_get_item(RequestItems={TABLE: {"Keys": keys}})
    report.add("batches.read", sorted(sort_keys(response["Responses"][TABLE])))
    async with table.batch_writer() as batch:
        for i in range(10, 30):
            await batch.delete_item(Key=key("paged", i))
    counted = await table.query(KeyConditionExpression=Key("pk").eq("paged"), Select="COUNT")
    report.add("batches.left", counted["Count"])


async def queries(dynamodb: Any, table: Any) -> None:
    paged = Key("pk").eq("paged")
    pages, start = [], {}
    while True:
        page = await table.query(KeyConditionExpression=paged, Limit=4, **start)
        pages.append(sort_keys(page["Items"]))
        if "LastEvaluatedKey" not in page:
            break
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
    report.add("queries.pages", pages)
    walk = table.meta.client.get_paginator("query").paginate(
        TableName=TABLE, KeyConditionExpression=paged, PaginationConfig={"PageSize": 3}
    )
    walked = [one async for page in walk for one in sort_keys(page["Items"])]
    report.add("queries.walked", walked)
    last = await table.query(KeyConditionExpression=paged, ScanIndexForward=False, Limit=3)
    report.add("queries.descending", sort_keys(last["Items"]))
    between = await table.query(KeyConditionExpression=paged & Key("sk").between(3, 5))
    report.add("queries.between", sort_keys(between["Items"]))
    odd = await table.query(KeyConditionExpression=paged, FilterExpression=Attr("owner").eq("odd"))
    report.add("queries.filtered", sort_keys(odd["Items"]))
    report.add("queries.counts", [odd["Count"], odd["ScannedCount"]])
    owned = await table.query(
        IndexName="by_owner", KeyConditionExpression=Key("owner").eq("even") & Key("sk").gt(2)
    )
    report.add("queries.by_owner", sort_keys(owned["Items"]))
    ranked = await table.query(IndexName="by_rank", KeyConditionExpression=paged, Limit=3)
    report.add("queries.by_rank", sort_keys(ranked["Items"]))
    segments = await asyncio.gather(_scan(table, 0), _scan(table, 1))
    report.add("queries.scanned", sorted(one for segment in segments for one in segment))


async def _scan(table: Any, segment: int) -> list[int]:
    scanned: list[int] = []
    start: dict[str, Any] = {}
    while True:
        page = await table.scan(
            Segment=segment,
            TotalSegments=2,
            FilterExpression=Attr("pk").eq("paged"),
            Limit=5,
            **start,
        )
        scanned += sort_keys(page["Items"])
        if "LastEvaluatedKey" not in page:
            return scanned
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


async def transactions(dynamodb: Any, table: Any) -> None:
    write = table.meta.client.transact_write_items
    await table.put_item(Item={**key("account", 1), "balance": 10})
    await table.put_item(Item={**key("account", 2), "balance": 0})
    await table.put_item(Item=key("account", 3))
    moves = [
        _move(1, -4, condition="balance >= :least", values={":least": 4}),
        _move(2, 4),
        {"Delete": {"TableName": TABLE, "Key": key("account", 3)}},
        {"Put": {"TableName": TABLE, "Item": key("account", 4)}},
    ]
    for _ in range(2):
        await write(TransactItems=moves, ClientRequestToken=TOKEN)
    report.add("transactions.read", await _read(table, 1, 2, 4))
    report.add("transactions.absent", (await _read(table, 1, 3))[1])
    check = {
        "TableName": TABLE,
        "Key": key("account", 4),
        "ConditionExpression": "attribute_exists(pk)",
    }
    too_much = _move(
        1,
        -40,
        condition="balance >= :least",
        values={":least": 40},
        ReturnValuesOnConditionCheckFailure="ALL_OLD",
    )
    report.add(
        "transactions.cancelled",
        await error_of(write, TransactItems=[{"ConditionCheck": check}, too_much, _move(2, 40)]),
    )
    report.add("transactions.unchanged", await _read(table, 1, 2))
    mismatch = await error_of(write, TransactItems=moves[:2], ClientRequestToken=TOKEN)
    report.add("transactions.mismatch", mismatch["code"])


def _move(sk: int, by: int, *, condition: str = "", **more: Any) -> dict[str, Any]:
    update = {
        "TableName": TABLE,
        "Key": key("account", sk),
        "UpdateExpression": "SET balance = balance + :by",
        "ExpressionAttributeValues": {":by": by, **more.pop("values", {})},
        **more,
    }
    if condition:
        update["ConditionExpression"] = condition
    return {"Update": update}


async def _read(table: Any, *numbers: int) -> list[dict[str, Any] | None]:
    gets = [{"Get": {"TableName": TABLE, "Key": key("account", sk)}} for sk in numbers]
    responses = (await table.meta.client.transact_get_items(TransactItems=gets))["Responses"]
    return [plain(one.get("Item")) for one in responses]


async def errors(dynamodb: Any, table: Any) -> None:
    missing = await dynamodb.Table(f"{TABLE}-missing")
    report.add("errors.no_table", await error_of(missing.get_item, Key=key("a", 1)))
    report.add("errors.table_in_use", await error_of(dynamodb.create_table, **table_request()))
    report.add("errors.empty_key", await error_of(table.put_item, Item=key("", 1)))
    report.add(
        "errors.no_index",
        await error_of(
            table.query, IndexName="by_nothing", KeyConditionExpression=Key("pk").eq("a")
        ),
    )
    report.add("errors.wrong_type", await error_of(table.put_item, Item={"pk": "a", "sk": "1"}))
    report.add(
        "errors.syntax",
        await error_of(
            table.update_item,
            Key=key("a", 1),
            UpdateExpression="SET = :v",
            ExpressionAttributeValues={":v": 1},
        ),
    )


async def end(dynamodb: Any, table: Any) -> None:
    await table.delete()
    await table.wait_until_not_exists()
    report.add("tables.deleted", await error_of(table.reload))


async def main() -> None:
    async with aioboto3.Session().resource("dynamodb", endpoint_url=URL) as dynamodb:
        table = await dynamodb.Table(TABLE)
        for part in (tables, items, conditions, batches, queries, transactions, errors, end):
            await part(dynamodb, table)
    report.print()


asyncio.run(main())
