"""One contestant of bench_inprocess in its own process: boto3 on Keyfold, or on moto.

    python -m benchmarks._inprocess keyfold

Reads names of cases from standard input, one per line, and prints for each the median microseconds
of a call in one round. The first line it prints says that it is ready.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib import import_module
from statistics import median
from time import perf_counter_ns
from typing import Any

from benchmarks._orders import (
    PER_CUSTOMER,
    Draw,
    Request,
    create_table_request,
    make_batches,
    make_get,
    make_put,
    make_query,
)

CONTESTANTS = ("keyfold", "moto")
CASES = ("GetItem", "PutItem", "Query of 20")

# As many as a table in a test has: moto reads the whole table for a query.
_ITEMS = 5 * PER_CUSTOMER
_CALLS = 25
_WARM_UP_CALLS = 5


def enter(contestant: str) -> AbstractContextManager[Any]:
    """Return the context manager that a test would enter."""
    # By name: moto may not be installed, and has no types.
    module, name = {"keyfold": ("keyfold.testing", "dynamodb"), "moto": ("moto", "mock_aws")}[
        contestant
    ]
    return getattr(import_module(module), name)()


def _main(contestant: str) -> None:
    with enter(contestant):
        client: Any = import_module("boto3").client("dynamodb", region_name="us-east-1")
        client.create_table(**create_table_request(indexed=False))
        for batch in make_batches(_ITEMS):
            client.batch_write_item(**batch)
        source = random.Random(1)
        print("ready", flush=True)
        for line in sys.stdin:
            case = line.strip()
            _measure(client, case, source, _WARM_UP_CALLS)
            print(_measure(client, case, source, _CALLS), flush=True)


def _measure(client: Any, case: str, source: random.Random, calls: int) -> float:
    cases: dict[str, tuple[Callable[..., Any], Callable[[Draw], Request]]] = {
        "GetItem": (client.get_item, make_get),
        "PutItem": (client.put_item, make_put),
        "Query of 20": (client.query, make_query),
    }
    call, make = cases[case]
    taken: list[float] = []
    for edition in range(calls):
        request = make(Draw(source.randrange(_ITEMS), edition))
        start = perf_counter_ns()
        response = call(**request)
        taken.append((perf_counter_ns() - start) / 1_000)
        assert case != "Query of 20" or response["Count"] == PER_CUSTOMER
    return median(taken)


if __name__ == "__main__":
    _main(sys.argv[1])
