"""Recorded traffic: which keys requests used, and the units that they consumed, but no values.

A file of traffic has a line of JSON for each request of an item, a page or a member of a batch:

    {"at":1767225600.25,"table":"Orders","op":"PutItem","kind":"Write",
     "uses":[["",{"user":{"S":"ada"},"order":{"S":"7"}},1.0],["ByStatus",{"status":{"S":"open"}},1.0]]}

Each use has the index ("" is the table), the key, and the units. A scan has no key (null). Refused
requests consume nothing, and are not recorded.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from keyfold.capacity import KeyUse, UnitKind
from keyfold.clocks import Clock
from keyfold.errors import OptionInvalid, TrafficInvalid


class TrafficRecord(NamedTuple):
    """What one request used: when, of which table, and which keys of the table and its indexes."""

    at: float
    table: str
    operation: str
    kind: UnitKind
    uses: tuple[KeyUse, ...]


OnTraffic = Callable[[TrafficRecord], None]


class TrafficRecorder:
    """Passes on what requests used, with the names of their operations."""

    def __init__(self, clock: Clock, on_traffic: OnTraffic) -> None:
        self._clock, self._on_traffic = clock, on_traffic
        self._running = threading.local()

    def begin(self, operation: str) -> None:
        """Note the operation that this thread runs."""
        self._running.operation = operation

    def record(self, table: str, kind: UnitKind, uses: Sequence[KeyUse]) -> None:
        """Pass on what a request of the thread's operation used."""
        operation: str = getattr(self._running, "operation", "")
        self._on_traffic(TrafficRecord(self._clock(), table, operation, kind, tuple(uses)))


class TrafficFile:
    """A file to which traffic is appended; several processes may write to it."""

    def __init__(self, path: str) -> None:
        """Open a file, creating it if needed; raises OptionInvalid."""
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            advice = f"Name a file that can be written ({error.strerror})."
            raise OptionInvalid("record", path, advice) from None

    def write(self, record: TrafficRecord) -> None:
        """Append a record, in one write: records of several processes do not mix."""
        at, table, operation, kind, uses = record
        line: dict[str, Any] = {"at": round(at, 6), "table": table, "op": operation, "kind": kind}
        line["uses"] = [tuple(each) for each in uses]
        os.write(self._file, orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))


def read_traffic(path: Path) -> Iterator[TrafficRecord]:
    """Yield the records of a file; raises TrafficInvalid."""
    try:
        with path.open("rb") as lines:
            yield from parse_traffic(lines, str(path))
    except OSError as error:
        raise TrafficInvalid(str(path), f"it cannot be read: {error.strerror}", "") from None


def parse_traffic(lines: Iterable[bytes], name: str) -> Iterator[TrafficRecord]:
    """Yield the records of lines, whose source errors name; raises TrafficInvalid."""
    for number, line in enumerate(lines, start=1):
        yield _read_line(name, number, line)


def _read_line(name: str, number: int, line: bytes) -> TrafficRecord:
    try:
        held = orjson.loads(line)
        uses = tuple(KeyUse(str(index), key, float(units)) for index, key, units in held["uses"])
        kind: UnitKind = {"Read": "Read", "Write": "Write"}[held["kind"]]  # pyright: ignore[reportAssignmentType] - one of the two
        if not uses:
            raise ValueError("no uses")
        return TrafficRecord(float(held["at"]), held["table"], held["op"], kind, uses)
    except (ValueError, KeyError, TypeError):
        raise TrafficInvalid(
            f"{name}:{number}", f"it is not recorded traffic: {line[:80]!r}", ""
        ) from None
