from __future__ import annotations

import io
import json
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

import keyfold
from keyfold.cli.letsgo import app
from keyfold.designs import letsgo
from keyfold.engine import Engine
from keyfold.errors import FileUnreachable, WriteRefused
from tests.unit.cli.program import Outcome, Run


class Shell:
    """Runs commands on one database file."""

    def __init__(
        self, file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.file, self._capsys, self._monkeypatch = file, capsys, monkeypatch

    def __call__(self, *arguments: str, typed: str = "") -> Outcome:
        self._monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        with pytest.raises(SystemExit) as exited:
            app([*arguments, "--db", str(self.file)], prog_name="keyfold letsgo")
        printed = self._capsys.readouterr()
        return Outcome(exited.value.code, printed.out, printed.err)

    def put(self, **item: object) -> None:
        assert self("put", json.dumps(item)).code == 0


@pytest.fixture
def shell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Shell:
    return Shell(tmp_path / "letsgo.db", capsys, monkeypatch)


@pytest.fixture
def orders(shell: Shell) -> Shell:
    for customer in ("client-12", "client-123"):
        for order in range(3):
            shell.put(category="client-bill", key=f"/{customer}/bill-{order}", n=order)
    return shell


def test_put_and_get(shell: Shell) -> None:
    put = shell("put", '{"category": "bill", "key": "bill-123", "total": 0.10, "tags": ["a"]}')
    assert (put.code, put.out) == (0, "Wrote 'bill-123' to 'bill'.\n")
    got = shell("get", "bill", "bill-123")
    assert got.out == 'category: bill\nkey: bill-123\ntotal: 0.1\ntags: ["a"]\n'
    got = shell("get", "bill", "bill-123", "--json")
    assert json.loads(got.out) == {
        "item": {"category": "bill", "key": "bill-123", "total": 0.1, "tags": ["a"]}
    }


def test_put_reads_standard_input(shell: Shell) -> None:
    typed = '{"category": "bill", "key": "a", "ttl": 4102444800}'
    assert json.loads(shell("put", "-", "--json", typed=typed).out) == {
        "item": {"category": "bill", "key": "a", "ttl": 4102444800}
    }


def test_numbers_keep_their_digits(shell: Shell) -> None:
    digits = "12345678901234567890.123456789012345678"
    shell("put", f'{{"category": "n", "key": "a", "v": [{digits}, 1{"0" * 30}]}}')
    printed = shell("get", "n", "a", "--json").out
    assert digits in printed
    assert f"1{'0' * 30}" in printed


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "{}",
        '{"category": "bill"}',
        '{"category": "bill", "key": 7}',
        '{"category": "bill", "key": "a", "ttl": "tomorrow"}',
        '{"category": "bill", "key": "a", "ttl": 1e400}',
    ],
)
def test_invalid_items_are_refused(shell: Shell, text: str) -> None:
    outcome = shell("put", text)
    assert outcome.code == 2
    assert "Invalid value for JSON" in outcome.err
    assert not shell.file.exists()


def test_get_of_a_missing_item_exits_with_one(orders: Shell) -> None:
    outcome = orders("get", "bill", "x")
    assert (outcome.code, outcome.err) == (1, "There is no 'x' in 'bill'.\n")
    outcome = orders("get", "bill", "x", "--json")
    assert (outcome.code, json.loads(outcome.out)) == (1, {"item": None})


def test_expired_items_are_not_found(shell: Shell) -> None:
    shell.put(category="bill", key="old", ttl=1_704_067_200)
    assert shell("get", "bill", "old").code == 1
    assert shell("ls", "bill").out == ""


def test_ls_shows_keys(orders: Shell) -> None:
    listed = orders("ls", "client-bill", "/client-12/")
    assert (listed.code, listed.out.split()) == (
        0,
        [f"/client-12/bill-{n}" for n in range(3)],
    )
    assert len(orders("ls", "client-bill").out.split()) == 6
    assert orders("ls", "nothing").out == ""


