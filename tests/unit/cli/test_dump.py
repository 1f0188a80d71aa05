"""Dumping and loading from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import keyfold
from keyfold.designs import market
from keyfold.engine import Engine
from tests.unit.cli.program import Run
from tests.unit.transfer.shop import make_orders, make_products, open_shop, read_all

SHOP = "tests.unit.transfer.shop:shop"


@pytest.fixture
def db(tmp_path: Path) -> Path:
    path = tmp_path / "shop.db"
    open_shop(path, [*make_orders(8), *make_products(3)]).close()
    return path


def test_the_only_table_is_dumped(run: Run, db: Path, tmp_path: Path) -> None:
    file = tmp_path / "items.jsonl"
    outcome = run("dump", file, "--db", db)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("Shop: dumped 11 items")
    assert len(file.read_text().splitlines()) == 11


def test_with_several_tables_one_has_to_be_named(run: Run, db: Path, tmp_path: Path) -> None:
    assert run("copy", db, db, "--name", "Shop", "--as", "Two").code == 0
    outcome = run("dump", tmp_path / "items.jsonl", "--db", db)
    assert outcome.code == 2
    assert "it has 2 tables: Shop, Two. Name one with --table or --name." in outcome.err
    assert run("dump", tmp_path / "items.jsonl", "--db", db, "--name", "Two").code == 0


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("items.jsonl.gz", ()),
        ("folder", ("--format", "csv")),
        ("folder", ("--format", "export")),
        ("Order.csv", ("--entity", "Order")),
    ],
)
def test_a_dump_can_be_loaded_into_a_new_file(
    run: Run, db: Path, tmp_path: Path, name: str, more: tuple[str, ...]
) -> None:
    file, target = tmp_path / name, tmp_path / "new.db"
    assert run("dump", file, "--db", db, "--table", SHOP, *more).code == 0
    outcome = run("load", file, "--db", target, "--table", SHOP, "--json")
    assert outcome.code == 0
    [result] = json.loads(outcome.out)["tables"]
    with Engine.open(target) as loaded, Engine.open(db) as dumped:
        wanted = read_all(dumped)
        if "--entity" in more:
            wanted = {key: item for key, item in wanted.items() if key.startswith("USER#")}
        assert read_all(loaded) == wanted
    assert result["items"] == len(wanted)


def test_an_existing_file_is_refused(run: Run, db: Path, tmp_path: Path) -> None:
    file = tmp_path / "items.jsonl"
    file.write_text("precious")
    outcome = run("dump", file, "--db", db)
    assert outcome.code == 2
    assert outcome.err.endswith("[file-taken]\n")
    assert file.read_text() == "precious"


def test_csv_needs_a_declaration_and_one_file_per_entity(
    run: Run, db: Path, tmp_path: Path
) -> None:
    file = tmp_path / "x.csv"
    needs = "Invalid value for --table: {} needs the table's declaration: a design or MODULE:NAME."
    assert needs.format("CSV") in run("dump", file, "--db", db).err
    outcome = run("dump", tmp_path / "o.jsonl", "--db", db, "--entity", "Order")
    assert needs.format("--entity") in outcome.err
    outcome = run("dump", file, "--db", db, "--table", SHOP)
    assert outcome.code == 2
    assert "is a CSV file of one entity; name the entity, or name a folder." in outcome.err
    outcome = run("dump", file, "--db", db, "--table", SHOP, "--entity", "Planet")
    assert outcome.code == 2
    assert "Shop has Order, Product." in outcome.err


def test_a_design_is_named_as_in_other_commands(run: Run, tmp_path: Path) -> None:
    db = tmp_path / "demo.db"
    keyfold.open(market.table, db).close()
    assert run("dump", tmp_path / "m.jsonl.gz", "--db", db, "--table", "market").code == 0
    outcome = run("dump", tmp_path / "n.jsonl", "--db", db, "--table", "nothing")
    assert outcome.code == 2
    assert "there is no table 'nothing'" in outcome.err
