"""The scenario, run with PynamoDB: its models, and its connections where those show more."""

# pyright: basic
# pyright: reportMissingImports=false
from __future__ import annotations

import json
from typing import Any

from pynamodb.attributes import (
    BinaryAttribute,
    BinarySetAttribute,
    BooleanAttribute,
    ListAttribute,
    MapAttribute,
    NullAttribute,
    NumberAttribute,
    NumberSetAttribute,
    TTLAttribute,
    UnicodeAttribute,
    UnicodeSetAttribute,
)
from pynamodb.connection import Connection, TableConnection
from pynamodb.connection.base import MetaTable
from pynamodb.exceptions import (
    DoesNotExist,
    PynamoDBException,
    TableDoesNotExist,
    TransactWriteError,
)
from pynamodb.indexes import AllProjection, GlobalSecondaryIndex, LocalSecondaryIndex
from pynamodb.models import Model
from pynamodb.transactions import TransactGet, TransactWrite
from reporting import EVERY_TYPE, TABLE, TOKEN, URL, Report, describe, from_wire, wire

report = Report()
REGION = "us-east-1"


class ByOwner(GlobalSecondaryIndex):
    class Meta:
        index_name = "by_owner"
        projection = AllProjection()
        billing_mode = "PAY_PER_REQUEST"

    owner = UnicodeAttribute(hash_key=True)
    sk = NumberAttribute(range_key=True)


class ByRank(LocalSecondaryIndex):
    class Meta:
        index_name = "by_rank"
        projection = AllProjection()

    pk = UnicodeAttribute(hash_key=True)
    rank = NumberAttribute(range_key=True)


class Thing(Model):
    """An item of the scenario; items of different kinds have different attributes."""

    class Meta:
        table_name = TABLE
        host = URL
        region = REGION
        billing_mode = "PAY_PER_REQUEST"

    pk = UnicodeAttribute(hash_key=True)
    sk = NumberAttribute(range_key=True)
    owner = UnicodeAttribute(null=True)
    rank = NumberAttribute(null=True)
    count_ = NumberAttribute(null=True, attr_name="count")
    tags = UnicodeSetAttribute(null=True)
    balance = NumberAttribute(null=True)
    expires = TTLAttribute(null=True)
    text = UnicodeAttribute(null=True)
    empty = UnicodeAttribute(null=True)
    digits = NumberAttribute(null=True)
    fraction = NumberAttribute(null=True)
    binary = BinaryAttribute(null=True, legacy_encoding=False)
    yes = BooleanAttribute(null=True)
    nothing = NullAttribute(null=True)
    list_ = ListAttribute(null=True, attr_name="list")
    map_ = MapAttribute(null=True, attr_name="map")
    texts = UnicodeSetAttribute(null=True)
    numbers = NumberSetAttribute(null=True)
    binaries = BinarySetAttribute(null=True, legacy_encoding=False)
    by_owner = ByOwner()
    by_rank = ByRank()


class ByNothing(GlobalSecondaryIndex):
    class Meta:
        index_name = "by_nothing"
        projection = AllProjection()

    pk = UnicodeAttribute(hash_key=True)


class Mistaken(Model):
    """The scenario's table, with a wrong key type and an index that does not exist."""

    class Meta:
        table_name = TABLE
        host = URL
        region = REGION

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    by_nothing = ByNothing()


class Missing(Model):
    """A table that does not exist."""

    class Meta:
        table_name = f"{TABLE}-missing"
        host = URL
        region = REGION

    pk = UnicodeAttribute(hash_key=True)
    sk = NumberAttribute(range_key=True)


connection = Connection(region=REGION, host=URL)
table = TableConnection(TABLE, region=REGION, host=URL)


def sort_keys(things: Any) -> list[int]:
    return [one.sk for one in things]


def shown(thing: Model) -> dict[str, Any] | None:
    """Return a model's attributes in DynamoDB's JSON."""
    return wire(thing.to_dynamodb_dict())


def error_of(call: Any, *arguments: Any, **options: Any) -> dict[str, Any]:
    """Return the error of a call, as PynamoDB shows it."""
    try:
        call(*arguments, **options)
    except PynamoDBException as error:
        seen: dict[str, Any] = {
            "code": error.cause_response_code,
            "message": error.cause_response_message,
        }
        if isinstance(error, TransactWriteError) and error.cancellation_reasons:
            reasons = error.cancellation_reasons
            seen["reasons"] = [
                ["None", None] if one is None else [one.code, one.message] for one in reasons
            ]
            seen["items"] = [None if one is None else wire(one.raw_item) for one in reasons]
        return seen
    return {"code": "none"}


def tables() -> None:
    Thing.create_table(wait=True)
    description = Thing.describe_table()
    for name, seen in describe(description).items():
        report.add(name, seen)
    table.connection.add_meta_table(MetaTable(description))
    report.add("tables.listed", TABLE in connection.list_tables()["TableNames"])


def items() -> None:
    names = {"list": "list_", "map": "map_"}
    native = {
        names.get(name, name): from_wire(value, number=json.loads)
        for name, value in EVERY_TYPE.items()
    }
    Thing(**native).save()
    report.add("items.stored", shown(Thing.get("types", 1, consistent_read=True)))
    try:
        report.add("items.absent", Thing.get("types", 2))
    except DoesNotExist:
        report.add("items.absent", None)
    got = table.get_item("types", "1", attributes_to_get=["text", "map.inner", "list[1]"])
    report.add("items.projected", wire(got["Item"]))
    counter = Thing("counter", 1)
    counter.update([Thing.owner.set("ada"), Thing.count_.add(2), Thing.tags.add({"x"})])
    report.add("items.updated", shown(counter))
    updated = table.update_item(
        "counter",
        "1",
        actions=[Thing.count_.set(Thing.count_ + 3), Thing.tags.remove()],
        return_values="UPDATED_NEW",
    )
    report.add("items.incremented", wire(updated["Attributes"]))
    deleted = table.delete_item("counter", "1", return_values="ALL_OLD")
    report.add("items.deleted", wire(deleted["Attributes"]))


