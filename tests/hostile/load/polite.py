"""The polite client: reads and writes small items on one connection, one after another."""

from __future__ import annotations

import itertools
import math
import ssl
import time
from collections import Counter

from tests.fuzz.talking import Line
from tests.hostile.load.data import SMALL_ITEMS, TABLE, small_item
from tests.unit.wire.server.http import ask

_PAUSE_SECONDS = 0.001


def _make_requests() -> list[bytes]:
    requests: list[bytes] = []
    for number in range(SMALL_ITEMS):
        item = small_item(number)
        key = {name: item[name] for name in ("pk", "sk")}
        get = {"TableName": TABLE, "Key": key}
        query = {
            "TableName": TABLE,
            "KeyConditionExpression": "pk = :p",
            "ExpressionAttributeValues": {":p": item["pk"]},
        }
        requests += [
            ask("GetItem", get),
            ask("PutItem", {"TableName": TABLE, "Item": item}),
            ask("Query", query),
        ]
    return requests


class PoliteClient:
    """A client whose latencies are measured."""

    def __init__(self, address: tuple[str, int], tls: ssl.SSLContext | None) -> None:
        self._line = Line(address, tls)
        self._requests = itertools.cycle(_make_requests())
        self.statuses: Counter[int] = Counter()

    def measure(self, seconds: float) -> float:
        """Send requests for some time, and return the 99th percentile of their latencies."""
        latencies: list[float] = []
        end = time.perf_counter() + seconds
        while (started := time.perf_counter()) < end:
            self.statuses[self._line.ask(next(self._requests)).status] += 1
            latencies.append(time.perf_counter() - started)
            time.sleep(_PAUSE_SECONDS)
        return find_percentile(latencies, 0.99)

    def close(self) -> None:
        """Hang up."""
        self._line.close()


def find_percentile(values: list[float], part: float) -> float:
    """Return the least of the values that is not exceeded by this part of them.

    >>> find_percentile([3.0, 1.0, 2.0, 4.0], 0.5)
    2.0
    """
    return sorted(values)[max(0, math.ceil(part * len(values)) - 1)]
