"""Random tables and valid items for them."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any

from tests.oracle.random_values import NAMES, Value, attribute, scalar

_INDEXED = ("a", "b", "c", "d")


@dataclass(frozen=True, slots=True)
class Index:
    """A secondary index: its key attributes in order, partition key ones first."""

    name: str
    partition: tuple[str, ...]
    sort: tuple[str, ...]
    is_global: bool
    projection: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Table:
    """A table's definition, and the request that creates it."""

    name: str
    partition: str
    sort: str | None
    types: dict[str, str]
    indexes: tuple[Index, ...]
    request: dict[str, Any]

    @property
    def key(self) -> tuple[str, ...]:
        """Return the attribute names of the primary key."""
        return (self.partition, self.sort) if self.sort else (self.partition,)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names that expressions use."""
        return (*self.key, *NAMES)

    @property
    def has_index_attributes(self) -> bool:
        """Return whether an index could be added whose attributes already have the right types."""
        return any(name in self.types for name in _INDEXED)


def random_table(source: random.Random, name: str) -> Table:
    """Return a table with up to three local and three global indexes."""
    types = {"pk": source.choice("SSNB")}
    sort = "sk" if source.random() < 0.7 else None
    if sort:
        types["sk"] = source.choice("SSNB")
    kinds = {attribute: source.choice("SSNB") for attribute in _INDEXED}
    indexes: list[Index] = []
    if sort:
        for number, attribute in enumerate(source.sample(_INDEXED, source.choice([0, 0, 1, 2]))):
            indexes.append(
                Index(f"local{number}", ("pk",), (attribute,), False, _projection(source))
            )
    for number in range(source.choice([0, 1, 1, 2, 3])):
        key = source.sample(_INDEXED, source.choice([1, 2, 2, 2, 3, 4]))
        split = 1 if len(key) < 3 else source.randint(1, 2)
        indexes.append(
            Index(
                f"global{number}", tuple(key[:split]), tuple(key[split:]), True, _projection(source)
            )
        )
    for index in indexes:
        types |= {
            attribute: kinds.get(attribute, types.get(attribute, "S"))
            for attribute in index.partition + index.sort
        }
    return Table(name, "pk", sort, types, tuple(indexes), _request(name, sort, types, indexes))


def reindexed(source: random.Random, table: Table) -> tuple[Table, dict[str, Any]]:
    """Return the table with a global index added or removed, and the request for the change.

    A new index only uses attributes that some index had before: DynamoDB Local also indexes values
    of the wrong type, which AWS leaves out. It may also never finish removing an index that shares
    an attribute with another, so such indexes are not removed.
    """
    uses = [name for index in table.indexes for name in index.partition + index.sort]
    removable = [
        index
        for index in table.indexes
        if index.is_global and all(uses.count(name) == 1 for name in index.partition + index.sort)
    ]
    known = [name for name in _INDEXED if name in table.types]
    if removable and source.random() < 0.3:
        gone = source.choice(removable)
        left = tuple(index for index in table.indexes if index is not gone)
        return _changed(table, left, {"Delete": {"IndexName": gone.name}})
    key = source.sample(known, min(len(known), source.choice([1, 2])))
    late = Index("late", tuple(key[:1]), tuple(key[1:]), True, _projection(source))
    return _changed(table, (*table.indexes, late), {"Create": _description(late)})


def _changed(
    table: Table, indexes: tuple[Index, ...], change: dict[str, Any]
) -> tuple[Table, dict[str, Any]]:
    request = {
        "TableName": table.name,
        "AttributeDefinitions": table.request["AttributeDefinitions"],
        "GlobalSecondaryIndexUpdates": [change],
    }
    return replace(table, indexes=indexes), request


def _projection(source: random.Random) -> dict[str, Any]:
    match source.choice(["ALL", "KEYS_ONLY", "INCLUDE"]):
        case "INCLUDE":
            names = source.sample([name for name in NAMES if name not in _INDEXED], 2)
            return {"ProjectionType": "INCLUDE", "NonKeyAttributes": names}
        case kind:
            return {"ProjectionType": kind}


def _request(
    name: str, sort: str | None, types: dict[str, str], indexes: list[Index]
) -> dict[str, Any]:
    request: dict[str, Any] = {
        "TableName": name,
        "AttributeDefinitions": [
            {"AttributeName": one, "AttributeType": kind} for one, kind in types.items()
        ],
        "KeySchema": _schema(("pk",), (sort,) if sort else ()),
        "BillingMode": "PAY_PER_REQUEST",
    }
    for kind, wanted in (("LocalSecondaryIndexes", False), ("GlobalSecondaryIndexes", True)):
        chosen = [_description(index) for index in indexes if index.is_global is wanted]
        if chosen:
            request[kind] = chosen
    return request


def _description(index: Index) -> dict[str, Any]:
    return {
        "IndexName": index.name,
        "KeySchema": _schema(index.partition, index.sort),
        "Projection": index.projection,
    }


def _schema(partition: tuple[str, ...], sort: tuple[str, ...]) -> list[dict[str, str]]:
    return [{"AttributeName": name, "KeyType": "HASH"} for name in partition] + [
        {"AttributeName": name, "KeyType": "RANGE"} for name in sort
    ]


def key_value(source: random.Random, kind: str) -> Value:
    """Return a key from a small set, so that requests often hit existing items."""
    match kind:
        case "S":
            return {"S": source.choice(["a", "b", "ab", "é", "😀", "Z", "a b"])}
        case "N":
            return {"N": source.choice(["0", "1", "1.0", "-1", "10", "2.5", "1e2", "-0.001"])}
        case _:
            return {"B": source.choice(["AA==", "AQ==", "/w==", "gAA=", "AAA="])}


def random_key(source: random.Random, table: Table) -> dict[str, Value]:
    """Return a primary key."""
    return {name: key_value(source, table.types[name]) for name in table.key}


def random_item(source: random.Random, table: Table) -> dict[str, Value]:
    """Return an item that the table accepts."""
    item = random_key(source, table)
    for name in source.sample(NAMES, source.randint(0, 6)):
        if name in table.types:
            item[name] = key_value(source, table.types[name])
        else:
            item[name] = attribute(source, name)
    return item


def start_value(source: random.Random, kind: str) -> Value:
    """Return a value to compare keys with, equal to or between those in use."""
    return key_value(source, kind) if source.random() < 0.7 else scalar(source, kind)
