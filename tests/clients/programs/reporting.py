"""The scenario's data and a report of the results, shared by the programs of all Python clients.

Each program runs in a separate environment, as `program.py URL TABLE`, and prints its results as
one JSON object, under the names that `scenario.json` uses for the expected results.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

SCENARIO: dict[str, Any] = json.loads((Path(__file__).parents[1] / "scenario.json").read_text())

URL, TABLE = sys.argv[1:3]

# An item with an attribute of every type; a token that makes a transaction idempotent.
EVERY_TYPE: dict[str, Any] = SCENARIO["every type"]
TOKEN = str(uuid4())


class Report:
    """The results of a client, by the names of the scenario."""

    def __init__(self) -> None:
        self._seen: dict[str, Any] = {}

    def add(self, name: str, seen: object) -> None:
        """Record a result under a name of the scenario."""
        self._seen[name] = seen

    def print(self) -> None:
        """Print all results as JSON."""
        print(json.dumps(self._seen))


def table_request() -> dict[str, Any]:
    """Return the CreateTable request of the scenario."""
    return {"TableName": TABLE, **SCENARIO["table"]}


def describe(description: dict[str, Any]) -> dict[str, Any]:
    """Return the parts of a table's description that the scenario checks."""
    indexes = [
        *description["GlobalSecondaryIndexes"],
        *description["LocalSecondaryIndexes"],
    ]
    return {
        "tables.status": description["TableStatus"],
        "tables.keys": {one["KeyType"]: one["AttributeName"] for one in description["KeySchema"]},
        "tables.attributes": {
            one["AttributeName"]: one["AttributeType"]
            for one in description["AttributeDefinitions"]
        },
        "tables.billing": description["BillingModeSummary"]["BillingMode"],
        "tables.indexes": sorted(one["IndexName"] for one in indexes),
    }


def from_wire(value: dict[str, Any], number: Callable[[str], Any] = Decimal) -> Any:
    """Convert an attribute value to a Python value; binaries become bytes."""
    ((kind, inner),) = value.items()
    match kind:
        case "N":
            return number(inner)
        case "B":
            return base64.b64decode(inner)
        case "NULL":
            return None
        case "L":
            return [from_wire(one, number) for one in inner]
        case "M":
            return {name: from_wire(one, number) for name, one in inner.items()}
        case "SS" | "NS" | "BS":
            return {from_wire({kind[0]: one}, number) for one in inner}
        case _:
            return inner


def to_wire(value: Any) -> dict[str, Any]:
    """Convert a Python value to DynamoDB's JSON, with sets sorted."""
    match value:
        case None:
            return {"NULL": True}
        case bool():
            return {"BOOL": value}
        case str():
            return {"S": value}
        case int() | float() | Decimal():
            return {"N": _number(value)}
        case list():
            return {"L": [to_wire(one) for one in cast("list[Any]", value)]}
        case dict():
            members = cast("dict[str, Any]", value)
            return {"M": {name: to_wire(one) for name, one in members.items()}}
        case set() | frozenset():
            inner = [to_wire(one) for one in cast("set[Any]", value)]
            (kind,) = {kind for one in inner for kind in one}
            return {f"{kind}S": sorted(one[kind] for one in inner)}
        case _:  # bytes, or a client's wrapper for them
            return {"B": base64.b64encode(bytes(value)).decode()}


def plain(item: dict[str, Any] | None) -> dict[str, Any] | None:
    """Convert an item of Python values to DynamoDB's JSON."""
    return None if item is None else to_wire(item)["M"]


def wire(item: dict[str, Any] | None) -> dict[str, Any] | None:
    """Convert an item of attribute values, with binaries as bytes, to JSON with sorted sets."""
    if item is None:
        return None
    return {name: _wire_value(one) for name, one in item.items()}


def _wire_value(value: dict[str, Any]) -> dict[str, Any]:
    ((kind, inner),) = value.items()
    match kind:
        case "B":
            return {kind: _text(inner)}
        case "SS" | "NS" | "BS":
            return {kind: sorted(_text(one) for one in inner)}
        case "L":
            return {kind: [_wire_value(one) for one in inner]}
        case "M":
            return {kind: wire(inner)}
        case _:
            return value


def _text(inner: str | bytes) -> str:
    return base64.b64encode(inner).decode() if isinstance(inner, bytes) else inner


def _number(value: float | Decimal) -> str:
    digits = format(Decimal(str(value)), "f")
    return digits.rstrip("0").rstrip(".") if "." in digits else digits
