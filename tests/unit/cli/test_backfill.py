from __future__ import annotations

import json
from pathlib import Path

import pytest

from keyfold.engine import Engine
from tests.unit.cli.program import Run
from tests.unit.transfer.shop import make_orders, open_shop, put_all, read_all

SHOP = "tests.unit.transfer.shop:shop"


@pytest.fixture
def db(tmp_path: Path) -> Path:
    path = tmp_path / "shop.db"
    stale = make_orders(2)[1] | {"city_pk": {"S": "TOWN#1"}}
    open_shop(path, [*make_orders(6), stale]).close()
    return path


def test_a_dry_run_shows_what_would_change(run: Run, db: Path) -> None:
    outcome = run("backfill", SHOP, "--db", db, "--dry-run")
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert lines[0].startswith("Shop: would change 1 of 6 items, in ")
    assert lines[2].split() == ["Order", "6", "1"]
    assert lines[3] == "Order pk='USER#u1' sk='ORDER#0001': set city_pk='CITY#c1'"
    with Engine.open(db) as engine:
        assert read_all(engine)["USER#u1 ORDER#0001"]["city_pk"] == {"S": "TOWN#1"}


def test_a_backfill_brings_items_up_to_date(run: Run, db: Path) -> None:
    outcome = run("backfill", SHOP, "--db", db, "--json")
    assert outcome.code == 0
    result = json.loads(outcome.out)
    assert (result["looked_at"], result["changed"]) == ({"Order": 6}, {"Order": 1})
    assert result["examples"][0]["sets"] == {"city_pk": {"S": "CITY#c1"}}
    with Engine.open(db) as engine:
        assert read_all(engine)["USER#u1 ORDER#0001"]["city_pk"] == {"S": "CITY#c1"}
    again = run("backfill", SHOP, "--db", db)
    assert again.out.startswith("Shop: changed 0 of 6 items")


def test_items_that_match_no_entity_make_it_exit_with_one(run: Run, db: Path) -> None:
    with Engine.open(db) as engine:
        put_all(engine, [{"pk": {"S": "?"}, "sk": {"S": "?"}}])
    outcome = run("backfill", SHOP, "--db", db)
    assert outcome.code == 1
    assert "1 item matching no entity, left unchanged; " in outcome.err
    assert "reasons" in outcome.err
    dry = run("backfill", SHOP, "--db", db, "--dry-run")
    assert (dry.code, dry.err) == (1, "1 item matching no entity.\n")


def test_a_missing_table_is_reported(run: Run, db: Path) -> None:
    outcome = run("backfill", SHOP, "--db", db, "--name", "Shops")
    assert outcome.code == 2
    assert outcome.err.endswith("[table-missing]\n")
    assert run("backfill", SHOP, "--db", db.with_name("absent.db")).code == 2
