"""The scenario, run with aiobotocore's client."""

# pyright: basic
# pyright: reportMissingImports=false
from __future__ import annotations

import asyncio
from typing import Any

from aiobotocore.session import get_session
from botocore.exceptions import ClientError
from reporting import (
    EVERY_TYPE,
    TABLE,
    TOKEN,
    URL,
    Report,
    describe,
    from_wire,
    table_request,
    wire,
)

report = Report()


def text(value: str) -> dict[str, Any]:
    return {"S": value}


def number(value: int) -> dict[str, Any]:
    return {"N": str(value)}


def key(pk: str, sk: int) -> dict[str, Any]:
    return {"pk": text(pk), "sk": number(sk)}


def sort_keys(items: list[dict[str, Any]]) -> list[int]:
    return [int(item["sk"]["N"]) for item in items]


async def error_of(call: Any, **request: Any) -> dict[str, Any]:
    """Return the error of a call, as the client shows it."""
    try:
        await call(**request)
    except ClientError as error:
        response = error.response
        seen = {"code": response["Error"]["Code"], "message": response["Error"]["Message"]}
        if "Item" in response:
            seen["item"] = wire(response["Item"])
        if "CancellationReasons" in response:
            reasons = response["CancellationReasons"]
            seen["reasons"] = [[one["Code"], one.get("Message")] for one in reasons]
            seen["items"] = [wire(one.get("Item")) for one in reasons]
        return seen
    return {"code": "none"}


async def tables(client: Any) -> None:
    await client.create_table(**table_request())
    await client.get_waiter("table_exists").wait(TableName=TABLE)
    for name, seen in describe((await client.describe_table(TableName=TABLE))["Table"]).items():
        report.add(name, seen)
    pages = [page async for page in client.get_paginator("list_tables").paginate()]
    report.add("tables.listed", any(TABLE in page["TableNames"] for page in pages))
    await client.update_time_to_live(
        TableName=TABLE, TimeToLiveSpecification={"AttributeName": "expires", "Enabled": True}
    )
    described = await client.describe_time_to_live(TableName=TABLE)
    report.add("tables.expiry", described["TimeToLiveDescription"]["AttributeName"])


async def items(client: Any) -> None:
    await client.put_item(TableName=TABLE, Item={name: _value(v) for name, v in EVERY_TYPE.items()})
    got = await client.get_item(TableName=TABLE, Key=key("types", 1), ConsistentRead=True)
    report.add("items.stored", wire(got["Item"]))
    got = await client.get_item(TableName=TABLE, Key=key("types", 2))
    report.add("items.absent", got.get("Item"))
    got = await client.get_item(
        TableName=TABLE,
        Key=key("types", 1),
        ProjectionExpression="#t, #m.#i, #l[1]",
        ExpressionAttributeNames={"#t": "text", "#m": "map", "#i": "inner", "#l": "list"},
    )
    report.add("items.projected", wire(got["Item"]))
    updated = await client.update_item(
        TableName=TABLE,
        Key=key("counter", 1),
        UpdateExpression="SET #o = :o ADD #n :n, #t :t",
        ExpressionAttributeNames={"#o": "owner", "#n": "count", "#t": "tags"},
        ExpressionAttributeValues={":o": text("ada"), ":n": number(2), ":t": {"SS": ["x"]}},
        ReturnValues="ALL_NEW",
    )
    report.add("items.updated", wire(updated["Attributes"]))
    updated = await client.update_item(
        TableName=TABLE,
        Key=key("counter", 1),
        UpdateExpression="SET #n = #n + :n REMOVE #t",
        ExpressionAttributeNames={"#n": "count", "#t": "tags"},
        ExpressionAttributeValues={":n": number(3)},
        ReturnValues="UPDATED_NEW",
    )
    report.add("items.incremented", wire(updated["Attributes"]))
    deleted = await client.delete_item(
        TableName=TABLE, Key=key("counter", 1), ReturnValues="ALL_OLD"
    )
    report.add("items.deleted", wire(deleted["Attributes"]))


def _value(value: dict[str, Any]) -> dict[str, Any]:
    """Convert an attribute value for botocore, which takes binaries as bytes."""
    ((kind, _),) = value.items()
    if kind in {"B", "BS"}:
        inner = from_wire(value)
        return {kind: sorted(inner) if kind == "BS" else inner}
    return value


