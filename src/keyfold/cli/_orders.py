"""The demonstration's script: requests on a table of orders, and what each must answer."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keyfold.engine import Engine
from keyfold.errors import ServiceError

Json = dict[str, Any]
JsonValue = dict[str, "JsonValue"] | list["JsonValue"] | str | float | bool | None


@dataclass(frozen=True, slots=True)
class Step:
    """One request, and what it must answer: a part of the response, or an error's type."""

    operation: str
    request: Json
    response: Json
    error: str | None = None
    capacity_units: float | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A step that was taken: what was asked, what came back, and what it cost."""

    operation: str
    asked: str
    answer: str
    items: int
    capacity_units: float | None
    milliseconds: float
    is_as_expected: bool

    def to_json(self) -> Json:
        """Render the call for `--json`."""
        return {
            "operation": self.operation,
            "asked": self.asked,
            "answer": self.answer,
            "items": self.items,
            "capacity_units": self.capacity_units,
            "milliseconds": round(self.milliseconds, 3),
            "as_expected": self.is_as_expected,
        }


def run_demo(path: Path) -> tuple[list[Call], list[str]]:
    """Take every step on a new file; return the calls and what `verify` found."""
    with Engine.open(path) as engine:
        calls = [take(step, engine) for step in STEPS]
        return calls, [str(problem) for problem in engine.verify()]


def take(step: Step, engine: Engine) -> Call:
    """Run one step and compare the answer with what it must be."""
    started = time.perf_counter()
    try:
        response, error = engine.execute(step.operation, step.request), None
    except ServiceError as raised:
        response, error = Json(), raised.type
    milliseconds = (time.perf_counter() - started) * 1000
    units = count_units(response)
    items = count_items(response)
    return Call(
        operation=step.operation,
        asked=describe_request(step.request),
        answer=error or describe_answer(response, items),
        items=items,
        capacity_units=units,
        milliseconds=milliseconds,
        is_as_expected=(
            error == step.error
            and units == step.capacity_units
            and contains(response, step.response)
        ),
    )


def contains(received: JsonValue, expected: JsonValue) -> bool:
    """Tell whether `received` has everything that `expected` has.

    >>> contains({"Count": 1, "Items": [{"a": 1, "b": 2}]}, {"Items": [{"a": 1}]})
    True
    >>> contains({"Items": [{"a": 1}, {"a": 2}]}, {"Items": [{"a": 1}]})
    False
    """
    if isinstance(received, dict) and isinstance(expected, dict):
        return all(
            name in received and contains(received[name], value) for name, value in expected.items()
        )
    if isinstance(received, list) and isinstance(expected, list):
        return len(received) == len(expected) and all(map(contains, received, expected))
    return received == expected


def count_units(response: Json) -> float | None:
    """Add up the capacity that a response reports; None where it reports none."""
    consumed: Json | list[Json] | None = response.get("ConsumedCapacity")
    if consumed is None:
        return None
    reports = consumed if isinstance(consumed, list) else [consumed]
    return sum(float(report["CapacityUnits"]) for report in reports)


def count_items(response: Json) -> int:
    """Count the items that a response carries."""
    if "Items" in response:
        return len(response["Items"])
    if "Responses" in response:
        return sum(len(items) for items in response["Responses"].values())
    return int("Item" in response) + int("Attributes" in response)


def describe_request(request: Json) -> str:
    """Say in one line what a request asks for: its index, its conditions, its key."""
    values = request.get("ExpressionAttributeValues", {})
    names = request.get("ExpressionAttributeNames", {})
    parts: list[str] = []
    if "IndexName" in request:
        parts.append(f"{request['IndexName']}:")
    if key := request.get("Key") or request.get("Item"):
        parts.append(f"{_show(key['pk'])} {_show(key['sk'])}")
    for clause, word in (
        ("KeyConditionExpression", ""),
        ("UpdateExpression", ""),
        ("FilterExpression", "filter"),
        ("ConditionExpression", "if"),
    ):
        if clause in request:
            text = _fill_in(request[clause], names, values)
            parts.append(f"{word} {text}".lstrip())
    if "RequestItems" in request:
        parts += (f"{len(asked)} to {table}" for table, asked in request["RequestItems"].items())
    if "TransactItems" in request:
        parts.append(", ".join(action for item in request["TransactItems"] for action in item))
    return " ".join(parts) or request.get("TableName", "")


def _fill_in(expression: str, names: dict[str, str], values: Json) -> str:
    """Show an expression with its placeholders filled in, for reading only."""

    def replace(placeholder: re.Match[str]) -> str:
        token = placeholder[0]
        return names[token] if token in names else _show(values[token])

    return re.sub(r"[#:]\w+", replace, expression)


def _show(value: Json) -> str:
    [content] = value.values()
    return str(content)


def describe_answer(response: Json, items: int) -> str:
    """Say in a word or two what came back."""
    match response:
        case {"TableDescription": {"TableStatus": status}}:
            return str(status)
        case {"Count": count, "ScannedCount": scanned} if scanned != count:
            return f"{count} of {scanned} items"
        case _:
            return {0: "done", 1: "1 item"}.get(items, f"{items} items")


def _order(customer: str, number: int, placed: str, status: str, total: str) -> Json:
    return {
        "pk": {"S": f"CUSTOMER#{customer}"},
        "sk": {"S": f"ORDER#{number}"},
        "status": {"S": status},
        "placed": {"S": placed},
        "total": {"N": total},
    }


def _key(item: Json) -> Json:
    return {"pk": item["pk"], "sk": item["sk"]}


_TABLE = "Orders"
_INDEX = "ByStatus"
_WITH_COST: Json = {"TableName": _TABLE, "ReturnConsumedCapacity": "TOTAL"}

_ADA: Json = {"pk": {"S": "CUSTOMER#ada"}, "sk": {"S": "PROFILE"}, "orders": {"N": "2"}}
_FIRST = _order("ada", 1001, "2026-03-01", "open", "25")
_SHIPPED: Json = {**_FIRST, "status": {"S": "shipped"}}
_SECOND = _order("ada", 1002, "2026-03-04", "open", "99.50")
_BOBS = _order("bob", 1003, "2026-03-02", "open", "12")
_THIRD = _order("ada", 1004, "2026-03-09", "open", "7.25")
_CART: Json = {
    "pk": {"S": "CUSTOMER#bob"},
    "sk": {"S": "CART"},
    "lines": {"L": [{"S": "tea"}, {"S": "cups"}]},
    "expires": {"N": "4102444800"},
}

STEPS: tuple[Step, ...] = (
    Step(
        "CreateTable",
        {
            "TableName": _TABLE,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": "S"}
                for name in ("pk", "sk", "status", "placed")
            ],
            "KeySchema": [
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": _INDEX,
                    "KeySchema": [
                        {"AttributeName": "status", "KeyType": "HASH"},
                        {"AttributeName": "placed", "KeyType": "RANGE"},
                    ],
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
        },
        {"TableDescription": {"TableName": _TABLE}},
    ),
    Step(
        "UpdateTimeToLive",
        {
            "TableName": _TABLE,
            "TimeToLiveSpecification": {"AttributeName": "expires", "Enabled": True},
        },
        {"TimeToLiveSpecification": {"AttributeName": "expires", "Enabled": True}},
    ),
    Step("PutItem", {**_WITH_COST, "Item": _FIRST}, {}, capacity_units=2),
    Step(
        "PutItem",
        {**_WITH_COST, "Item": _FIRST, "ConditionExpression": "attribute_not_exists(pk)"},
        {},
        error="ConditionalCheckFailedException",
    ),
    Step(
        "UpdateItem",
        {
            **_WITH_COST,
            "Key": _key(_FIRST),
            "UpdateExpression": "SET #status = :shipped",
            "ConditionExpression": "#status = :open",
            "ExpressionAttributeNames": {"#status": "status"},
            "ExpressionAttributeValues": {":shipped": {"S": "shipped"}, ":open": {"S": "open"}},
            "ReturnValues": "ALL_NEW",
        },
        {"Attributes": _SHIPPED},
        capacity_units=3,
    ),
    Step(
        "BatchWriteItem",
        {
            "RequestItems": {
                _TABLE: [{"PutRequest": {"Item": item}} for item in (_ADA, _SECOND, _BOBS, _CART)]
            },
            "ReturnConsumedCapacity": "TOTAL",
        },
        {"UnprocessedItems": {}},
        capacity_units=6,
    ),
    Step(
        "TransactWriteItems",
        {
            "TransactItems": [
                {"Put": {"TableName": _TABLE, "Item": _THIRD}},
                {
                    "Update": {
                        "TableName": _TABLE,
                        "Key": _key(_ADA),
                        "UpdateExpression": "ADD orders :one",
                        "ExpressionAttributeValues": {":one": {"N": "1"}},
                    }
                },
                {
                    "ConditionCheck": {
                        "TableName": _TABLE,
                        "Key": _key(_SECOND),
                        "ConditionExpression": "attribute_exists(pk)",
                    }
                },
            ],
            "ReturnConsumedCapacity": "TOTAL",
        },
        {},
        capacity_units=8,
    ),
    Step(
        "GetItem",
        {**_WITH_COST, "Key": _key(_ADA)},
        {"Item": {**_ADA, "orders": {"N": "3"}}},
        capacity_units=0.5,
    ),
    Step(
        "Query",
        {
            **_WITH_COST,
            "KeyConditionExpression": "pk = :customer AND begins_with(sk, :prefix)",
            "ExpressionAttributeValues": {
                ":customer": {"S": "CUSTOMER#ada"},
                ":prefix": {"S": "ORDER#"},
            },
        },
        {"Items": [_SHIPPED, {**_SECOND, "total": {"N": "99.5"}}, _THIRD]},
        capacity_units=0.5,
    ),
    Step(
        "Query",
        {
            **_WITH_COST,
            "IndexName": _INDEX,
            "KeyConditionExpression": "#status = :open AND placed >= :since",
            "ExpressionAttributeNames": {"#status": "status"},
            "ExpressionAttributeValues": {":open": {"S": "open"}, ":since": {"S": "2026-03-03"}},
            "ScanIndexForward": False,
        },
        {"Items": [_THIRD, {**_SECOND, "total": {"N": "99.5"}}]},
        capacity_units=0.5,
    ),
    Step(
        "Scan",
        {
            **_WITH_COST,
            "FilterExpression": "#total > :least",
            "ExpressionAttributeNames": {"#total": "total"},
            "ExpressionAttributeValues": {":least": {"N": "50"}},
        },
        {"Items": [{**_SECOND, "total": {"N": "99.5"}}], "Count": 1, "ScannedCount": 6},
        capacity_units=0.5,
    ),
    Step(
        "DeleteItem",
        {**_WITH_COST, "Key": _key(_BOBS), "ReturnValues": "ALL_OLD"},
        {"Attributes": _BOBS},
        capacity_units=2,
    ),
)
