"""Commands on wrong, empty, missing and remote databases."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keyfold.cli._databases import find_cursor_key
from keyfold.engine import Engine
from keyfold.wire.server import Server
from tests.unit.cli.program import Run


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Return a file with a table of another design."""
    path = tmp_path / "other.db"
    with Engine.open(path) as engine:
        engine.execute(
            "CreateTable",
            {
                "TableName": "Rates",
                "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            },
        )
    return path


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "local")
    with (
        Engine.open(":memory:", upkeep_seconds=None) as engine,
        Server(engine, port=0).running() as url,
    ):
        yield url


@pytest.mark.parametrize(
    "command",
    [
        ("run", "market", "last-orders", "--user", "ada", "--count", "1"),
        ("letsgo", "ls", "order"),
        ("stream", "dead-letters", "market"),
        ("sql", "SELECT * FROM Market"),
        ("shell",),
        ("dump", "items.jsonl"),
        ("load", "items.jsonl"),
        ("backfill", "market"),
    ],
)
def test_an_empty_file_is_refused_by_commands_that_read(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty.db").touch()
    outcome = run(*command, "--db", "empty.db")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        "keyfold: cannot open empty.db: it is empty. The file was not changed; give another path. "
        "[file-not-keyfold]\n"
    )
    assert Path("empty.db").stat().st_size == 0
    assert [each.name for each in tmp_path.iterdir()] == ["empty.db"]


def test_an_empty_file_can_be_a_target_but_not_a_source(
    run: Run, other: Path, tmp_path: Path
) -> None:
    empty = tmp_path / "empty.db"
    empty.touch()
    refused = run("copy", empty, tmp_path / "copy.db")
    assert (refused.code, "it is empty" in refused.err) == (2, True)
    assert not (tmp_path / "copy.db").exists()
    planned = run("plan", "market", "--db", empty)
    assert (planned.code, planned.err) == (1, f"{empty} does not exist yet, or is empty.\n")
    assert empty.stat().st_size == 0
    assert run("copy", other, empty).code == 0
    assert run("sql", "SELECT * FROM Rates", "--db", empty).code == 0


@pytest.mark.parametrize(
    "command",
    [
        ("run", "market", "last-orders", "--user", "ada", "--count", "1"),
        ("letsgo", "ls", "order"),
        ("letsgo", "rm", "order", "1"),
        ("stream", "dead-letters", "market"),
    ],
)
def test_reading_from_the_wrong_database_is_reported_and_creates_nothing(
    run: Run, other: Path, command: tuple[str, ...]
) -> None:
    outcome = run(*command, "--db", other)
    assert outcome.code == 2
    assert "there is no table " in outcome.err
    assert "It has Rates." in outcome.err
    with Engine.open(other) as engine:
        assert engine.execute("ListTables", {})["TableNames"] == ["Rates"]


@pytest.mark.parametrize(
    "command",
    [
        ("run", "exchange_rates", "GetStale", "--base", "USD", "--target", "EUR"),
        ("run", "exchange_rates", "Delete", "--base", "USD", "--target", "EUR"),
        ("sql", "SELECT * FROM ExchangeRates"),
        ("plan", "exchange_rates"),
        ("dump", "rates.jsonl"),
        ("verify", "--table", "exchange_rates"),
    ],
)
def test_commands_delete_no_expired_items(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("apply", "exchange_rates", "--db", "rates.db").code == 0
    opened: list[float | None] = []
    open_file = Engine.open

    def remember(*arguments: Any, **options: Any) -> Engine:
        opened.append(options.get("upkeep_seconds", 5.0))
        return open_file(*arguments, **options)

    monkeypatch.setattr(Engine, "open", remember)
    outcome = run(*command, "--db", "rates.db")
    assert outcome.code in (0, 1), outcome.err
    assert opened
    assert set(opened) == {None}


def test_a_write_creates_its_table(run: Run, other: Path) -> None:
    assert run("letsgo", "put", '{"category": "made-here", "key": "1"}', "--db", other).code == 0
    assert "1" in run("letsgo", "ls", "made-here", "--db", other).out


def test_a_cursor_of_a_service_is_valid_in_another_run(run: Run, url: str) -> None:
    assert run("apply", "letsgo", "--db", url).code == 0
    for number in range(3):
        item = json.dumps({"category": "paged-here", "key": str(number)})
        assert run("letsgo", "put", item, "--db", url).code == 0
    command = (
        "run",
        "letsgo",
        "list-items",
        "--category",
        "paged-here",
        "--limit",
        "2",
        "--db",
        url,
    )
    first = json.loads(run(*command, "--json").out)
    second = json.loads(run(*command, "--next", first["next"], "--json").out)
    keys = [item["key"] for page in (first, second) for item in page["answer"]]
    assert keys == ["0", "1", "2"]


def test_the_cursor_key_file_is_private(tmp_path: Path) -> None:
    key = find_cursor_key({}, tmp_path)
    assert key is not None
    assert find_cursor_key({}, tmp_path) == key
    (file,) = (path for path in tmp_path.rglob("*") if path.is_file())
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_without_a_writable_folder_there_is_no_lasting_cursor_key(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    state = {"XDG_STATE_HOME": str(tmp_path / "file")}
    assert find_cursor_key(state, tmp_path) is None
    given = {**state, "KEYFOLD_CURSOR_KEY": "a key from the environment"}
    assert find_cursor_key(given, tmp_path) == b"a key from the environment"


def test_a_plan_for_a_missing_file_does_not_create_it(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    outcome = run("plan", "market", "--db", path)
    assert outcome.code == 1
    assert "+ create table Market" in outcome.out
    assert "does not exist yet" in outcome.err
    assert not path.exists()


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("def", "cannot be imported: SyntaxError"),
        ("import nowhere_at_all", "there is no module 'nowhere_at_all', which"),
        ("1 / 0", "cannot be imported: ZeroDivisionError: division by zero"),
        # The line of the module, not that of the library that refuses it.
        ("import json\njson.loads('x')", "failing_shop.py:2)"),
    ],
)
def test_a_module_that_fails_to_import_is_reported_in_one_line(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("failing_shop.py").write_text(code)
    outcome = run("patterns", "--table", "failing_shop:table")
    assert outcome.code == 2
    assert message in outcome.err
    assert "Traceback" not in outcome.err