async def conditions(client: Any) -> None:
    created = {**key("condition", 1), "owner": text("ada")}
    absent = "attribute_not_exists(pk)"
    await client.put_item(TableName=TABLE, Item=created, ConditionExpression=absent)
    report.add(
        "conditions.unmet",
        await error_of(
            client.put_item,
            TableName=TABLE,
            Item={**created, "owner": text("bob")},
            ConditionExpression=absent,
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        ),
    )
    await client.update_item(
        TableName=TABLE,
        Key=key("condition", 1),
        UpdateExpression="SET #o = :new",
        ConditionExpression="#o = :old AND attribute_exists(sk)",
        ExpressionAttributeNames={"#o": "owner"},
        ExpressionAttributeValues={":new": text("cy"), ":old": text("ada")},
    )
    got = await client.get_item(TableName=TABLE, Key=key("condition", 1))
    report.add("conditions.met", wire(got["Item"]))


async def batches(client: Any) -> None:
    numbers = range(30)
    writes = [
        client.batch_write_item(
            RequestItems={TABLE: [{"PutRequest": {"Item": _paged(i)}} for i in chunk]}
        )
        for chunk in (numbers[:25], numbers[25:])
    ]
    for response in await asyncio.gather(*writes):
        assert response["UnprocessedItems"] == {}
    keys = [key("paged", i) for i in (3, 29, 77, 12)]
    response = await client.batch_get_item(RequestItems={TABLE: {"Keys": keys}})
    report.add("batches.read", sorted(sort_keys(response["Responses"][TABLE])))
    deletes = [{"DeleteRequest": {"Key": key("paged", i)}} for i in range(10, 30)]
    await client.batch_write_item(RequestItems={TABLE: deletes})
    counted = await _query(client, Select="COUNT")
    report.add("batches.left", counted["Count"])


def _paged(i: int) -> dict[str, Any]:
    owner = "even" if i % 2 == 0 else "odd"
    return {**key("paged", i), "owner": text(owner), "rank": number(100 - i)}


async def _query(client: Any, **more: Any) -> dict[str, Any]:
    return await client.query(
        TableName=TABLE,
        KeyConditionExpression=more.pop("condition", "pk = :pk"),
        ExpressionAttributeValues={":pk": text("paged"), **more.pop("values", {})},
        **more,
    )


async def queries(client: Any) -> None:
    pages, start = [], {}
    while True:
        page = await _query(client, Limit=4, **start)
        pages.append(sort_keys(page["Items"]))
        if "LastEvaluatedKey" not in page:
            break
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
    report.add("queries.pages", pages)
    walk = client.get_paginator("query").paginate(
        TableName=TABLE,
        KeyConditionExpression="pk = :pk",
        ExpressionAttributeValues={":pk": text("paged")},
        PaginationConfig={"PageSize": 3},
    )
    walked = [one async for page in walk for one in sort_keys(page["Items"])]
    report.add("queries.walked", walked)
    # Several calls at once, on separate connections.
    last, between, odd, ranked = await asyncio.gather(
        _query(client, ScanIndexForward=False, Limit=3),
        _query(
            client,
            condition="pk = :pk AND sk BETWEEN :a AND :b",
            values={":a": number(3), ":b": number(5)},
        ),
        _query(
            client,
            FilterExpression="#o = :o",
            ExpressionAttributeNames={"#o": "owner"},
            values={":o": text("odd")},
        ),
        _query(client, IndexName="by_rank", Limit=3),
    )
    report.add("queries.descending", sort_keys(last["Items"]))
    report.add("queries.between", sort_keys(between["Items"]))
    report.add("queries.filtered", sort_keys(odd["Items"]))
    report.add("queries.counts", [odd["Count"], odd["ScannedCount"]])
    report.add("queries.by_rank", sort_keys(ranked["Items"]))
    owned = await client.query(
        TableName=TABLE,
        IndexName="by_owner",
        KeyConditionExpression="#o = :o AND sk > :sk",
        ExpressionAttributeNames={"#o": "owner"},
        ExpressionAttributeValues={":o": text("even"), ":sk": number(2)},
    )
    report.add("queries.by_owner", sort_keys(owned["Items"]))
    segments = await asyncio.gather(_scan(client, 0), _scan(client, 1))
    report.add("queries.scanned", sorted(one for segment in segments for one in segment))


