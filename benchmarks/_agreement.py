"""Before anything is timed: both sides must do the same work."""

from __future__ import annotations

from typing import Any

import orjson

from benchmarks._cases import CASES, Case
from benchmarks._orders import PER_CUSTOMER, TABLE, Draw, make_key, make_order, row_key
from benchmarks._world import World


def check_agreement(world: World) -> None:
    """Run every case once on both sides and compare what came of it."""
    for case in CASES:
        (draw,) = draws = world.draws.take(case, 1)
        if case.is_write:
            _check_write(world, case, draw)
        else:
            _check_read(world, case, draw)
        if case.draws == "new":
            world.remove(case, draws)


def _check_read(world: World, case: Case, draw: Draw) -> None:
    engine, bare = world.sides(case)
    answer: dict[str, Any] = engine.execute(case.operation, case.request(draw))
    rows = [orjson.loads(value) for value in bare.read(case.bindings(draw))]
    if case.operation == "GetItem":
        assert [answer["Item"]] == rows, case.name
        return
    assert len(rows) == answer["ScannedCount"] == PER_CUSTOMER, case.name
    kept = [row for row in rows if row in answer["Items"]]
    assert answer["Items"] == kept, case.name
    assert ("FilterExpression" in case.request(draw)) is (len(kept) < PER_CUSTOMER), case.name


def _check_write(world: World, case: Case, draw: Draw) -> None:
    engine, bare = world.sides(case)
    engine.execute(case.operation, case.request(draw))
    case.bare(bare, [case.bindings(draw)])
    key = make_key(draw.number)
    found = engine.execute("GetItem", {"TableName": TABLE, "Key": key})["Item"]
    (value,) = bare.read((row_key(key),))
    assert found == orjson.loads(value) == make_order(draw), case.name