def test_ls_full_shows_items(orders: Shell) -> None:
    lines = orders("ls", "client-bill", "/client-12/", "--full").out.splitlines()
    assert json.loads(lines[1]) == {
        "category": "client-bill",
        "key": "/client-12/bill-1",
        "n": 1,
    }


def test_reserved_items_are_shown_as_they_are_stored(shell: Shell) -> None:
    tenant = letsgo.Tenant(tenant_id="acme", created_at=datetime(2024, 1, 1, tzinfo=UTC))
    noon = datetime(2024, 6, 1, 12, tzinfo=UTC)
    with keyfold.open(letsgo.table, str(shell.file), clock=noon.timestamp) as store:
        store.run(letsgo.create_tenant(tenant))
    assert shell("ls", "letsgo-tenant").out == "acme\n"
    assert json.loads(shell("get", "letsgo-tenant", "acme", "--json").out)["item"] == {
        "category": "letsgo-tenant",
        "key": "acme",
        "tenantId": "acme",
        "createdAt": "2024-01-01T00:00:00.000000Z",
        "updatedAt": "2024-06-01T12:00:00.000000Z",
    }


def test_an_item_that_does_not_match_its_type_is_shown(shell: Shell) -> None:
    shell.put(category="bill", key="bill-1")
    item = {"category": {"S": "letsgo-tenant"}, "key": {"S": "x"}, "createdAt": {"S": "by hand"}}
    with Engine.open(shell.file) as engine:
        engine.execute("PutItem", {"TableName": "letsgo", "Item": item})
    plain = {"category": "letsgo-tenant", "key": "x", "createdAt": "by hand"}
    listed = json.loads(shell("ls", "letsgo-tenant", "--full", "--json").out)
    assert (listed["items"], listed["invalid"]) == ([plain], [])
    assert json.loads(shell("get", "letsgo-tenant", "x", "--json").out)["item"] == plain


def test_an_item_that_is_not_even_an_item_is_reported(shell: Shell) -> None:
    shell.put(category="bill", key="bill-1")
    item = {"category": {"S": "bill"}, "key": {"S": "x"}, "ttl": {"S": "soon"}}
    with Engine.open(shell.file) as engine:
        engine.execute("PutItem", {"TableName": "letsgo", "Item": item})
    listed = json.loads(shell("ls", "bill", "--full", "--json").out)
    [shown] = listed["invalid"]
    assert shown["item"] == {"category": "bill", "key": "x", "ttl": "soon"}
    assert "ttl: " in shown["reason"]
    assert "'x' does not fit: " in shell("ls", "bill", "--limit", "2").err


def test_ls_continues_with_its_token(orders: Shell) -> None:
    seen: list[str] = []
    token: list[str] = []
    while True:
        arguments = ("ls", "client-bill", "--limit", "4", "--json", *token)
        page = json.loads(orders(*arguments).out)
        seen += [item["key"] for item in page["items"]]
        if page["next"] is None:
            break
        token = ["--next", page["next"]]
    assert seen == sorted(seen)
    assert len(seen) == 6
    assert "There are more items: --next " in orders("ls", "client-bill", "--limit", "4").err


def test_update_changes_some_attributes(shell: Shell) -> None:
    shell.put(category="bill", key="b", total=1, note="late", tags=["a"])
    changed = shell("update", "bill", "b", '{"total": 0.30, "note": null, "ttl": 4102444800}')
    assert (changed.code, changed.out) == (0, "Updated 'b' in 'bill'.\n")
    assert json.loads(shell("get", "bill", "b", "--json").out)["item"] == {
        "category": "bill",
        "key": "b",
        "ttl": 4102444800,
        "total": 0.3,
        "tags": ["a"],
    }
    typed = '{"ttl": null, "paid": true}'
    shown = json.loads(shell("update", "bill", "b", "-", "--json", typed=typed).out)["item"]
    assert (shown.get("ttl"), shown["paid"], shown["total"]) == (None, True, 0.3)


