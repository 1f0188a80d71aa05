"""`keyfold heat`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from keyfold.designs import exchange_rates
from keyfold.engine import Engine, TrafficFile
from tests.unit.cli.program import Run


def test_a_design_is_shown_at_three_factors(run: Run) -> None:
    shown = run("heat", "exchange_rates", "--seconds", 60)
    assert (shown.code, shown.err) == (0, "")
    assert max(map(len, shown.out.splitlines())) <= 120
    for text in ("RATE#USD#EUR", "partition 1", "100x", "TableReadKeyRangeThroughputExceeded"):
        assert text in shown.out
    document = json.loads(run("heat", "exchange_rates", "--seconds", 60, "--json").out)
    assert [each["factor"] for each in document["runs"]] == [1, 10, 100]
    assert document["runs"][0]["throttling"] == []
    assert document["runs"][2]["throttling"][0]["begins"] == 12


@pytest.mark.parametrize("design", ["letsgo", "market", "pantry"])
def test_no_design_is_throttled_by_its_own_workload(run: Run, design: str) -> None:
    document = json.loads(run("heat", design, "--factor", 1, "--json").out)
    (only,) = document["runs"]
    assert (only["refused"], only["throttling"]) == (0, [])
    assert only["keys"]


def test_a_load_that_is_throttled_exits_with_1(run: Run, tmp_path: Path) -> None:
    workload = tmp_path / "use.toml"
    workload.write_text('[patterns.Save]\nrate = "1500/s"\nkeys = 1\n')
    shown = run("heat", "exchange_rates", "--workload", workload, "--seconds", 20, "--factor", 1)
    assert shown.code == 1
    assert "TableWriteKeyRangeThroughputExceeded" in shown.out
    assert "write sharding of Rate in the table by" in shown.out


def test_recorded_traffic_is_replayed(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "traffic.jsonl"
    table = exchange_rates.table
    with Engine.open(":memory:", on_traffic=TrafficFile(str(file)).write) as engine:
        engine.execute("CreateTable", table.to_dynamodb())
        item = {name: {"S": "RATE#USD#EUR"} for name in table.key.names}
        for _ in range(5):
            engine.execute("PutItem", {"TableName": table.name, "Item": item})
    shown = run("heat", "exchange_rates", "--replay", file, "--factor", 1)
    assert (shown.code, shown.err) == (0, "")
    assert "Replayed 5 requests" in shown.out
    refused = run("heat", "exchange_rates", "--replay", file, "--sample", "x.db")
    assert refused.code == 2
    missing = run("heat", "exchange_rates", "--replay", tmp_path / "missing.jsonl")
    assert (missing.code, "traffic-invalid" in missing.err) == (2, True)
