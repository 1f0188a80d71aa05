"""Calls of every kind on every target in a table, and the model requests that produce them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from keyfold.model import Request
from tests.unit.policy.accesses.test_tables import OTHERS
from tests.unit.store.store_kinds import START

Item = dict[str, Any]
# An operation and its request.
Call = tuple[str, dict[str, Any]]


class Target(NamedTuple):
    """A partition, and an item that may exist there.

    `owner` is "own", "foreign" or "shared"; `attributes` are those besides the key, and `changed`
    names one of them that is in no index.
    """

    area: str
    owner: str
    key: Item
    attributes: Item
    changed: str

    @property
    def name(self) -> str:
        return f"{self.owner} {self.area}"

    @property
    def item(self) -> Item:
        return {**self.key, **self.attributes}


class Case(NamedTuple):
    """A call to try, and the model request that produces it, if any."""

    name: str
    call: Call
    request: Request[Any] | None = None


def text(value: str) -> dict[str, str]:
    return {"S": value}


CREATES = {"ConditionExpression": "attribute_not_exists(pk)"}
REPLACES = {"ConditionExpression": "attribute_exists(pk)"}
SHOWS = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}


def calls_on_items(table: str, target: Target, companion: Target) -> Iterator[Case]:
    """Yield calls of each kind on one item, alone and together with another."""
    keyed = {"TableName": table, "Key": target.key}
    put = {"TableName": table, "Item": target.item}
    named = {"#n": target.changed}
    sets = {
        "UpdateExpression": "SET #n = :v",
        "ExpressionAttributeNames": named,
        "ExpressionAttributeValues": {":v": text("changed")},
    }
    some = {"ProjectionExpression": "pk, #n", "ExpressionAttributeNames": named}
    plain: dict[str, Call] = {
        "get": ("GetItem", keyed),
        "get some": ("GetItem", {**keyed, **some}),
        "put": ("PutItem", put),
        "create": ("PutItem", {**put, **CREATES}),
        "create and show the existing item": ("PutItem", {**put, **CREATES, **SHOWS}),
        "replace": ("PutItem", {**put, **REPLACES}),
        "put and return": ("PutItem", {**put, "ReturnValues": "ALL_OLD"}),
        "update": ("UpdateItem", {**keyed, **sets}),
        "update if existing": ("UpdateItem", {**keyed, **sets, **REPLACES}),
        "update if absent": ("UpdateItem", {**keyed, **sets, **CREATES}),
        "update and return": ("UpdateItem", {**keyed, **sets, "ReturnValues": "ALL_NEW"}),
        "delete": ("DeleteItem", keyed),
        "delete and return": ("DeleteItem", {**keyed, "ReturnValues": "ALL_OLD"}),
        "delete if": ("DeleteItem", {**keyed, **REPLACES, **SHOWS}),
    }
    for name, call in plain.items():
        yield Case(name, call)
    other_keyed = {"TableName": table, "Key": companion.key}
    members: dict[str, Item] = {
        "Put": {"Put": put},
        "create Put": {"Put": {**put, **CREATES}},
        "Update": {"Update": {**keyed, **sets}},
        "Delete": {"Delete": keyed},
        "ConditionCheck": {"ConditionCheck": {**keyed, **REPLACES}},
        "ConditionCheck that shows": {"ConditionCheck": {**keyed, **REPLACES, **SHOWS}},
    }
    for name, member in members.items():
        yield Case(f"transact {name}", transact("TransactWriteItems", member))
        other = {"ConditionCheck": {**other_keyed, "ConditionExpression": "attribute_exists(pk)"}}
        if companion.key != target.key:
            yield Case(
                f"transact {name} with another", transact("TransactWriteItems", other, member)
            )
    get, other_get = {"Get": keyed}, {"Get": other_keyed}
    yield Case("transact Get", transact("TransactGetItems", get))
    yield Case("transact Get some", transact("TransactGetItems", {"Get": {**keyed, **some}}))
    yield Case("batch get", batch_get(table, target.key))
    yield Case("batch get some", batch_get(table, target.key, **some))
    writes = {
        "put": {"PutRequest": {"Item": target.item}},
        "delete": {"DeleteRequest": {"Key": target.key}},
    }
    for name, write in writes.items():
        yield Case(f"batch {name}", ("BatchWriteItem", {"RequestItems": {table: [write]}}))
    if companion.key != target.key:
        yield Case("transact Get with another", transact("TransactGetItems", other_get, get))
        yield Case("batch get with another", batch_get(table, companion.key, target.key))
        other_put = {"PutRequest": {"Item": companion.item}}
        both = [other_put, writes["delete"]]
        yield Case("batch write with another", ("BatchWriteItem", {"RequestItems": {table: both}}))


def transact(operation: str, *members: Item) -> Call:
    return operation, {"TransactItems": list(members)}


def batch_get(table: str, *keys: Item, **wanted: Any) -> Call:
    return "BatchGetItem", {"RequestItems": {table: {"Keys": list(keys), **wanted}}}


def queries(table: str, partition: Item, index: str | None, changed: str) -> Iterator[Case]:
    """Yield queries of one partition, of the table or of an index."""
    request: Item = {
        "TableName": table,
        "KeyConditionExpression": " AND ".join(f"#{name} = :{name}" for name in partition),
        "ExpressionAttributeNames": {f"#{name}": name for name in partition},
        "ExpressionAttributeValues": {f":{name}": value for name, value in partition.items()},
    }
    label = "query"
    if index is not None:
        request["IndexName"] = index
        label += f" {index}"
    yield Case(label, ("Query", request))
    yield Case(f"{label} and count", ("Query", {**request, "Select": "COUNT"}))
    named = {"ExpressionAttributeNames": {**request["ExpressionAttributeNames"], "#n": changed}}
    if index is None:
        some = {**named, "ProjectionExpression": "sk, #n"}
        yield Case(f"{label} for some", ("Query", {**request, **some}))
        filtered = {**named, "FilterExpression": "attribute_exists(#n)", "Select": "COUNT"}
        yield Case(f"{label} and filter", ("Query", {**request, **filtered}))


def calls_on_tables(table: str, key: Item) -> Iterator[Case]:
    """Yield calls that name no partition: scans, statements, and operations on tables."""
    yield Case("scan", ("Scan", {"TableName": table}))
    yield Case("scan and count", ("Scan", {"TableName": table, "Select": "COUNT"}))
    yield Case("scan for keys", ("Scan", {"TableName": table, "ProjectionExpression": "pk, sk"}))
    partition, sort = key["pk"]["S"], key["sk"]["S"]
    select = f"SELECT * FROM \"{table}\" WHERE pk = '{partition}' AND sk = '{sort}'"
    insert = f"INSERT INTO \"{table}\" VALUE {{'pk': '{partition}', 'sk': 'inserted'}}"
    update = f"UPDATE \"{table}\" SET x = 1 WHERE pk = '{partition}' AND sk = '{sort}'"
    delete = f"DELETE FROM \"{table}\" WHERE pk = '{partition}' AND sk = '{sort}'"
    for statement in (select, insert, update, delete):
        name = statement.split()[0].lower()
        yield Case(f"statement {name}", ("ExecuteStatement", {"Statement": statement}))
        member = {"Statement": statement}
        yield Case(f"batch of {name}", ("BatchExecuteStatement", {"Statements": [member]}))
        transaction = ("ExecuteTransaction", {"TransactStatements": [member]})
        yield Case(f"transaction of {name}", transaction)
    for operation, (request, _) in OTHERS.items():
        asked = json.loads(json.dumps(request).replace("Shop", table))
        yield Case(operation, (operation, asked))


def case_of(name: str, request: Request[Any]) -> Case:
    """Return the case of a model request, with the call that it becomes."""
    (only,) = request.calls(START)
    call = (only.operation, only.request)
    return Case(name, call, request)