def test_update_can_let_an_item_expire(shell: Shell) -> None:
    shell.put(category="bill", key="b")
    ended = shell("update", "bill", "b", '{"ttl": 1704067200}')
    assert (ended.code, ended.out) == (0, "Updated 'b' in 'bill', which has expired now.\n")
    assert shell("get", "bill", "b").code == 1


def test_update_of_a_missing_item_exits_with_one(orders: Shell) -> None:
    outcome = orders("update", "bill", "x", '{"n": 1}')
    assert (outcome.code, outcome.err) == (1, "There is no 'x' in 'bill'.\n")
    outcome = orders("update", "bill", "x", '{"n": 1}', "--json")
    assert (outcome.code, json.loads(outcome.out)) == (1, {"item": None})
    assert orders("ls", "bill").out == ""


@pytest.mark.parametrize("text", ["{", "[]", '{"ttl": "tomorrow"}'])
def test_invalid_changes_are_refused(orders: Shell, text: str) -> None:
    outcome = orders("update", "client-bill", "/client-12/bill-0", text)
    assert outcome.code == 2
    assert "Invalid value for JSON" in outcome.err


def test_rm(orders: Shell) -> None:
    key = "/client-12/bill-0"
    assert orders("rm", "client-bill", key).out == f"Deleted {key!r} from 'client-bill'.\n"
    again = orders("rm", "client-bill", key)
    assert (again.code, again.out) == (0, f"There was no {key!r} in 'client-bill'.\n")
    removed = orders("rm", "client-bill", "/client-12/bill-1", "--json")
    assert json.loads(removed.out)["removed"]["n"] == 1


def test_reserved_categories_are_refused(orders: Shell) -> None:
    with pytest.raises(WriteRefused):
        orders("put", '{"category": "letsgo-tenant", "key": "a"}')
    with pytest.raises(WriteRefused):
        orders("rm", "letsgo-tenant", "a")
    with pytest.raises(WriteRefused):
        orders("update", "letsgo-tenant", "a", "{}")
    assert orders("ls", "letsgo-tenant").code == 0


@pytest.mark.parametrize(
    "command", [("ls", "a"), ("get", "a", "b"), ("rm", "a", "b"), ("update", "a", "b", "{}")]
)
def test_a_missing_file_is_refused_and_not_created(shell: Shell, command: tuple[str, ...]) -> None:
    with pytest.raises(FileUnreachable):
        shell(*command)
    assert not shell.file.exists()


@pytest.mark.parametrize("command", ["ls", "get", "put", "update", "rm"])
def test_help_shows_examples(shell: Shell, command: str) -> None:
    helped = shell(command, "--help").out
    assert f"\n    keyfold letsgo {command} " in helped
    assert "--json" in helped


def test_load_rejects_reserved_categories_that_no_entity_has(
    shell: Shell, tmp_path: Path, run: Run
) -> None:
    lines = tmp_path / "items.jsonl"
    items = [
        {"category": {"S": "letsgo-mine"}, "key": {"S": "a"}},
        {"category": {"S": "letsgo-tenant"}, "key": {"S": "acme"}},
        {"category": {"S": "bill"}, "key": {"S": "a"}},
    ]
    lines.write_text("".join(json.dumps({"Item": item}) + "\n" for item in items))
    rejects = tmp_path / "rejects.jsonl"
    outcome = run(*("load", lines, "--db", shell.file, "--table", "letsgo", "--rejects", rejects))
    assert outcome.code == 1
    [rejected] = [json.loads(line)["reason"] for line in rejects.read_text().splitlines()]
    assert rejected == "each category that starts with 'letsgo' is reserved for declared entities"
    assert shell("ls", "letsgo-mine").out == ""
    assert shell("ls", "letsgo-tenant").out == "acme\n"
