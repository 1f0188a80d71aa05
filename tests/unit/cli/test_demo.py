from __future__ import annotations

import json
from pathlib import Path

from keyfold.cli import _orders
from keyfold.engine import Engine
from tests.unit.cli.program import Run


def test_every_answer_is_as_expected(run: Run) -> None:
    outcome = run("demo")
    assert (outcome.code, outcome.err) == (0, "")
    assert f"{len(_orders.STEPS)} of {len(_orders.STEPS)} answers as expected" in outcome.out
    assert "verify found no problems" in outcome.out


def test_json_tells_of_every_call(run: Run) -> None:
    outcome = run("demo", "--json")
    assert outcome.code == 0
    report = json.loads(outcome.out)
    assert report["as_expected"] is True
    assert report["problems"] == []
    assert [call["operation"] for call in report["calls"]] == [
        step.operation for step in _orders.STEPS
    ]


def test_a_named_file_is_kept(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "orders.db"
    outcome = run("demo", "--db", file)
    assert outcome.code == 0
    with Engine.open(file) as engine:
        assert engine.execute("ListTables", {}) == {"TableNames": ["Orders"]}


def test_an_existing_file_is_refused_and_left_alone(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "orders.db"
    file.write_bytes(b"mine")
    outcome = run("demo", "--db", file)
    assert outcome.code == 2
    assert "the demo makes a new file" in outcome.err
    assert file.read_bytes() == b"mine"


def test_an_unexpected_answer_is_told_from_an_expected_one() -> None:
    with Engine.open(":memory:") as engine:
        wrong = _orders.Step("ListTables", {}, {"TableNames": ["Orders"]})
        right = _orders.Step("ListTables", {}, {"TableNames": []})
        assert not _orders.take(wrong, engine).is_as_expected
        assert _orders.take(right, engine).is_as_expected
