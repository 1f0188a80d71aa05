"""Metrics of a server, in Prometheus' text format."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import orjson

from keyfold.wire.server._answers import Answer

_CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"

# Upper bounds in seconds.
BUCKETS = (
    0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
    0.5, 1.0, 2.5, 5.0,
)  # fmt: skip

# The label of requests without an operation: health checks and invalid requests.
_NO_OPERATION = "none"


class OperationMetrics:
    """The counts of one operation."""

    __slots__ = ("buckets", "seconds", "units")

    def __init__(self) -> None:
        self.seconds = 0.0
        # Calls by latency: one count for each of BUCKETS, and one for longer calls.
        self.buckets = [0] * (len(BUCKETS) + 1)
        # Capacity units by table.
        self.units: defaultdict[str, float] = defaultdict(float)

    @property
    def calls(self) -> int:
        """The number of answered calls."""
        return sum(self.buckets)


class Metrics:
    """Calls, errors, latencies, and the capacity that the tables' operations consumed."""

    def __init__(self) -> None:
        self.operations: defaultdict[str, OperationMetrics] = defaultdict(OperationMetrics)
        self.errors: defaultdict[tuple[str, str], int] = defaultdict(int)
        # Returns the metrics to sum up; replaced if the server has several processes.
        self.collect: Callable[[Metrics], Iterable[Metrics]] = lambda own: [own]

    def note(self, operation: str, seconds: float, error: str = "") -> None:
        """Count one answered request."""
        counts = self.operations[operation or _NO_OPERATION]
        counts.seconds += seconds
        counts.buckets[bisect_left(BUCKETS, seconds)] += 1
        if error:
            self.errors[operation or _NO_OPERATION, error] += 1

    def note_read(self, operation: str, seconds: float, consumed: Any) -> None:
        """Count one read that succeeded, and its ConsumedCapacity: a faster `note`."""
        counts = self.operations[operation]
        counts.seconds += seconds
        counts.buckets[bisect_left(BUCKETS, seconds)] += 1
        if consumed.__class__ is dict:
            counts.units[consumed["TableName"]] += consumed["CapacityUnits"]
        elif consumed is not None:
            self.note_capacity(operation, consumed)

    def note_capacity(self, operation: str, consumed: Any) -> None:
        """Count the ConsumedCapacity of one response: a dict, or a list with one for each table."""
        units = self.operations[operation].units
        for each in (consumed,) if consumed.__class__ is dict else consumed:
            units[each["TableName"]] += each["CapacityUnits"]

    def answer(self) -> Answer:
        """Return the answer to a scrape, with the metrics of all processes of the server."""
        total = Metrics()
        for metrics in self.collect(self):
            total.add(metrics)
        return Answer(200, total.render().encode(), _CONTENT_TYPE)

    def add(self, other: Metrics) -> None:
        """Add the counts of `other`."""
        for operation, counts in other.operations.items():
            mine = self.operations[operation]
            mine.seconds += counts.seconds
            mine.buckets = [a + b for a, b in zip(mine.buckets, counts.buckets, strict=True)]
            for table, units in counts.units.items():
                mine.units[table] += units
        for pair, count in other.errors.items():
            self.errors[pair] += count

    def render(self) -> str:
        """Return all metrics in Prometheus' text format."""
        lines = [
            "# HELP keyfold_calls_total Requests that were answered.",
            "# TYPE keyfold_calls_total counter",
        ]
        operations = sorted(self.operations.items())
        for operation, counts in operations:
            lines.append(f"keyfold_calls_total{_labels(operation=operation)} {counts.calls}")
        lines += [
            "# HELP keyfold_errors_total Requests that were answered with an error.",
            "# TYPE keyfold_errors_total counter",
        ]
        for (operation, error), count in sorted(self.errors.items()):
            labels = _labels(operation=operation, type=error)
            lines.append(f"keyfold_errors_total{labels} {count}")
        lines += [
            "# HELP keyfold_latency_seconds From the last byte of a request to its answer.",
            "# TYPE keyfold_latency_seconds histogram",
        ]
        for operation, counts in operations:
            total = 0
            for bound, count in zip((*BUCKETS, float("inf")), counts.buckets, strict=True):
                total += count
                le = "+Inf" if bound == float("inf") else f"{bound:g}"
                labels = _labels(operation=operation, le=le)
                lines.append(f"keyfold_latency_seconds_bucket{labels} {total}")
            labels = _labels(operation=operation)
            lines.append(f"keyfold_latency_seconds_sum{labels} {counts.seconds:.6f}")
            lines.append(f"keyfold_latency_seconds_count{labels} {total}")
        lines += [
            "# HELP keyfold_capacity_units_total Capacity units that operations consumed.",
            "# TYPE keyfold_capacity_units_total counter",
        ]
        consumed = [
            (table, operation, units)
            for operation, counts in operations
            for table, units in counts.units.items()
        ]
        for table, operation, units in sorted(consumed):
            labels = _labels(table=table, operation=operation)
            lines.append(f"keyfold_capacity_units_total{labels} {units:g}")
        return "\n".join(lines) + "\n"

    def to_json(self) -> bytes:
        """Return the counts for another process."""
        return orjson.dumps(
            {
                "operations": [
                    [operation, counts.seconds, counts.buckets, counts.units]
                    for operation, counts in self.operations.items()
                ],
                "errors": [[*pair, count] for pair, count in self.errors.items()],
            }
        )

    @classmethod
    def from_json(cls, text: bytes) -> Metrics:
        """Return the metrics that `to_json` encoded."""
        counts = orjson.loads(text)
        metrics = cls()
        for operation, seconds, buckets, units in counts["operations"]:
            each = metrics.operations[operation]
            each.seconds, each.buckets = seconds, buckets
            each.units.update(units)
        metrics.errors.update({(operation, error): n for operation, error, n in counts["errors"]})
        return metrics


def _labels(**values: str) -> str:
    escaped = (f'{name}="{value.translate(_ESCAPES)}"' for name, value in values.items())
    return "{" + ",".join(escaped) + "}"


_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
