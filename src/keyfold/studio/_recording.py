"""What a request of the browser did to the database: calls, items, capacity units and times."""

from __future__ import annotations

import time
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, cast

from keyfold.api import find_operation, names_where
from keyfold.clocks import Clock
from keyfold.store import Executor

_METERED = names_where(lambda each: each.is_metered)
_MILLISECONDS = 1_000


@dataclass(frozen=True, slots=True)
class MadeCall:
    """One call that was made: `scanned` items were read, and `returned` of them came back."""

    operation: str
    request: Mapping[str, Any]
    is_read: bool
    units: float
    milliseconds: float
    scanned: int
    returned: int
    error: str | None = None

    @property
    def index(self) -> str | None:
        """The index that it read; None for the table."""
        return self.request.get("IndexName")


@dataclass(slots=True)
class CallRecorder:
    """An executor that records what it executes, with its capacity."""

    executor: Executor
    clock: Clock = time.perf_counter
    calls: list[MadeCall] = field(default_factory=list[MadeCall])

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out one operation, and record it; raises ServiceError."""
        sent = request
        if operation in _METERED:
            sent = {**request, "ReturnConsumedCapacity": "INDEXES"}
        started = self.clock()
        try:
            response = self.executor.execute(operation, sent)
        except Exception as error:
            self._note(operation, request, {}, started, type(error).__name__)
            raise
        self._note(operation, request, response, started, None)
        return response

    def count_units(self) -> tuple[float, float]:
        """Return the read and write units of all calls."""
        read = sum(each.units for each in self.calls if each.is_read)
        return read, sum(each.units for each in self.calls) - read

    def _note(
        self,
        operation: str,
        request: dict[str, Any],
        response: Mapping[str, Any],
        started: float,
        error: str | None,
    ) -> None:
        milliseconds = (self.clock() - started) * _MILLISECONDS
        scanned, returned = _count_items(operation, response)
        consumed = response.get("ConsumedCapacity", [])
        several = cast("list[Any]", consumed if isinstance(consumed, list) else [consumed])
        units = sum(float(each.get("CapacityUnits", 0)) for each in several)
        is_read = find_operation(operation).is_read or _is_select(operation, request)
        # Stores may change a request for the next call.
        kept = deepcopy(request)
        self.calls.append(
            MadeCall(operation, kept, is_read, units, milliseconds, scanned, returned, error)
        )


def _is_select(operation: str, request: Mapping[str, Any]) -> bool:
    statement = request.get("Statement", "")
    return operation == "ExecuteStatement" and statement.lstrip()[:6].upper() == "SELECT"


def _count_items(operation: str, response: Mapping[str, Any]) -> tuple[int, int]:
    """Return how many items a call read and returned."""
    if operation == "BatchGetItem":
        found = sum(map(len, response.get("Responses", {}).values()))
        return found, found
    if operation == "TransactGetItems":
        found = sum("Item" in each for each in response.get("Responses", ()))
        return found, found
    if "Items" in response or "Count" in response:
        returned = int(response.get("Count", len(response.get("Items", ()))))
        return int(response.get("ScannedCount", returned)), returned
    found = int("Item" in response or "Attributes" in response)
    return found, found