async def _scan(client: Any, segment: int) -> list[int]:
    pages = client.get_paginator("scan").paginate(
        TableName=TABLE,
        Segment=segment,
        TotalSegments=2,
        FilterExpression="pk = :pk",
        ExpressionAttributeValues={":pk": text("paged")},
        PaginationConfig={"PageSize": 5},
    )
    return [one async for page in pages for one in sort_keys(page["Items"])]


async def transactions(client: Any) -> None:
    await asyncio.gather(
        client.put_item(TableName=TABLE, Item={**key("account", 1), "balance": number(10)}),
        client.put_item(TableName=TABLE, Item={**key("account", 2), "balance": number(0)}),
        client.put_item(TableName=TABLE, Item=key("account", 3)),
    )
    moves = [
        _move(1, -4, condition="balance >= :least", values={":least": number(4)}),
        _move(2, 4),
        {"Delete": {"TableName": TABLE, "Key": key("account", 3)}},
        {"Put": {"TableName": TABLE, "Item": key("account", 4)}},
    ]
    for _ in range(2):
        await client.transact_write_items(TransactItems=moves, ClientRequestToken=TOKEN)
    report.add("transactions.read", await _read(client, 1, 2, 4))
    report.add("transactions.absent", (await _read(client, 1, 3))[1])
    check = {
        "TableName": TABLE,
        "Key": key("account", 4),
        "ConditionExpression": "attribute_exists(pk)",
    }
    too_much = _move(
        1,
        -40,
        condition="balance >= :least",
        values={":least": number(40)},
        ReturnValuesOnConditionCheckFailure="ALL_OLD",
    )
    write = client.transact_write_items
    report.add(
        "transactions.cancelled",
        await error_of(write, TransactItems=[{"ConditionCheck": check}, too_much, _move(2, 40)]),
    )
    report.add("transactions.unchanged", await _read(client, 1, 2))
    mismatch = await error_of(write, TransactItems=moves[:2], ClientRequestToken=TOKEN)
    report.add("transactions.mismatch", mismatch["code"])


def _move(sk: int, by: int, *, condition: str = "", **more: Any) -> dict[str, Any]:
    update = {
        "TableName": TABLE,
        "Key": key("account", sk),
        "UpdateExpression": "SET balance = balance + :by",
        "ExpressionAttributeValues": {":by": number(by), **more.pop("values", {})},
        **more,
    }
    if condition:
        update["ConditionExpression"] = condition
    return {"Update": update}


async def _read(client: Any, *numbers: int) -> list[dict[str, Any] | None]:
    gets = [{"Get": {"TableName": TABLE, "Key": key("account", sk)}} for sk in numbers]
    responses = (await client.transact_get_items(TransactItems=gets))["Responses"]
    return [wire(one.get("Item")) for one in responses]


async def errors(client: Any) -> None:
    missing = f"{TABLE}-missing"
    errors_by_name = {
        "no_table": error_of(client.get_item, TableName=missing, Key=key("a", 1)),
        "table_in_use": error_of(client.create_table, **table_request()),
        "empty_key": error_of(client.put_item, TableName=TABLE, Item=key("", 1)),
        "no_index": error_of(
            client.query,
            TableName=TABLE,
            IndexName="by_nothing",
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues={":pk": text("a")},
        ),
        "wrong_type": error_of(
            client.put_item, TableName=TABLE, Item={"pk": text("a"), "sk": text("1")}
        ),
        "syntax": error_of(
            client.update_item,
            TableName=TABLE,
            Key=key("a", 1),
            UpdateExpression="SET = :v",
            ExpressionAttributeValues={":v": number(1)},
        ),
    }
    for name, seen in zip(
        errors_by_name, await asyncio.gather(*errors_by_name.values()), strict=True
    ):
        report.add(f"errors.{name}", seen)


async def end(client: Any) -> None:
    await client.delete_table(TableName=TABLE)
    await client.get_waiter("table_not_exists").wait(TableName=TABLE)
    report.add("tables.deleted", await error_of(client.describe_table, TableName=TABLE))


async def main() -> None:
    async with get_session().create_client("dynamodb", endpoint_url=URL) as client:
        for part in (tables, items, conditions, batches, queries, transactions, errors, end):
            await part(client)
    report.print()


asyncio.run(main())
