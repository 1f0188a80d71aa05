from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import keyfold
from keyfold import Entity, Key, Table, part
from tests.unit.cli.program import Run

shop = Table("Shop", key=Key("pk", "sk"))


class Customer(Entity, table=shop, key=("CUSTOMER#{customer}", "CUSTOMER")):
    customer: str = part()
    name: str


class Visit(Entity, table=shop, key=("CUSTOMER#{customer}", "VISIT#{number:04}")):
    customer: str = part()
    number: int = part()
    pages: int


@pytest.fixture
def db(url: str) -> str:
    with keyfold.open(shop, url) as store:
        for n in range(12):
            store.run(Customer(customer=f"c{n}", name="Eve").put())
            store.run(Visit(customer=f"c{n}", number=n, pages=n).put())
    return url


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))


def test_a_live_table_is_printed_as_a_module(run: Run, db: str) -> None:
    outcome = run("import", "dynamodb", db, "--name", "Shop")
    assert (outcome.code, outcome.err) == (0, "")
    assert 'key=("CUSTOMER#{customer}", "VISIT#{number:04}")' in outcome.out
    assert "# Certainty: high. Inferred from 12 items; all fit." in outcome.out


def test_a_module_is_taken_by_other_commands(
    run: Run, db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = run("import", "dynamodb", db, "--name", "Shop", "--output", "imported_shop.py")
    assert (outcome.code, outcome.out) == (0, "")
    assert "Visit  CUSTOMER#{customer} VISIT#{number:04}  high: 12 of 12" in outcome.err
    monkeypatch.delitem(sys.modules, "imported_shop", raising=False)
    listed = run("patterns", "--table", "imported_shop:table")
    assert listed.code == 0
    assert "List visits" in listed.out
    assert run("lint", "--table", "imported_shop:table", "--severity", "error").code == 0
    found = run(
        "run", "--table", "imported_shop:table", "List visits", "--customer", "c7", "--db", db
    )
    assert found.code == 0
    assert "7" in found.out


def test_json_has_the_module_and_how_sure_it_is(run: Run, db: str) -> None:
    printed = run("import", "dynamodb", db, "--name", "Shop").out
    shown = json.loads(run("import", "dynamodb", db, "--name", "Shop", "--json").out)
    assert shown["module"] == printed
    [table] = shown["tables"]
    assert table["key"] == ["pk", "sk"]
    [visit] = [each for each in table["entities"] if each["name"] == "Visit"]
    assert visit["key"] == ["CUSTOMER#{customer}", "VISIT#{number:04}"]
    assert {name: visit[name] for name in ("certainty", "items", "fitting", "doubts")} == {
        "certainty": "high",
        "items": 12,
        "fitting": 12,
        "doubts": [],
    }


def test_a_missing_table_is_an_error(run: Run, db: str) -> None:
    outcome = run("import", "dynamodb", db, "--name", "Other")
    assert outcome.code == 2
    assert "there is no table 'Other'" in outcome.err
    assert "[table-missing]" in outcome.err


@pytest.mark.parametrize("form", ["workbench", "aws-schema"])
def test_an_exported_design_is_imported(run: Run, form: str) -> None:
    assert run("export", form, "market", "--output", "market.json").code == 0
    outcome = run("import", form, "market.json", "--output", "imported_market.py")
    assert (outcome.code, outcome.out) == (0, "")
    assert "Market: 11 entities" in outcome.err
    shown = json.loads(run("import", form, "market.json", "--json").out)
    assert shown["module"] == Path("imported_market.py").read_text("utf-8")
    assert len(shown["tables"][0]["entities"]) == 11


@pytest.mark.parametrize("form", ["workbench", "aws-schema"])
def test_a_file_of_another_format_is_refused(run: Run, form: str) -> None:
    Path("other.json").write_text("{}", "utf-8")
    outcome = run("import", form, "other.json")
    assert (outcome.code, outcome.out) == (2, "")
    assert "[source-unreadable]" in outcome.err
