"""A check before the timing: the engine and the bare loop must do the same work."""

from __future__ import annotations

from typing import Any

import orjson

from benchmarks._cases import CASES, Case
from benchmarks._databases import BenchmarkDatabases
from benchmarks._orders import PER_CUSTOMER, TABLE, Draw, make_key, make_order, row_key


def check_agreement(databases: BenchmarkDatabases) -> None:
    """Run every case once on the engine and the bare file, and compare the results."""
    for case in CASES:
        (draw,) = draws = databases.draws.take(case, 1)
        if case.is_write:
            _check_write(databases, case, draw)
        else:
            _check_read(databases, case, draw)
        if case.draws == "new":
            databases.remove(case, draws)


def _check_read(databases: BenchmarkDatabases, case: Case, draw: Draw) -> None:
    engine, bare = databases.engine_and_bare(case)
    answer: dict[str, Any] = engine.execute(case.operation, case.request(draw))
    rows = [orjson.loads(value) for value in bare.read(case.bindings(draw))]
    if case.operation == "GetItem":
        assert [answer["Item"]] == rows, case.name
        return
    assert len(rows) == answer["ScannedCount"] == PER_CUSTOMER, case.name
    kept = [row for row in rows if row in answer["Items"]]
    assert answer["Items"] == kept, case.name
    assert ("FilterExpression" in case.request(draw)) is (len(kept) < PER_CUSTOMER), case.name


def _check_write(databases: BenchmarkDatabases, case: Case, draw: Draw) -> None:
    engine, bare = databases.engine_and_bare(case)
    engine.execute(case.operation, case.request(draw))
    case.bare(bare, [case.bindings(draw)])
    key = make_key(draw.number)
    found = engine.execute("GetItem", {"TableName": TABLE, "Key": key})["Item"]
    (value,) = bare.read((row_key(key),))
    assert found == orjson.loads(value) == make_order(draw), case.name
