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
from tests.unit.transfer.shop import make_orders, make_products, open_shop, read_all, shop

SHOP = "tests.unit.transfer.shop:shop"


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
    [result] = json.loads(outcome.out)["tables"]
    assert result["table"] == "Shop"
    assert result["entities"] == {"Order": 8, "Product": 3}
    assert result["ok"]
    assert result["verified"]["Order"]["written"] == result["verified"]["Order"]["held"]
    assert result["rejects_file"] is None


def test_a_table_is_copied_under_another_name(run: Run, source: Path) -> None:
    outcome = run("copy", source, source, "--name", "Shop", "--as", "Shop2", "--no-verify")
    assert outcome.code == 0
    assert "not verified" in outcome.out
    assert items_of(source, "Shop2") == items_of(source)


def test_a_table_cannot_be_copied_onto_itself(run: Run, source: Path) -> None:
    outcome = run("copy", source, source, "--name", "Shop")
    assert outcome.code == 2
    assert "a table cannot be copied onto itself" in outcome.err


def test_several_tables_cannot_have_one_name(run: Run, source: Path, tmp_path: Path) -> None:
    outcome = run("copy", source, tmp_path / "copy.db", "--as", "One")
    assert outcome.code == 2
    assert "2 tables cannot all be named 'One'" in outcome.err


def test_a_table_with_items_is_merged_into_only_on_request(
    run: Run, source: Path, tmp_path: Path
) -> None:
    target = tmp_path / "copy.db"
    open_shop(target, make_orders(20)[10:]).close()
    refused = run("copy", source, target, "--table", SHOP)
    assert refused.code == 2
    assert refused.err.endswith("[target-not-empty]\n")
    outcome = run("copy", source, target, "--table", SHOP, "--merge")
    assert outcome.code == 0
    assert "not verified: the table also holds other items" in outcome.out
    assert len(items_of(target)) == 21


def test_rejected_items_make_it_exit_with_one(run: Run, source: Path, tmp_path: Path) -> None:
    with Engine.open(source) as engine:
        strange = {"pk": {"S": "?"}, "sk": {"S": "?"}}
        engine.execute("PutItem", {"TableName": "Shop", "Item": strange})
    outcome = run("copy", source, tmp_path / "copy.db", "--table", SHOP)
    rejects = tmp_path / "copy.db.copy-Shop.rejected.jsonl"
    assert outcome.code == 1
    assert outcome.err == f"1 item rejected; see {rejects} for the reasons.\n"
    assert json.loads(rejects.read_text())["Item"] == strange


def test_a_missing_source_is_not_created(run: Run, tmp_path: Path) -> None:
    outcome = run("copy", tmp_path / "absent.db", tmp_path / "copy.db")
    assert outcome.code == 2
    assert "there is no such file" in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_a_source_without_tables_is_reported(run: Run, tmp_path: Path) -> None:
    Engine.open(tmp_path / "empty.db").close()
    outcome = run("copy", tmp_path / "empty.db", tmp_path / "copy.db")
    assert outcome.code == 2
    assert "it has no tables. There is nothing to copy." in outcome.err


def test_a_copy_of_several_tables_resumes_after_the_finished_ones(
    run: Run, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "copy.db"
    verify = _job.TransferJob._verify
    verified: list[object] = []

    def verify_once(job: _job.TransferJob) -> object:
        if verified:
            raise OSError("killed")
        verified.append(job)
        return verify(job)

    with monkeypatch.context() as patched:
        patched.setattr(_job.TransferJob, "_verify", verify_once)
        with pytest.raises(OSError, match="killed"):
            run("copy", source, target)
    outcome = run("copy", source, target, "--json")
    assert outcome.code == 0
    result = json.loads(outcome.out)["tables"]
    assert [each["resumed"] for each in result] == [True, True]
    assert items_of(target) == items_of(source)
    assert not list(tmp_path.glob("*.checkpoint*"))


def follow_market(run: Run, path: Path) -> None:
    """Create a database with an order and with the leases of a follower."""
    with keyfold.open(market.table, path, upkeep_seconds=None) as store:
        order = market.Order(user="ada", order=market.OrderId.new(), total=Decimal(100))
        store.run(order.create())
    assert run("stream", "follow", "market", "--db", path, "--until-caught-up").code == 0


def test_leases_of_followers_are_left_out(run: Run, tmp_path: Path) -> None:
    source, target = tmp_path / "market.db", tmp_path / "copy.db"
    follow_market(run, source)
    outcome = run("copy", source, target)
    assert outcome.code == 0
    assert outcome.err == "Market-leases: skipped, a lease table. --with-leases copies it.\n"
    assert outcome.out.startswith("Market: copied ")
    result = run("stream", "follow", "market", "--db", target, "--until-caught-up", "--json")
    assert json.loads(result.out)["gaps"] == 0


def test_leases_are_copied_on_request(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "market.db"
    follow_market(run, source)
    result = json.loads(run("copy", source, tmp_path / "none.db", "--json").out)
    assert (len(result["tables"]), result["left_out"]) == (1, ["Market-leases"])
    result = json.loads(run("copy", source, tmp_path / "all.db", "--with-leases", "--json").out)
    assert [each["table"] for each in result["tables"]] == ["Market", "Market-leases"]
    assert result["left_out"] == []
    outcome = run("copy", source, tmp_path / "one.db", "--name", "Market-leases")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("Market-leases: copied ")


@pytest.mark.parametrize("item", [None, {"pk": {"S": "CAR#1"}, "sk": {"S": "2026"}}])
def test_a_table_that_only_looks_like_leases_by_name_is_copied(
    run: Run, tmp_path: Path, item: dict[str, object] | None
) -> None:
    source = tmp_path / "cars.db"
    with Engine.open(source, upkeep_seconds=None) as engine:
        for name in ("cars", "cars-leases", "boats-leases"):
            engine.execute("CreateTable", {**shop.to_dynamodb(), "TableName": name})
            if item is not None:
                engine.execute("PutItem", {"TableName": name, "Item": item})
    result = json.loads(run("copy", source, tmp_path / "copy.db", "--json").out)
    assert [each["table"] for each in result["tables"]] == ["boats-leases", "cars", "cars-leases"]
