"""`keyfold plan` and `keyfold apply`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from keyfold.engine import Engine
from tests.unit.cli.program import Run

INDEX = "ReverseIndex"


@pytest.fixture
def file(run: Run, tmp_path: Path) -> Path:
    path = tmp_path / "shop.db"
    assert run("apply", "market", "--db", path).code == 0
    return path


def change(file: Path, change: dict[str, object]) -> None:
    with Engine.open(file) as engine:
        engine.execute("UpdateTable", {"TableName": "Market", **change})


def test_a_plan_without_steps_exits_with_zero(run: Run, file: Path) -> None:
    outcome = run("plan", "market", "--db", file)
    assert (outcome.code, outcome.out) == (0, "Market matches its declaration.\n")


def test_a_plan_shows_what_is_missing_and_changes_nothing(run: Run, file: Path) -> None:
    change(file, {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": INDEX}}]})
    for _ in range(2):
        outcome = run("plan", "market", "--db", file)
        assert (outcome.code, outcome.out) == (1, f"Market\n  + add index {INDEX} by sk, pk\n")


def test_apply_prints_its_progress_to_stderr(run: Run, file: Path) -> None:
    change(file, {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": INDEX}}]})
    outcome = run("apply", "market", "--db", file, "--json")
    assert outcome.code == 0
    assert f"+ Market: add index {INDEX} by sk, pk" in outcome.err
    [result] = json.loads(outcome.out)["tables"]
    assert result["done"] == [f"add index {INDEX} by sk, pk"]
    assert result["as_declared"] is True


def test_nothing_is_removed_unless_allowed(run: Run, file: Path) -> None:
    definition = {
        "IndexName": "Extra",
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    attributes = [
        {"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "id", "tp")
    ]
    change(
        file,
        {
            "AttributeDefinitions": attributes,
            "GlobalSecondaryIndexUpdates": [{"Create": definition}],
        },
    )
    outcome = run("apply", "market", "--db", file)
    assert outcome.code == 1
    assert "! remove index Extra, which is not declared" in outcome.out
    assert "--allow-removal" in outcome.out
    assert run("plan", "market", "--db", file, "--allow-removal").out.splitlines()[1] == (
        "  - remove index Extra, which is not declared"
    )
    assert run("apply", "market", "--db", file, "--allow-removal").code == 0
    assert run("plan", "market", "--db", file).code == 0
