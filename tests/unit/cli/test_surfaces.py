"""What end users are told of errors that patterns raise."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import keyfold
from keyfold.cli._principals import Principal
from keyfold.cli._shell._session import Session
from keyfold.connect import open_executor
from tests.unit.cli.kiosk import Item, ItemId, kiosk
from tests.unit.cli.program import Outcome, Run

TABLE = "tests.unit.cli.kiosk:kiosk"
ITEM = ItemId("item_01JZ10H7X367VB2NF4YQ973DHX")

PRINCIPAL = ("--as", "buyer", "--id", "user=ada")


@pytest.fixture
def handle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the handle of the one item in the database that commands use."""
    file = tmp_path / "kiosk.db"
    monkeypatch.setenv("KEYFOLD_DB", str(file))
    with keyfold.open(kiosk, file) as store:
        store.run(Item(user="ada", item=ITEM).create())
        handles = store.as_principal("buyer", user="ada").handles
        assert handles is not None
        return handles.show(ITEM)


def ask(run: Run, *words: str) -> Outcome:
    return run("run", TABLE, *words, *PRINCIPAL)


def test_a_handle_is_shown_and_taken(run: Run, handle: str) -> None:
    outcome = ask(run, "get", "--user", "ada", "--item", handle)
    assert outcome.code == 0
    assert handle in outcome.out
    assert "GetItem: pk = STALL#{user} AND sk = {item}" in outcome.out


def test_a_filter_is_mentioned_only(run: Run, handle: str) -> None:
    outcome = ask(run, "cheap", "--user", "ada", "--item", handle)
    assert "Query: pk = STALL#{user} AND begins_with(sk, item_), filtered\n" in outcome.out


@pytest.mark.parametrize(
    ("pattern", "code", "told"),
    [
        ("add", 1, "keyfold: Item {handle} already exists. [already-exists]"),
        ("break", 2, "keyfold: The pattern failed with ValueError. [pattern-failed]"),
        (
            "validate",
            2,
            "keyfold: price: Input should be a valid integer, unable to parse string as an integer.",
        ),
        ("refuse", 2, "The transaction is not valid: {handle} is empty. [transaction-invalid]"),
        (
            "twice",
            2,
            "The transaction is not valid: two of its requests are for the same item.",
        ),
    ],
)
def test_errors_are_told_without_keys(
    run: Run, handle: str, pattern: str, code: int, told: str
) -> None:
    flags = (
        ("--item", handle)
        if pattern in ("break", "refuse")
        else ("--user", "ada", "--item", handle)
    )
    outcome = ask(run, pattern, *flags)
    assert outcome.code == code
    assert told.format(handle=handle) in " ".join(outcome.err.split())
    assert "01JZ" not in outcome.err


def test_the_shell_shows_no_traceback(
    run: Run, handle: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"break --item {handle}"))
    outcome = run("shell", TABLE, *PRINCIPAL)
    assert outcome.code == 1
    assert outcome.err == (
        "keyfold: line 1: The pattern failed with ValueError. [pattern-failed]\n"
    )


def test_a_key_itself_is_refused_and_not_repeated(run: Run, handle: str) -> None:
    for text in (ITEM, f"x{ITEM}", handle.replace("item_h", "item_hA")[:-1]):
        outcome = ask(run, "get", "--user", "ada", "--item", text)
        assert outcome.code == 2
        assert "--item: ItemId: there is no such id. Give it as it was shown to you." in outcome.err
        assert ITEM not in outcome.err


def test_an_end_user_who_may_run_statements_runs_none_in_the_shell(
    run: Run, handle: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ["select * from Kiosk;", "keys Kiosk", "keys Kiosk STALL#", "tables", "describe Kiosk"]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines)))
    outcome = run("shell", TABLE, "--as", "owner")
    assert outcome.code == 1
    assert outcome.err.count("it would show keys; run a pattern.") == 3
    assert "entities  Item" in outcome.out
    assert "STALL#" not in outcome.out
    assert "01JZ" not in outcome.out


def test_completion_offers_end_users_no_keys(handle: str, tmp_path: Path) -> None:
    with open_executor(tmp_path / "kiosk.db") as executor:
        for principal, keys in ((None, ["STALL#ada"]), (Principal(("owner",), {}), [])):
            session = Session(
                executor, [kiosk], principal=principal, cursor_key=b"a key of the test"
            )
            assert session.names.keys("Kiosk") == keys
