"""`run` and `shell` as a principal of a role."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

import keyfold
from keyfold.designs import market
from keyfold.designs.market import Order, OrderId, User
from tests.unit.cli.program import Outcome, Run

BOB = ("--as", "customer", "--id", "user=bob")
Ask = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a database with two users; commands use it by default."""
    file = tmp_path / "market.db"
    with keyfold.open(market.table, file) as store:
        for number, user in enumerate(("ada", "bob"), start=1):
            store.run(User(user=user, name=user.title(), id=f"user={user}").create())
            for id_ in (f"user={user}", f"2026-{number}"):
                order = Order(user=user, order=OrderId.new(), id=id_, total=Decimal(9))
                store.run(order.create())
    monkeypatch.setenv("KEYFOLD_DB", str(file))
    return file


@pytest.fixture
def ask(run: Run, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Return a function that runs the market's shell on lines of input."""

    def ask(*lines: str, options: tuple[str, ...] = BOB) -> Outcome:
        monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines)))
        return run("shell", "market", *options)

    return ask


def test_a_pattern_runs_as_a_principal(run: Run) -> None:
    outcome = run("run", "market", "last-orders", "--user", "bob", "--count", "5", *BOB)
    assert outcome.code == 0
    assert "2026-2" in outcome.out


def test_a_principal_may_have_several_roles(run: Run) -> None:
    words = ("run", "market", "last-orders", "--user", "bob", "--count", "5", "--id", "user=bob")
    assert run(*words, "--as", "seller").code == 1
    assert run(*words, "--as", "seller", "--as", "customer").code == 0


def test_what_the_role_denies_exits_with_1(run: Run) -> None:
    outcome = run("run", "market", "last-orders", "--user", "ada", "--count", "5", *BOB)
    assert (outcome.code, outcome.out) == (1, "")
    denied = "orders: customer may only use partitions of its own user"
    assert outcome.err == (
        f"keyfold: customer: Query on Market is denied: {denied}. [access-denied]\n"
    )


def test_a_denial_is_a_result_in_json(run: Run) -> None:
    words = ("--user", "ada", "--count", "5", "--json")
    outcome = run("run", "market", "last-orders", *BOB, *words)
    assert (outcome.code, outcome.err) == (1, "")
    document = json.loads(outcome.out)
    assert document["pattern"] == "Get the list of last N orders for user"
    assert document["error"]["code"] == "access-denied"


def test_an_id_is_the_principals_or_the_patterns(run: Run) -> None:
    outcome = run("run", "market", "order-by-id", "--id", "2026-2", *BOB)
    assert outcome.code == 0
    # Another user's order looks as if it did not exist.
    assert run("run", "market", "order-by-id", "--id", "2026-1", *BOB).code == 1
    # After --, it is always the pattern's.
    outcome = run("run", "market", "order-by-id", *BOB, "--", "--id", "user=bob")
    assert outcome.code == 0


def test_without_a_role_an_id_is_the_patterns(run: Run) -> None:
    outcome = run("run", "market", "find-by-id", "--id", "user=ada", "--tp", "user")
    assert "Ada" in outcome.out
    outcome = run("run", "market", "bonuses", "--user", "bob", "--id", "user=bob")
    assert outcome.code == 2
    assert "Invalid value for --id: it is for --as. Give --as, too." in outcome.err


def test_a_principal_must_be_one_of_the_table(run: Run) -> None:
    words = ("run", "market", "bonuses", "--user", "bob")
    outcome = run(*words, "--as", "guest")
    assert outcome.code == 2
    assert "role guest: no table has such a role" in outcome.err
    outcome = run(*words, "--as", "customer")
    assert outcome.code == 2
    assert "it needs an id for 'user'" in outcome.err
    outcome = run(*words, "--as", "customer", "--id", "bob")
    assert outcome.code == 2
    assert "'bob' is not NAME=VALUE." in outcome.err


def test_a_principal_creates_no_database(run: Run, tmp_path: Path) -> None:
    missing = tmp_path / "missing.db"
    words = ("take-from-cart", "--user", "bob", "--cart", "C#01JZ10H7X367VB2NF4YQ973DHV")
    product = ("--product", "I#01JZ10H7X367VB2NF4YQ973DHV")
    outcome = run("run", "market", *words, *product, *BOB, "--db", missing)
    assert outcome.code == 2
    assert "there is no such file" in outcome.err
    assert not missing.exists()


def test_the_shell_runs_patterns_as_a_principal(ask: Ask) -> None:
    outcome = ask("last-orders user=bob count=5", "last-orders user=ada count=5")
    assert outcome.code == 1
    assert "2026-2" in outcome.out
    assert "line 2: customer: Query on Market is denied" in outcome.err


def test_the_shell_checks_statements_and_listings(ask: Ask) -> None:
    staff = ("--as", "fulfilment")
    outcome = ask("tables", "select * from Market;", "keys Market", options=staff)
    assert (outcome.code, outcome.out) == (1, "")
    assert "ListTables is denied" in outcome.err
    assert "PartiQLSelect on Market is denied" in outcome.err
    assert "DescribeTable on Market is denied" in outcome.err


def test_a_principals_shell_creates_no_tables(ask: Ask, tmp_path: Path) -> None:
    file = tmp_path / "other.db"
    with keyfold.open([], file):
        pass
    outcome = ask("bonuses user=bob", options=(*BOB, "--db", str(file)))
    assert outcome.code == 1
    assert "there is no table Market" in outcome.err


def test_the_shell_needs_a_role_for_an_id(ask: Ask) -> None:
    outcome = ask("tables", options=("--id", "user=bob"))
    assert outcome.code == 2
    assert "it is for --as" in outcome.err
