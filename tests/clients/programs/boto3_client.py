"""The scenario, run with boto3's client."""

# pyright: basic
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false
from __future__ import annotations

from typing import Any

import boto3
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
client = boto3.client("dynamodb", endpoint_url=URL)


def text(value: str) -> dict[str, Any]:
    return {"S": value}


def number(value: int) -> dict[str, Any]:
    return {"N": str(value)}


def key(pk: str, sk: int) -> dict[str, Any]:
    return {"pk": text(pk), "sk": number(sk)}


def sort_keys(items: list[dict[str, Any]]) -> list[int]:
    return [int(item["sk"]["N"]) for item in items]


def error_of(call: Any, **request: Any) -> dict[str, Any]:
    """Return the error of a call, as the client shows it."""
    try:
        call(**request)
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


def tables() -> None:
    client.create_table(**table_request())
    client.get_waiter("table_exists").wait(TableName=TABLE)
    for name, seen in describe(client.describe_table(TableName=TABLE)["Table"]).items():
        report.add(name, seen)
    names = [
        name
        for page in client.get_paginator("list_tables").paginate()
        for name in page["TableNames"]
    ]
    report.add("tables.listed", TABLE in names)
    client.update_time_to_live(
        TableName=TABLE, TimeToLiveSpecification={"AttributeName": "expires", "Enabled": True}
    )
    described = client.describe_time_to_live(TableName=TABLE)["TimeToLiveDescription"]
    report.add("tables.expiry", described["AttributeName"])


def items() -> None:
    client.put_item(TableName=TABLE, Item={name: _value(v) for name, v in EVERY_TYPE.items()})
    got = client.get_item(TableName=TABLE, Key=key("types", 1), ConsistentRead=True)
    report.add("items.stored", wire(got["Item"]))
    report.add("items.absent", client.get_item(TableName=TABLE, Key=key("types", 2)).get("Item"))
    got = client.get_item(
        TableName=TABLE,
        Key=key("types", 1),
        ProjectionExpression="#t, #m.#i, #l[1]",
        ExpressionAttributeNames={"#t": "text", "#m": "map", "#i": "inner", "#l": "list"},
    )
    report.add("items.projected", wire(got["Item"]))
    updated = client.update_item(
        TableName=TABLE,
        Key=key("counter", 1),
        UpdateExpression="SET #o = :o ADD #n :n, #t :t",
        ExpressionAttributeNames={"#o": "owner", "#n": "count", "#t": "tags"},
        ExpressionAttributeValues={":o": text("ada"), ":n": number(2), ":t": {"SS": ["x"]}},
        ReturnValues="ALL_NEW",
    )
    report.add("items.updated", wire(updated["Attributes"]))
    updated = client.update_item(
        TableName=TABLE,
        Key=key("counter", 1),
        UpdateExpression="SET #n = #n + :n REMOVE #t",
        ExpressionAttributeNames={"#n": "count", "#t": "tags"},
        ExpressionAttributeValues={":n": number(3)},
        ReturnValues="UPDATED_NEW",
    )
    report.add("items.incremented", wire(updated["Attributes"]))
    deleted = client.delete_item(TableName=TABLE, Key=key("counter", 1), ReturnValues="ALL_OLD")
    report.add("items.deleted", wire(deleted["Attributes"]))


def _value(value: dict[str, Any]) -> dict[str, Any]:
    """Convert an attribute value for boto3, which takes binaries as bytes."""
    ((kind, _),) = value.items()
    if kind in {"B", "BS"}:
        inner = from_wire(value)
        return {kind: sorted(inner) if kind == "BS" else inner}
    return value


def conditions() -> None:
    created = {**key("condition", 1), "owner": text("ada")}
    absent = "attribute_not_exists(pk)"
    client.put_item(TableName=TABLE, Item=created, ConditionExpression=absent)
    report.add(
        "conditions.unmet",
        error_of(
            client.put_item,
            TableName=TABLE,
            Item={**created, "owner": text("bob")},
            ConditionExpression=absent,
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        ),
    )
    client.update_item(
        TableName=TABLE,
        Key=key("condition", 1),
        UpdateExpression="SET #o = :new",
        ConditionExpression="#o = :old AND attribute_exists(sk)",
        ExpressionAttributeNames={"#o": "owner"},
        ExpressionAttributeValues={":new": text("cy"), ":old": text("ada")},
    )
    got = client.get_item(TableName=TABLE, Key=key("condition", 1))
    report.add("conditions.met", wire(got["Item"]))


def batches() -> None:
    numbers = range(30)
    for chunk in (numbers[:25], numbers[25:]):
        puts = [{"PutRequest": {"Item": _paged(i)}} for i in chunk]
        response = client.batch_write_item(RequestItems={TABLE: puts})
        assert response["UnprocessedItems"] == {}
    keys = [key("paged", i) for i in (3, 29, 77, 12)]
    response = client.batch_get_item(RequestItems={TABLE: {"Keys": keys}})
    report.add("batches.read", sorted(sort_keys(response["Responses"][TABLE])))
    deletes = [{"DeleteRequest": {"Key": key("paged", i)}} for i in range(10, 30)]
    client.batch_write_item(RequestItems={TABLE: deletes})
    counted = _query(Select="COUNT")
    report.add("batches.left", counted["Count"])


def _paged(i: int) -> dict[str, Any]:
    owner = "even" if i % 2 == 0 else "odd"
    return {**key("paged", i), "owner": text(owner), "rank": number(100 - i)}


