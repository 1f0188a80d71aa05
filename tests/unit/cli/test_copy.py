from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest

import keyfold
from keyfold.designs import market
from keyfold.engine import Engine
from keyfold.transfer import _job
from tests.unit.cli.program import Run
from tests.unit.transfer.world import make_orders, make_products, open_shop, read_all, shop

SHOP = "tests.unit.transfer.world:shop"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "shop.db"
    items = [*make_orders(8), *make_products(3)]
    with open_shop(path, items) as engine:
        engine.execute(
            "CreateTable",
            {
                "TableName": "Other",
                "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
                "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "N"}],
                "BillingMode": "PAY_PER_REQUEST",
            },
        )
        engine.execute("PutItem", {"TableName": "Other", "Item": {"id": {"N": "1"}}})
    return path


def items_of(path: Path, table: str = "Shop") -> dict[str, object]:
    with Engine.open(path, upkeep_seconds=None) as engine:
        return dict(read_all(engine, table))


def test_every_table_is_copied_and_verified(run: Run, source: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    outcome = run("copy", source, target)
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert lines[0].startswith("Other: copied 1 item, 4 bytes, in ")
    assert any(line.startswith("Shop: copied 11 items") for line in lines)
    assert lines[-1].split(maxsplit=2) == ["items", "11", "same count and checksum"]
    assert items_of(target) == items_of(source)
    assert not list(tmp_path.glob("*.checkpoint*"))


def test_one_table_is_copied_by_its_declaration(run: Run, source: Path, tmp_path: Path) -> None:
    outcome = run("copy", source, tmp_path / "copy.db", "--table", SHOP, "--json")
    assert outcome.code == 0
    [told] = json.loads(outcome.out)["tables"]
    assert told["table"] == "Shop"
    assert told["entities"] == {"Order": 8, "Product": 3}
    assert told["ok"]
    assert told["verified"]["Order"]["written"] == told["verified"]["Order"]["held"]
    assert told["rejects_file"] is None


def test_a_table_is_copied_under_another_name(run: Run, source: Path) -> None:
    outcome = run("copy", source, source, "--name", "Shop", "--as", "Shop2", "--no-verify")
    assert outcome.code == 0
    assert "no: nobody compared" in outcome.out
    assert items_of(source, "Shop2") == items_of(source)


def test_a_table_cannot_be_copied_onto_itself(run: Run, source: Path) -> None:
    outcome = run("copy", source, source, "--name", "Shop")
    assert outcome.code == 2
    assert "a table cannot be copied onto itself" in outcome.err


def test_several_tables_cannot_have_one_name(run: Run, source: Path, tmp_path: Path) -> None:
    outcome = run("copy", source, tmp_path / "copy.db", "--as", "One")
    assert outcome.code == 2
    assert "2 tables cannot all be called 'One'" in outcome.err


def test_a_table_that_holds_items_is_merged_into_if_told_to(
    run: Run, source: Path, tmp_path: Path
) -> None:
    target = tmp_path / "copy.db"
    open_shop(target, make_orders(20)[10:]).close()
    refused = run("copy", source, target, "--table", SHOP)
    assert refused.code == 2
    assert refused.err.endswith("[target-not-empty]\n")
    outcome = run("copy", source, target, "--table", SHOP, "--merge")
    assert outcome.code == 0
    assert "not verified: the table holds other items too" in outcome.out
    assert len(items_of(target)) == 21


def test_what_is_not_taken_makes_the_answer_no(run: Run, source: Path, tmp_path: Path) -> None:
    with Engine.open(source) as engine:
        strange = {"pk": {"S": "?"}, "sk": {"S": "?"}}
        engine.execute("PutItem", {"TableName": "Shop", "Item": strange})
    outcome = run("copy", source, tmp_path / "copy.db", "--table", SHOP)
    rejects = tmp_path / "copy.db.copy-Shop.rejected.jsonl"
    assert outcome.code == 1
    assert outcome.err == f"1 item not taken; {rejects} has the reasons.\n"
    assert json.loads(rejects.read_text())["Item"] == strange


def test_a_source_that_is_not_there_is_not_made(run: Run, tmp_path: Path) -> None:
    outcome = run("copy", tmp_path / "absent.db", tmp_path / "copy.db")
    assert outcome.code == 2
    assert "there is no such file" in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_a_database_without_tables_is_told(run: Run, tmp_path: Path) -> None:
    Engine.open(tmp_path / "empty.db").close()
    outcome = run("copy", tmp_path / "empty.db", tmp_path / "copy.db")
    assert outcome.code == 2
    assert "it has no tables. There is nothing to copy." in outcome.err


def test_a_copy_of_several_tables_goes_on_after_those_that_are_done(
    run: Run, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "copy.db"
    verify = _job.Move._verify
    verified: list[object] = []

    def verify_once(move: _job.Move) -> object:
        if verified:
            raise OSError("killed")
        verified.append(move)
        return verify(move)

    with monkeypatch.context() as patched:
        patched.setattr(_job.Move, "_verify", verify_once)
        with pytest.raises(OSError, match="killed"):
            run("copy", source, target)
    outcome = run("copy", source, target, "--json")
    assert outcome.code == 0
    told = json.loads(outcome.out)["tables"]
    assert [each["resumed"] for each in told] == [True, True]
    assert items_of(target) == items_of(source)
    assert not list(tmp_path.glob("*.checkpoint*"))


def follow_market(run: Run, path: Path) -> None:
    """Make a database with an order, and with what a follower of the table keeps."""
    with keyfold.open(market.table, path, upkeep_seconds=None) as store:
        order = market.Order(user="ada", order=market.OrderId.new(), total=Decimal(100))
        store.run(order.create())
    assert run("stream", "follow", "market", "--db", path, "--until-caught-up").code == 0


def test_leases_of_followers_are_left_out(run: Run, tmp_path: Path) -> None:
    source, target = tmp_path / "market.db", tmp_path / "copy.db"
    follow_market(run, source)
    outcome = run("copy", source, target)
    assert outcome.code == 0
    assert outcome.err == "Market-leases: left out, a lease table. --with-leases copies it.\n"
    assert outcome.out.startswith("Market: copied ")
    told = run("stream", "follow", "market", "--db", target, "--until-caught-up", "--json")
    assert json.loads(told.out)["gaps"] == 0


def test_leases_are_copied_where_that_is_asked_for(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "market.db"
    follow_market(run, source)
    told = json.loads(run("copy", source, tmp_path / "none.db", "--json").out)
    assert (len(told["tables"]), told["left_out"]) == (1, ["Market-leases"])
    told = json.loads(run("copy", source, tmp_path / "all.db", "--with-leases", "--json").out)
    assert [each["table"] for each in told["tables"]] == ["Market", "Market-leases"]
    assert told["left_out"] == []
    outcome = run("copy", source, tmp_path / "one.db", "--name", "Market-leases")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("Market-leases: copied ")


@pytest.mark.parametrize("item", [None, {"pk": {"S": "CAR#1"}, "sk": {"S": "2026"}}])
def test_a_table_that_only_has_such_a_name_is_copied(
    run: Run, tmp_path: Path, item: dict[str, object] | None
) -> None:
    source = tmp_path / "cars.db"
    with Engine.open(source, upkeep_seconds=None) as engine:
        for name in ("cars", "cars-leases", "boats-leases"):
            engine.execute("CreateTable", {**shop.to_dynamodb(), "TableName": name})
            if item is not None:
                engine.execute("PutItem", {"TableName": name, "Item": item})
    told = json.loads(run("copy", source, tmp_path / "copy.db", "--json").out)
    assert [each["table"] for each in told["tables"]] == ["boats-leases", "cars", "cars-leases"]
