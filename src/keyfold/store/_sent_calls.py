"""API calls that were sent, as text: the operation, the index and the key."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from keyfold.expressions import ReadablePrinter
from keyfold.expressions.parser import parse_condition
from keyfold.expressions.trees import Between, Comparison, Condition, FunctionCall, In, Path
from keyfold.model import Table
from keyfold.model._secrets import MASKED, is_secret
from keyfold.store._call_records import CallRecord
from keyfold.store._key_templates import KeyTemplates
from keyfold.values import AttributeValue, Item

# UUIDs and ULIDs; their first and last characters are enough to recognise them.
_LONG_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9A-HJKMNP-TV-Z]{26}")
_ENDS = 4
_MILLISECONDS = 1000

# Returns the text of a value of a table's attribute.
Render = Callable[[str, str, AttributeValue], str]


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
    """A hook for a store's `on_call` that records the calls sent to tables.

    Calls to other tables, such as a follower's leases, are left out. With `shows_keys` off, keys
    are recorded as the templates that rendered them.
    """

    def __init__(self, tables: Iterable[Table]) -> None:
        self._tables = {table.name: table for table in tables}
        self._keys = {table.name: table.key.names for table in self._tables.values()}
        self._templates: dict[str, KeyTemplates] = {}
        self._calls: list[SentCall] = []
        self.shows_keys = True

    def __call__(self, record: CallRecord) -> None:
        table: str | None = record.request.get("TableName")
        if table is not None and table not in self._tables:
            return
        renders = (
            (_render_value, _render_briefly) if self.shows_keys else (self._show_template,) * 2
        )
        key, brief = (self._render_key(record, render) for render in renders)
        index: str | None = record.request.get("IndexName")
        milliseconds = record.seconds * _MILLISECONDS
        self._calls.append(
            SentCall(record.operation, index, key, brief, record.consumed, milliseconds)
        )

    def take(self) -> list[SentCall]:
        """Return the calls since the last `take`, and forget them."""
        taken, self._calls = self._calls, []
        return taken

    def _show_template(self, table: str, attribute: str, value: AttributeValue) -> str:
        if table not in self._templates:
            self._templates[table] = KeyTemplates(self._tables[table])
        return self._templates[table].show(attribute, value)

    def _render_key(self, record: CallRecord, render: Render) -> str:
        request = record.request
        match record.operation:
            case "Query" | "Scan":
                return self._render_conditions(request, render)
            case "PutItem":
                return self._render_item(request["TableName"], request["Item"], render)
            case "BatchGetItem":
                wanted = request["RequestItems"].values()
                return _count_of(sum(len(each["Keys"]) for each in wanted), "key")
            case "TransactWriteItems" | "TransactGetItems":
                return self._render_members(request["TransactItems"], render)
            case "BatchWriteItem":
                return _count_of(sum(map(len, request["RequestItems"].values())), "write")
            case "GetItem" | "UpdateItem" | "DeleteItem":
                return self._render_item(request["TableName"], request["Key"], render)
            case _:
                return ""

    def _render_item(self, table: str, item: Item, render: Render) -> str:
        names = self._keys[table]
        return " AND ".join(f"{name} = {render(table, name, item[name])}" for name in names)

    def _render_conditions(self, request: Mapping[str, Any], render: Render) -> str:
        names, values = (request.get(f"ExpressionAttribute{kind}") for kind in ("Names", "Values"))
        printer = _ConditionPrinter(names, values, request["TableName"], render)
        shown: list[str] = []
        for kind, start in (("KeyConditionExpression", ""), ("FilterExpression", "filter ")):
            if kind not in request:
                continue
            if start and not self.shows_keys:
                # A filter may name and compare anything.
                shown.append("filtered")
            else:
                condition = parse_condition(request[kind]).condition
                shown.append(start + printer.write_condition(condition))
        return ", ".join(shown)

    def _render_members(self, members: Iterable[Mapping[str, Any]], render: Render) -> str:
        """Return the actions of a transaction and the partitions they are in."""
        kinds: Counter[str] = Counter()
        partitions: dict[str, None] = {}
        for member in members:
            ((kind, body),) = member.items()
            kinds[kind] += 1
            name = self._keys[body["TableName"]][0]
            value = body.get("Key", body.get("Item"))[name]
            partitions[render(body["TableName"], name, value)] = None
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


class _ConditionPrinter(ReadablePrinter):
    """Writes conditions with each value rendered for the attribute that it is compared with."""

    def __init__(
        self,
        names: dict[str, str] | None,
        values: dict[str, AttributeValue] | None,
        table: str,
        render: Render,
    ) -> None:
        super().__init__(names, values, lambda value: render(table, self._attribute, value))
        self._attribute = ""

    def write_condition(self, condition: Condition) -> str:
        """Return the text of a condition, whose values are compared with its first path."""
        match condition:
            case (
                Comparison(left=Path() as path)
                | Between(value=Path() as path)
                | In(value=Path() as path)
                | FunctionCall(operands=(Path() as path, *_))
            ):
                self._attribute = self.write_path(path)
            case _:
                pass
        return super().write_condition(condition)


def _render_value(_table: str, _attribute: str, value: AttributeValue) -> str:
    ((kind, data),) = value.items()
    return repr(data) if kind in ("S", "B") or is_secret(data) else str(data)


def _render_briefly(_table: str, _attribute: str, value: AttributeValue) -> str:
    ((_, data),) = value.items()
    text = MASKED if is_secret(data) else str(data)
    return shorten_ids(text.replace(".000000Z", "Z"))


def _count_of(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
