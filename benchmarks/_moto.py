"""The same operations through boto3 and moto, in the same process, for comparison."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from time import perf_counter_ns
from typing import Any

from benchmarks._cases import CASES, Case
from benchmarks._draws import Draws
from benchmarks._orders import create_table_request, make_batches
from benchmarks._rounds import Row

_CALLS = 40


def is_installed() -> bool:
    """Return whether moto is installed; `make bench` installs it."""
    return find_spec("moto") is not None


def measure_moto(size: int, rows: Sequence[Row]) -> None:
    """Add the microseconds of each call to the rows of the cases, round by round."""
    figures: dict[str, list[float]] = {}
    for indexed in (False, True):
        cases = [case for case in CASES if case.is_indexed is indexed]
        figures |= _measure_table(size, cases, indexed=indexed)
    for row in rows:
        for taken in figures[str(row.labels["name"])]:
            row.add({"moto": taken})


def _measure_table(size: int, cases: list[Case], *, indexed: bool) -> dict[str, list[float]]:
    # By name: both may not be installed, and neither has types.
    boto3, moto = import_module("boto3"), import_module("moto")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        os.environ.setdefault(name, "none")
    with moto.mock_aws():
        client = boto3.client("dynamodb", region_name="us-east-1")
        client.create_table(**create_table_request(indexed=indexed))
        for batch in make_batches(size):
            client.batch_write_item(**batch)
        draws = Draws(size)
        return {case.name: _time_calls(client, case, draws) for case in cases}


def _time_calls(client: Any, case: Case, draws: Draws) -> list[float]:
    call: Callable[..., Any] = {
        "GetItem": client.get_item,
        "PutItem": client.put_item,
        "Query": client.query,
    }[case.operation]
    figures: list[float] = []
    for draw in draws.take(case, _CALLS):
        request = case.request(draw)
        start = perf_counter_ns()
        call(**request)
        figures.append((perf_counter_ns() - start) / 1_000)
    return figures
