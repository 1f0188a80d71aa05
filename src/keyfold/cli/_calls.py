"""API calls that were sent, as text: the operation, the index and the key."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from keyfold.cli._quantities import count_of
from keyfold.expressions import ReadablePrinter
from keyfold.expressions.parser import parse_condition
from keyfold.model import Table
from keyfold.model._secrets import MASKED, is_secret
from keyfold.store import CallRecord
from keyfold.values import AttributeValue, Item

# UUIDs and ULIDs; their first and last characters are enough to recognise them.
_LONG_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9A-HJKMNP-TV-Z]{26}")
_ENDS = 4
_MILLISECONDS = 1000


@dataclass(frozen=True, slots=True)
class SentCall:
    """One call: `key` is its key condition, `brief` the same with long ids shortened."""

    operation: str
    index: str | None
    key: str
    brief: str
    consumed: float
    milliseconds: float

    def to_json(self) -> dict[str, Any]:
        """Return the call as a JSON object."""
        return {
            "operation": self.operation,
            "index": self.index,
            "key": self.key,
            "capacity_units": self.consumed,
            "milliseconds": round(self.milliseconds, 3),
        }


class CallLog:
    """A hook for a store's `on_call` that records the calls sent."""

    def __init__(self, tables: Iterable[Table]) -> None:
        self._keys = {table.name: table.key.names for table in tables}
        self._calls: list[SentCall] = []

    def __call__(self, record: CallRecord) -> None:
        key, brief = (
            self._render_key(record, render) for render in (_render_value, _render_briefly)
        )
        index: str | None = record.request.get("IndexName")
        milliseconds = record.seconds * _MILLISECONDS
        self._calls.append(
            SentCall(record.operation, index, key, brief, record.consumed, milliseconds)
        )

    def take(self) -> list[SentCall]:
        """Return the calls since the last `take`, and forget them."""
        taken, self._calls = self._calls, []
        return taken

    def _render_key(self, record: CallRecord, render: Callable[[AttributeValue], str]) -> str:
        request = record.request
        match record.operation:
            case "Query" | "Scan":
                return _render_conditions(request, render)
            case "PutItem":
                return self._render_item(request["TableName"], request["Item"], render)
            case "BatchGetItem":
                wanted = request["RequestItems"].values()
                return count_of(sum(len(each["Keys"]) for each in wanted), "key")
            case "TransactWriteItems" | "TransactGetItems":
                return self._render_members(request["TransactItems"], render)
            case "BatchWriteItem":
                return count_of(sum(map(len, request["RequestItems"].values())), "write")
            case "GetItem" | "UpdateItem" | "DeleteItem":
                return self._render_item(request["TableName"], request["Key"], render)
            case _:
                return ""

    def _render_item(self, table: str, item: Item, render: Callable[[AttributeValue], str]) -> str:
        return " AND ".join(f"{name} = {render(item[name])}" for name in self._keys[table])

    def _render_members(
        self, members: Iterable[Mapping[str, Any]], render: Callable[[AttributeValue], str]
    ) -> str:
        """Return the actions of a transaction and the partitions they are in."""
        kinds: Counter[str] = Counter()
        partitions: dict[str, None] = {}
        for member in members:
            ((kind, body),) = member.items()
            kinds[kind] += 1
            name = self._keys[body["TableName"]][0]
            partitions[render(body.get("Key", body.get("Item"))[name])] = None
        shown = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        return f"{shown} in {', '.join(partitions)}"


def show_calls(calls: Iterable[SentCall]) -> list[tuple[str, str, str]]:
    """Return the operation, the index and the key of each call.

    Consecutive equal calls, such as the pages of a query, are merged and counted.
    """
    groups = groupby(calls, lambda call: (call.operation, call.index, call.brief))
    lines: list[tuple[str, str, str]] = []
    for (operation, index, brief), group in groups:
        number = len(list(group))
        repeated = "" if number == 1 else f" ({number} calls)"
        lines.append((operation, index or "", brief + repeated))
    return lines


def shorten_ids(text: str) -> str:
    """Return a text with the middle of each long id replaced by an ellipsis.

    >>> shorten_ids("U#550e8400-e29b-41d4-a716-446655440000#O")
    'U#550e…0000#O'
    """
    return _LONG_ID.sub(lambda found: f"{found[0][:_ENDS]}…{found[0][-_ENDS:]}", text)


def _render_conditions(request: Mapping[str, Any], render: Callable[[AttributeValue], str]) -> str:
    names, values = (request.get(f"ExpressionAttribute{kind}") for kind in ("Names", "Values"))
    printer = ReadablePrinter(names, values, render)
    shown = [
        start + printer.write_condition(parse_condition(request[kind]).condition)
        for kind, start in (("KeyConditionExpression", ""), ("FilterExpression", "filter "))
        if kind in request
    ]
    return ", ".join(shown)


def _render_value(value: AttributeValue) -> str:
    ((kind, data),) = value.items()
    return repr(data) if kind in ("S", "B") or is_secret(data) else str(data)


def _render_briefly(value: AttributeValue) -> str:
    ((_, data),) = value.items()
    text = MASKED if is_secret(data) else str(data)
    return shorten_ids(text.replace(".000000Z", "Z"))
