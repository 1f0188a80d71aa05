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


UNIQUE = """
from keyfold import Entity, Key, Table

club = Table("Club", key=Key("pk"))

class Member(Entity, table=club, key="M#{name}", unique="email"):
    name: str
    email: str
"""


def test_a_field_that_became_unique_is_planned_and_applied(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "unique_tables.py").write_text(UNIQUE)
    chosen = ("--table", "unique_tables:club", "--db", "club.db")
    with Engine.open("club.db") as engine:
        request = {
            "TableName": "Club",
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "BillingMode": "PAY_PER_REQUEST",
        }
        engine.execute("CreateTable", request)
        for name in ("ada", "bob"):
            item = {"pk": {"S": f"M#{name}"}, "name": {"S": name}, "email": {"S": "x"}}
            engine.execute("PutItem", {"TableName": "Club", "Item": item})
    step = "  + make the guards of Member.email, which is unique\n"
    outcome = run("plan", *chosen)
    assert (outcome.code, outcome.out) == (1, f"Club\n{step}")
    outcome = run("apply", *chosen)
    assert outcome.code == 1
    assert outcome.out == f"Club\n{step}  x Member.email 'x': pk='M#ada' and pk='M#bob' have it.\n"
    with Engine.open("club.db") as engine:
        engine.execute("DeleteItem", {"TableName": "Club", "Key": {"pk": {"S": "M#bob"}}})
    outcome = run("apply", *chosen, "--json")
    assert outcome.code == 0
    assert json.loads(outcome.out)["tables"][0]["guards"]["repaired"] == {"missing guard": 1}
    assert run("plan", *chosen).code == 0


def test_guards_of_a_field_that_is_no_longer_unique_are_removed_if_allowed(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "unique_before.py").write_text(UNIQUE)
    (tmp_path / "unique_after.py").write_text(UNIQUE.replace(', unique="email"', ""))
    assert run("apply", "--table", "unique_before:club", "--db", "club.db").code == 0
    chosen = ("--table", "unique_after:club", "--db", "club.db")
    text = "remove the guards Member.email, which no unique field has"
    outcome = run("plan", *chosen)
    assert outcome.code == 1
    assert f"  ! {text}\n" in outcome.out
    [result] = json.loads(run("plan", *chosen, "--json").out)["tables"]
    assert result["withheld"] == [{"text": text, "removes": True, "name": "Member.email"}]
    outcome = run("verify", *chosen)
    assert outcome.code == 1
    assert outcome.out.endswith("Club: 0 unique values, 1 problem, none repaired\n")
    assert f"  - {text}\n" in run("plan", *chosen, "--allow-removal").out
    assert run("apply", *chosen, "--allow-removal").code == 0
    assert run("verify", *chosen).code == 0