def conditions() -> None:
    Thing("condition", 1, owner="ada").save(condition=Thing.pk.does_not_exist())
    second = Thing("condition", 1, owner="bob")
    report.add("conditions.unmet", error_of(second.save, condition=Thing.pk.does_not_exist()))
    Thing("condition", 1).update(
        [Thing.owner.set("cy")], condition=(Thing.owner == "ada") & Thing.sk.exists()
    )
    report.add("conditions.met", shown(Thing.get("condition", 1)))


def batches() -> None:
    with Thing.batch_write() as batch:
        for i in range(30):
            batch.save(Thing("paged", i, owner="even" if i % 2 == 0 else "odd", rank=100 - i))
    found = Thing.batch_get([("paged", i) for i in (3, 29, 77, 12)])
    report.add("batches.read", sorted(sort_keys(found)))
    with Thing.batch_write() as batch:
        for i in range(10, 30):
            batch.delete(Thing("paged", i))
    report.add("batches.left", Thing.count("paged"))


def queries() -> None:
    pages: list[list[int]] = []
    start = None
    while True:
        page = Thing.query("paged", limit=4, last_evaluated_key=start)
        pages.append(sort_keys(page))
        start = page.last_evaluated_key
        if start is None:
            break
    report.add("queries.pages", pages)
    report.add("queries.walked", sort_keys(Thing.query("paged", page_size=3)))
    last = Thing.query("paged", scan_index_forward=False, limit=3)
    report.add("queries.descending", sort_keys(last))
    report.add("queries.between", sort_keys(Thing.query("paged", Thing.sk.between(3, 5))))
    odd = Thing.query("paged", filter_condition=Thing.owner == "odd")
    report.add("queries.filtered", sort_keys(odd))
    report.add("queries.counts", [odd.total_count, odd.page_iter.total_scanned_count])
    report.add("queries.by_owner", sort_keys(Thing.by_owner.query("even", ByOwner.sk > 2)))
    report.add("queries.by_rank", sort_keys(Thing.by_rank.query("paged", limit=3)))
    scanned = [
        one.sk
        for segment in range(2)
        for one in Thing.scan(Thing.pk == "paged", segment=segment, total_segments=2, page_size=5)
    ]
    report.add("queries.scanned", sorted(scanned))


def transactions() -> None:
    Thing("account", 1, balance=10).save()
    Thing("account", 2, balance=0).save()
    Thing("account", 3).save()
    for _ in range(2):
        with TransactWrite(connection=connection, client_request_token=TOKEN) as transaction:
            _move(transaction, 1, -4, Thing.balance >= 4)
            _move(transaction, 2, 4)
            transaction.delete(Thing("account", 3))
            transaction.save(Thing("account", 4))
    report.add("transactions.read", _read(1, 2, 4))
    with TransactGet(connection=connection) as transaction:
        future = transaction.get(Thing, "account", 3)
    try:
        report.add("transactions.absent", shown(future.get()))
    except DoesNotExist:
        report.add("transactions.absent", None)
    report.add("transactions.cancelled", error_of(_overdraw))
    report.add("transactions.unchanged", _read(1, 2))
    report.add("transactions.mismatch", error_of(_reuse_token)["code"])


def _move(transaction: TransactWrite, sk: int, by: int, condition: Any = None) -> None:
    transaction.update(
        Thing("account", sk),
        [Thing.balance.set(Thing.balance + by)],
        condition=condition,
        return_values="ALL_OLD",
    )


def _overdraw() -> None:
    with TransactWrite(connection=connection) as transaction:
        transaction.condition_check(Thing, "account", 4, condition=Thing.pk.exists())
        _move(transaction, 1, -40, Thing.balance >= 40)
        _move(transaction, 2, 40)


def _reuse_token() -> None:
    with TransactWrite(connection=connection, client_request_token=TOKEN) as transaction:
        _move(transaction, 2, 4)


def _read(*numbers: int) -> list[dict[str, Any] | None]:
    with TransactGet(connection=connection) as transaction:
        futures = [transaction.get(Thing, "account", sk) for sk in numbers]
    return [shown(one.get()) for one in futures]


def errors() -> None:
    report.add("errors.no_table", error_of(Missing.get, "a", 1))
    again = error_of(
        table.create_table,
        attribute_definitions=[
            {"attribute_name": "pk", "attribute_type": "S"},
            {"attribute_name": "sk", "attribute_type": "N"},
        ],
        key_schema=[
            {"attribute_name": "pk", "key_type": "HASH"},
            {"attribute_name": "sk", "key_type": "RANGE"},
        ],
        billing_mode="PAY_PER_REQUEST",
    )
    report.add("errors.table_in_use", again)
    report.add("errors.empty_key", error_of(Thing("", 1).save))
    report.add("errors.no_index", error_of(list, Mistaken.by_nothing.query("a")))
    report.add("errors.wrong_type", error_of(Mistaken("a", "1").save))


def end() -> None:
    Thing.delete_table(wait=True)
    try:
        Thing.describe_table()
    except TableDoesNotExist:
        return
    raise AssertionError("the table is still there")


for part in (tables, items, conditions, batches, queries, transactions, errors, end):
    part()
report.print()
