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


class Metrics:
    """Calls, errors, latencies, and the capacity that the tables' operations consumed."""

    def __init__(self) -> None:
        self.calls: defaultdict[str, int] = defaultdict(int)
        self.errors: defaultdict[tuple[str, str], int] = defaultdict(int)
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.buckets: defaultdict[str, list[int]] = defaultdict(lambda: [0] * (len(BUCKETS) + 1))
        self.capacity: defaultdict[tuple[str, str], float] = defaultdict(float)
        # Returns the metrics to sum up; replaced if the server has several processes.
        self.collect: Callable[[Metrics], Iterable[Metrics]] = lambda own: [own]

    def note(self, operation: str, answer: Answer, seconds: float) -> None:
        """Count one answered request."""
        operation = operation or _NO_OPERATION
        self.calls[operation] += 1
        if answer.error:
            self.errors[operation, answer.error] += 1
        self.seconds[operation] += seconds
        self.buckets[operation][bisect_left(BUCKETS, seconds)] += 1

    def note_capacity(self, operation: str, consumed: dict[str, Any]) -> None:
        """Count the capacity units that one operation reports for a table."""
        units = float(consumed.get("CapacityUnits", 0.0))
        self.capacity[str(consumed.get("TableName", "")), operation] += units

    def answer(self) -> Answer:
        """Return the answer to a scrape, with the metrics of all processes of the server."""
        total = Metrics()
        for metrics in self.collect(self):
            total.add(metrics)
        return Answer(200, total.render().encode(), _CONTENT_TYPE)

    def add(self, other: Metrics) -> None:
        """Add the counts of `other`."""
        for operation, count in other.calls.items():
            self.calls[operation] += count
        for pair, count in other.errors.items():
            self.errors[pair] += count
        for operation, seconds in other.seconds.items():
            self.seconds[operation] += seconds
        for operation, counts in other.buckets.items():
            mine = self.buckets[operation]
            self.buckets[operation] = [a + b for a, b in zip(mine, counts, strict=True)]
        for pair, units in other.capacity.items():
            self.capacity[pair] += units

    def render(self) -> str:
        """Return all metrics in Prometheus' text format."""
        lines = [
            "# HELP keyfold_calls_total Requests that were answered.",
            "# TYPE keyfold_calls_total counter",
        ]
        for operation, count in sorted(self.calls.items()):
            lines.append(f"keyfold_calls_total{_labels(operation=operation)} {count}")
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
        for operation, counts in sorted(self.buckets.items()):
            total = 0
            for bound, count in zip((*BUCKETS, float("inf")), counts, strict=True):
                total += count
                le = "+Inf" if bound == float("inf") else f"{bound:g}"
                labels = _labels(operation=operation, le=le)
                lines.append(f"keyfold_latency_seconds_bucket{labels} {total}")
            labels = _labels(operation=operation)
            lines.append(f"keyfold_latency_seconds_sum{labels} {self.seconds[operation]:.6f}")
            lines.append(f"keyfold_latency_seconds_count{labels} {total}")
        lines += [
            "# HELP keyfold_capacity_units_total Capacity units that operations consumed.",
            "# TYPE keyfold_capacity_units_total counter",
        ]
        for (table, operation), units in sorted(self.capacity.items()):
            labels = _labels(table=table, operation=operation)
            lines.append(f"keyfold_capacity_units_total{labels} {units:g}")
        return "\n".join(lines) + "\n"

    def to_json(self) -> bytes:
        """Return the counts for another process."""
        return orjson.dumps(
            {
                "calls": self.calls,
                "errors": [[*pair, count] for pair, count in self.errors.items()],
                "seconds": self.seconds,
                "buckets": self.buckets,
                "capacity": [[*pair, units] for pair, units in self.capacity.items()],
            }
        )

    @classmethod
    def from_json(cls, text: bytes) -> Metrics:
        """Return the metrics that `to_json` encoded."""
        counts = orjson.loads(text)
        metrics = cls()
        metrics.calls.update(counts["calls"])
        metrics.errors.update({(operation, error): n for operation, error, n in counts["errors"]})
        metrics.seconds.update(counts["seconds"])
        metrics.buckets.update(counts["buckets"])
        metrics.capacity.update({(table, name): units for table, name, units in counts["capacity"]})
        return metrics


def _labels(**values: str) -> str:
    escaped = (f'{name}="{value.translate(_ESCAPES)}"' for name, value in values.items())
    return "{" + ",".join(escaped) + "}"


_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