def _query(**more: Any) -> dict[str, Any]:
    return client.query(
        TableName=TABLE,
        KeyConditionExpression=more.pop("condition", "pk = :pk"),
        ExpressionAttributeValues={":pk": text("paged"), **more.pop("values", {})},
        **more,
    )


def queries() -> None:
    pages, start = [], {}
    while True:
        page = _query(Limit=4, **start)
        pages.append(sort_keys(page["Items"]))
        if "LastEvaluatedKey" not in page:
            break
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
    report.add("queries.pages", pages)
    paginator = client.get_paginator("query").paginate(
        TableName=TABLE,
        KeyConditionExpression="pk = :pk",
        ExpressionAttributeValues={":pk": text("paged")},
        PaginationConfig={"PageSize": 3},
    )
    report.add("queries.walked", [one for page in paginator for one in sort_keys(page["Items"])])
    report.add("queries.descending", sort_keys(_query(ScanIndexForward=False, Limit=3)["Items"]))
    between = _query(
        condition="pk = :pk AND sk BETWEEN :a AND :b", values={":a": number(3), ":b": number(5)}
    )
    report.add("queries.between", sort_keys(between["Items"]))
    filtered = _query(
        FilterExpression="#o = :o",
        ExpressionAttributeNames={"#o": "owner"},
        values={":o": text("odd")},
    )
    report.add("queries.filtered", sort_keys(filtered["Items"]))
    report.add("queries.counts", [filtered["Count"], filtered["ScannedCount"]])
    owned = client.query(
        TableName=TABLE,
        IndexName="by_owner",
        KeyConditionExpression="#o = :o AND sk > :sk",
        ExpressionAttributeNames={"#o": "owner"},
        ExpressionAttributeValues={":o": text("even"), ":sk": number(2)},
    )
    report.add("queries.by_owner", sort_keys(owned["Items"]))
    report.add("queries.by_rank", sort_keys(_query(IndexName="by_rank", Limit=3)["Items"]))
    scanned = [
        one
        for segment in range(2)
        for page in client.get_paginator("scan").paginate(
            TableName=TABLE,
            Segment=segment,
            TotalSegments=2,
            FilterExpression="pk = :pk",
            ExpressionAttributeValues={":pk": text("paged")},
            PaginationConfig={"PageSize": 5},
        )
        for one in sort_keys(page["Items"])
    ]
    report.add("queries.scanned", sorted(scanned))


def transactions() -> None:
    client.put_item(TableName=TABLE, Item={**key("account", 1), "balance": number(10)})
    client.put_item(TableName=TABLE, Item={**key("account", 2), "balance": number(0)})
    client.put_item(TableName=TABLE, Item=key("account", 3))
    moves = [
        _move(1, -4, condition="balance >= :least", values={":least": number(4)}),
        _move(2, 4),
        {"Delete": {"TableName": TABLE, "Key": key("account", 3)}},
        {"Put": {"TableName": TABLE, "Item": key("account", 4)}},
    ]
    for _ in range(2):
        client.transact_write_items(TransactItems=moves, ClientRequestToken=TOKEN)
    report.add("transactions.read", _read(1, 2, 4))
    report.add("transactions.absent", _read(1, 3)[1])
    report.add(
        "transactions.cancelled",
        error_of(
            client.transact_write_items,
            TransactItems=[
                {
                    "ConditionCheck": {
                        "TableName": TABLE,
                        "Key": key("account", 4),
                        "ConditionExpression": "attribute_exists(pk)",
                    }
                },
                _move(
                    1,
                    -40,
                    condition="balance >= :least",
                    values={":least": number(40)},
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                ),
                _move(2, 40),
            ],
        ),
    )
    report.add("transactions.unchanged", _read(1, 2))
    mismatch = error_of(
        client.transact_write_items, TransactItems=moves[:2], ClientRequestToken=TOKEN
    )
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


def _read(*numbers: int) -> list[dict[str, Any] | None]:
    gets = [{"Get": {"TableName": TABLE, "Key": key("account", sk)}} for sk in numbers]
    responses = client.transact_get_items(TransactItems=gets)["Responses"]
    return [wire(one.get("Item")) for one in responses]


def errors() -> None:
    missing = f"{TABLE}-missing"
    report.add("errors.no_table", error_of(client.get_item, TableName=missing, Key=key("a", 1)))
    report.add("errors.table_in_use", error_of(client.create_table, **table_request()))
    report.add("errors.empty_key", error_of(client.put_item, TableName=TABLE, Item=key("", 1)))
    report.add(
        "errors.no_index",
        error_of(
            client.query,
            TableName=TABLE,
            IndexName="by_nothing",
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues={":pk": text("a")},
        ),
    )
    report.add(
        "errors.wrong_type",
        error_of(client.put_item, TableName=TABLE, Item={"pk": text("a"), "sk": text("1")}),
    )
    report.add(
        "errors.syntax",
        error_of(
            client.update_item,
            TableName=TABLE,
            Key=key("a", 1),
            UpdateExpression="SET = :v",
            ExpressionAttributeValues={":v": number(1)},
        ),
    )


def end() -> None:
    client.delete_table(TableName=TABLE)
    client.get_waiter("table_not_exists").wait(TableName=TABLE)
    report.add("tables.deleted", error_of(client.describe_table, TableName=TABLE))


for part in (tables, items, conditions, batches, queries, transactions, errors, end):
    part()
report.print()
