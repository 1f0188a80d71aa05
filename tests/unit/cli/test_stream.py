from __future__ import annotations

import json
import signal
import sys
from decimal import Decimal
from pathlib import Path

import pytest

import keyfold
from keyfold.designs import market
from tests.unit.cli.program import Run

SHOP = """
from __future__ import annotations

from pathlib import Path

from keyfold import Change, Entity, Key, Table, part

shop = Table("{table}", key=Key("pk"), stream="new and old")


class Order(Entity, table=shop, key="ORDER#{{number}}"):
    number: str = part()
    total: int = 0


@shop.on_change(Order)
def record_total(change: Change[Order]) -> None:
    if Path("broken").exists():
        raise ConnectionError("nobody answers")
    with Path("totals").open("a") as file:
        file.write(f"{{change.new and change.new.total}} ")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current directory; modules imported from it are unloaded after the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


def write_shop(folder: Path, name: str, *totals: int) -> str:
    (folder / f"{name}.py").write_text(SHOP.format(table=name.title()), "utf-8")
    sys.path.insert(0, str(folder))
    module = __import__(name)
    with keyfold.open(module.shop, "shop.db") as store:
        for total in totals:
            store.run(module.Order(number="1", total=total).put())
    return f"{name}:shop"


def test_a_design_is_followed(run: Run, folder: Path) -> None:
    order = market.Order(user="ada", order=market.OrderId.new(), total=Decimal(100))
    with keyfold.open(market.table, "market.db") as store:
        store.run(order.create())
    outcome = run("stream", "follow", "market", "--db", "market.db", "--until-caught-up")
    assert (outcome.code, outcome.err) == (0, "")
    # The bill is a change too; its handler does nothing before it is paid. So is the list of unique
    # fields, which has no handler.
    assert outcome.out == "Market: 3 changes, 2 handled, 0 dead letters, 0 gaps.\n"
    with keyfold.open(market.table, "market.db") as store:
        [bill] = store.run(market.bills("ada"))
    assert bill.amount == Decimal(100)
    outcome = run("stream", "follow", "market", "--db", "market.db", "--until-caught-up", "--json")
    assert json.loads(outcome.out) == {
        "table": "Market",
        "follower": "default",
        "records": 0,
        "handled": 0,
        "dead_letters": 0,
        "gaps": 0,
    }


def test_signal_handlers_are_restored(run: Run, folder: Path) -> None:
    where = ("--table", write_shop(folder, "signalshop", 1), "--db", "shop.db")
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    assert run("stream", "follow", *where, "--until-caught-up").code == 0
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_one_change_is_counted_in_the_singular(run: Run, folder: Path) -> None:
    where = ("--table", write_shop(folder, "oneshop", 1), "--db", "shop.db")
    outcome = run("stream", "follow", *where, "--until-caught-up")
    assert outcome.out == "Oneshop: 1 change, 1 handled, 0 dead letters, 0 gaps.\n"


def test_dead_letters_are_listed_and_retried(run: Run, folder: Path) -> None:
    where = ("--table", write_shop(folder, "deadlettershop", 1, 2), "--db", "shop.db")
    outcome = run("stream", "dead-letters", *where)
    assert (outcome.code, outcome.out) == (0, "Deadlettershop: no dead letters.\n")
    Path("broken").touch()
    assert run("stream", "follow", *where, "--until-caught-up", "--attempts", "1").code == 0
    outcome = run("stream", "dead-letters", *where)
    assert outcome.code == 1
    first, second = outcome.out.splitlines()[1:]
    assert "pk='ORDER#1'" in first
    assert "failed" in first
    assert "ConnectionError: nobody answers" in first
    assert "waiting" in second
    outcome = run("stream", "dead-letters", *where, "--json")
    listed = json.loads(outcome.out)["dead_letters"]
    assert [(each["state"], each["attempts"]) for each in listed] == [("failed", 1), ("waiting", 0)]
    Path("broken").unlink()
    outcome = run("stream", "retry", *where)
    assert outcome.out == "Deadlettershop: 1 dead letter scheduled for retry.\n"
    assert json.loads(run("stream", "retry", *where, "--json").out)["retrying"] == 0
    run("stream", "follow", *where, "--until-caught-up")
    assert Path("totals").read_text() == "1 2 "
    assert run("stream", "dead-letters", *where).code == 0


def test_invalid_arguments_are_refused(run: Run, folder: Path) -> None:
    outcome = run("stream", "dead-letters", "market", "--db", "absent.db")
    assert (outcome.code, "there is no such file" in outcome.err) == (2, True)
    where = ("--table", write_shop(folder, "oddshop"), "--db", "shop.db")
    outcome = run("stream", "follow", *where, "--start", "middle")
    assert (outcome.code, "Give 'oldest' or 'latest'" in outcome.err) == (2, True)
    Path("pyproject.toml").write_text(
        '[tool.keyfold]\ntables = ["oddshop:shop", "keyfold.designs.market:table"]', "utf-8"
    )
    outcome = run("stream", "dead-letters", "--db", "shop.db")
    assert (outcome.code, "name one of Oddshop, Market" in outcome.err) == (2, True)
