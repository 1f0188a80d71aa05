"""A scratch database: a table in memory whose calls are recorded, and whose changes are undone."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self, cast

from keyfold.api import find_operation
from keyfold.clocks import Clock
from keyfold.engine import Engine, TrafficRecord
from keyfold.model import Table
from keyfold.store import Store, StoreSettings
from keyfold.values import Item

_BATCH = 25


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One call that was made, and the capacity units that it consumed.

    `table_units` are those of the table itself, `index_units` those of each index. `changes` are
    the items that it wrote: before and after, None for no item.
    """

    operation: str
    request: Mapping[str, Any]
    index: str | None
    is_read: bool
    table_units: float
    index_units: Mapping[str, float]
    # How many items were read, and how many of them were returned.
    scanned: int
    returned: int
    changes: tuple[tuple[Item | None, Item | None], ...] = ()
    # The items that it returned, as DynamoDB returns them.
    items: tuple[Item, ...] = ()
    # What it used of which keys; the members of a batch or transaction one by one.
    traffic: tuple[TrafficRecord, ...] = ()

    @property
    def units(self) -> float:
        """The units of the table and all indexes."""
        return self.table_units + sum(self.index_units.values())


@dataclass(slots=True)
class _Recorder:
    """An executor that records calls, and knows what they replaced."""

    engine: Engine
    key_names: tuple[str, ...]
    # What the engine reports about the call that it runs.
    traffic: list[TrafficRecord]
    calls: list[RecordedCall] = field(default_factory=list[RecordedCall])
    # The items that were there before the calls, by key; None for no item.
    replaced: dict[tuple[Any, ...], tuple[str, Item, Item | None]] = field(
        default_factory=dict[tuple[Any, ...], tuple[str, Item, Item | None]]
    )

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        facts = find_operation(operation)
        written = [] if facts.is_read else [*self._find_written(operation, request)]
        before = [self._get(table, key) for table, key in written]
        for (table, key), item in zip(written, before, strict=True):
            identity = (table, *(repr(key[name]) for name in self.key_names))
            self.replaced.setdefault(identity, (table, key, item))
        self.traffic.clear()
        response = self.engine.execute(operation, {**request, "ReturnConsumedCapacity": "INDEXES"})
        traffic = tuple(self.traffic)
        after = [self._get(table, key) for table, key in written]
        changes = tuple(zip(before, after, strict=True))
        recorded = _record(operation, request, response, changes, is_read=facts.is_read)
        self.calls.append(replace(recorded, traffic=traffic))
        return response

    def _find_written(self, operation: str, request: dict[str, Any]) -> Iterator[tuple[str, Item]]:
        """Yield the table and key of each item that a call writes."""
        match operation:
            case "PutItem":
                yield request["TableName"], self._key_in(request["Item"])
            case "UpdateItem" | "DeleteItem":
                yield request["TableName"], request["Key"]
            case "BatchWriteItem":
                for table, members in request["RequestItems"].items():
                    for member in members:
                        ((_, body),) = member.items()
                        yield table, self._key_in(body.get("Item") or body["Key"])
            case "TransactWriteItems":
                for member in request["TransactItems"]:
                    ((kind, body),) = member.items()
                    if kind != "ConditionCheck":
                        yield body["TableName"], self._key_in(body.get("Item") or body["Key"])
            case _:
                pass

    def _key_in(self, item: Item) -> Item:
        return {name: item[name] for name in self.key_names}

    def _get(self, table: str, key: Item) -> Item | None:
        read = {"TableName": table, "Key": key, "ConsistentRead": True}
        return self.engine.execute("GetItem", read).get("Item")

    def roll_back(self) -> None:
        """Put back what the recorded calls replaced."""
        for table, key, item in self.replaced.values():
            if item is None:
                self.engine.execute("DeleteItem", {"TableName": table, "Key": key})
            else:
                self.engine.execute("PutItem", {"TableName": table, "Item": item})
        self.replaced.clear()


class ScratchTable:
    """A table in a database of its own, in memory.

    `store` runs requests there; `take_calls` returns what they made, and `roll_back` undoes it.
    """

    def __init__(self, table: Table, *, clock: Clock = time.time) -> None:
        self.table = table
        traffic: list[TrafficRecord] = []
        self._engine = Engine.open(
            ":memory:", clock=clock, upkeep_seconds=None, on_traffic=traffic.append
        )
        self._recorder = _Recorder(self._engine, tuple(table.key.names), traffic)
        self.store = Store(
            self._recorder, StoreSettings((table,), cursor_key=bytes(32), clock=clock)
        )
        self._engine.execute("CreateTable", table.to_dynamodb())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._engine.close()

    def take_calls(self) -> tuple[RecordedCall, ...]:
        """Return the calls since the last time, and forget them."""
        calls = tuple(self._recorder.calls)
        self._recorder.calls.clear()
        return calls

    def roll_back(self) -> None:
        """Undo all writes since the last `keep` or `roll_back`, and forget their calls."""
        self._recorder.roll_back()
        self._recorder.calls.clear()

    def keep(self) -> None:
        """Keep what was written: a later `roll_back` returns to this state."""
        self._recorder.replaced.clear()
        self._recorder.calls.clear()

    def load(self, items: list[Item]) -> None:
        """Write items as they are; they are not recorded, and not rolled back.

        Of several items with the same key, the last is written.
        """
        by_key = {repr([item[name] for name in self.table.key.names]): item for item in items}
        written = list(by_key.values())
        for start in range(0, len(written), _BATCH):
            puts = [{"PutRequest": {"Item": item}} for item in written[start : start + _BATCH]]
            self._engine.execute("BatchWriteItem", {"RequestItems": {self.table.name: puts}})

    def scan(self) -> Iterator[Item]:
        """Yield every item of the table, without recording it."""
        request: dict[str, Any] = {"TableName": self.table.name}
        while True:
            response = self._engine.execute("Scan", request)
            yield from response["Items"]
            if "LastEvaluatedKey" not in response:
                return
            request["ExclusiveStartKey"] = response["LastEvaluatedKey"]


def _record(
    operation: str,
    request: Mapping[str, Any],
    response: dict[str, Any],
    changes: tuple[tuple[Item | None, Item | None], ...],
    *,
    is_read: bool,
) -> RecordedCall:
    given: Any = response.pop("ConsumedCapacity", None) or []
    reports = cast(list[dict[str, Any]], given if isinstance(given, list) else [given])
    index_units: dict[str, float] = {}
    for report in reports:
        for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
            for name, each in report.get(kind, {}).items():
                index_units[name] = index_units.get(name, 0.0) + each["CapacityUnits"]
    table_units = sum(report.get("Table", {}).get("CapacityUnits", 0.0) for report in reports)
    items = _find_items(response)
    # A call that only counts has no items.
    returned = response.get("Count", len(items))
    return RecordedCall(
        operation,
        request,
        request.get("IndexName"),
        is_read,
        table_units,
        index_units,
        response.get("ScannedCount", returned),
        returned,
        changes,
        items,
    )


def _find_items(response: dict[str, Any]) -> tuple[Item, ...]:
    """Return the items of a response."""
    if "Responses" in response:
        found: Any = response["Responses"]
        if isinstance(found, dict):
            lists = cast(dict[str, list[Item]], found).values()
            return tuple(item for each in lists for item in each)
        return tuple(each["Item"] for each in found if "Item" in each)
    if "Item" in response:
        return (response["Item"],)
    return tuple(response.get("Items", ()))
