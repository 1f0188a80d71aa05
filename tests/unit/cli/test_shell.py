from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

import keyfold
from keyfold import Entity, Key, Table, attr, part
from keyfold.cli._shell._entries import Entries
from keyfold.cli._shell._history import History, find_history_file
from keyfold.cli._shell._prompt import run_lines
from keyfold.cli._shell._session import Session
from keyfold.connect import open_executor
from tests.unit.cli.program import Outcome, Run
from tests.unit.cli.shop import shop, write_shop

Ask = Callable[..., Outcome]
TABLE = "tests.unit.cli.shop:shop"


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "shop.db"
    write_shop(file)
    monkeypatch.setenv("KEYFOLD_DB", str(file))
    return file


@pytest.fixture
def ask(run: Run, db: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Return a function that runs the shell on lines of input, with the shop's table declared."""

    def ask(*lines: str, options: tuple[object, ...] = ("--table", TABLE)) -> Outcome:
        monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines)))
        return run("shell", *options)

    return ask


def json_documents(outcome: Outcome) -> list[Any]:
    return [json.loads(line) for line in outcome.out.splitlines()]


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line.strip()]


# Entries.


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["tables"], ["tables"]),
        (["", "  ", "-- a comment", "tables;"], ["tables"]),
        (["SELECT *", "FROM t;"], ["SELECT *\nFROM t"]),
        (["select * from t", ""], ["select * from t"]),
        (
            ["SELECT a FROM t; SELECT b FROM t; next"],
            ["SELECT a FROM t", "SELECT b FROM t", "next"],
        ),
        (["SELECT a FROM t WHERE b = 'x;", "y;';"], ["SELECT a FROM t WHERE b = 'x;\ny;'"]),
        (["SELECT a -- not; here", 'FROM "a;b";'], ['SELECT a -- not; here\nFROM "a;b"']),
        (["delete-all --user 'a;b'"], ["delete-all --user 'a;b'"]),
        (["Delete nothing --user a"], ["Delete nothing --user a"]),
        ([";"], []),
    ],
)
def test_lines_become_entries(lines: list[str], expected: list[str]) -> None:
    entries = Entries(lambda text: text.startswith("Delete nothing"))
    assert [entry for line in lines for entry in entries.add(line)] == expected
    assert entries.take() == []


def test_a_statement_continues_until_it_ends() -> None:
    entries = Entries()
    assert entries.add("SELECT *") == []
    assert entries.pending == "SELECT *\n"
    assert entries.take() == ["SELECT *"]
    assert entries.pending == ""


# Statements and patterns.


def test_the_result_of_a_statement_is_shown_with_its_cost(ask: Ask) -> None:
    outcome = ask("SELECT sk, total FROM Shop", "WHERE pk = 'USER#ada' AND total > 10", "")
    assert (outcome.code, outcome.err) == (0, "")
    assert rows(outcome.out) == [
        ["sk", "total"],
        ["ORDER#0002", "20"],
        ["ORDER#0003", "30"],
        ["2", "items,", "0.5", "capacity", "units"],
    ]


@pytest.mark.parametrize(
    "line",
    [
        "orders-of --user ada",
        "orders_of --user=ada",
        "Orders of a user user=ada",
        "run orders-of user=ada",
        "ORDERS-OF --user 'ada';",
    ],
)
def test_a_pattern_gives_the_result_of_keyfold_run(ask: Ask, line: str) -> None:
    outcome = ask(line)
    assert (outcome.code, outcome.err) == (0, "")
    shown = rows(outcome.out)
    assert shown[:2] == [["user", "number", "city", "total"], ["ada", "1", "Graz", "10"]]
    assert shown[-1][:5] == ["3", "items,", "0.5", "capacity", "units,"]


def test_json_is_one_document_for_each_entry(ask: Ask) -> None:
    lines = ("SELECT total FROM Shop WHERE pk = 'USER#ada';", "orders-of user=ada", "nonsense")
    outcome = ask(*lines, options=("--table", TABLE, "--json"))
    statement, pattern, error = json_documents(outcome)
    assert (outcome.code, outcome.err) == (1, "")
    assert statement["items"] == [{"total": {"N": str(total)}} for total in (10, 20, 30)]
    assert (statement["next"], statement["capacity_units"]) == (None, 0.5)
    assert [each["total"] for each in pattern["answer"]] == [10, 20, 30]
    assert pattern["pattern"] == "Orders of a user"
    assert error["error"]["code"] == "usage"


def test_json_is_turned_on_and_off(ask: Ask) -> None:
    outcome = ask("json on", "tables", "json off", "tables")
    first, *rest = outcome.out.splitlines()
    assert json.loads(first) == {"tables": ["Shop", "day-log"], "declared": ["Shop"]}
    assert rest == ["Shop", "day-log"]


@pytest.mark.parametrize(
    "line", ["SELECT sk FROM Shop WHERE pk = 'USER#ada';", "orders-of user=ada"]
)
def test_next_shows_page_after_page(ask: Ask, line: str) -> None:
    outcome = ask("json on", "limit 2", line, "next", "next")
    first, second, third = json_documents(outcome)
    members = "items" if "items" in first else "answer"
    assert (len(first[members]), len(second[members])) == (2, 1)
    assert first[members] + second[members] != [first[members][0]] * 3
    assert (first["next"] is None, second["next"]) == (False, None)
    assert third["error"]["message"] == "Invalid value for next: there is no next page."
    assert outcome.code == 1


def test_the_end_of_a_page_says_how_to_continue(ask: Ask) -> None:
    outcome = ask("orders-of user=ada", options=("--table", TABLE, "--limit", 2))
    assert outcome.out.splitlines()[-1] == "There are more items: next"
    assert "There are more" not in ask("limit off", "orders-of user=ada").out


def test_empty_pages_are_skipped(ask: Ask) -> None:
    outcome = ask("json on", "limit 1", "SELECT sk FROM Shop WHERE total = 30;")
    assert [each["items"] for each in json_documents(outcome)] == [[{"sk": {"S": "ORDER#0003"}}]]


def test_statements_can_write(ask: Ask) -> None:
    outcome = ask(
        """add-order --order '{"user": "cy", "number": 1, "city": "Linz", "total": 5}'""",
        "UPDATE Shop SET total = 6 WHERE pk = 'USER#cy' AND sk = 'ORDER#0001';",
        "json on",
        "SELECT total FROM Shop WHERE pk = 'USER#cy';",
    )
    assert (outcome.code, outcome.err) == (0, "")
    assert json.loads(outcome.out.splitlines()[-1])["items"] == [{"total": {"N": "6"}}]


def test_a_pattern_that_reads_does_not_create_a_missing_table(ask: Ask) -> None:
    outcome = ask("orders-of user=ada", "tables", options=("--table", TABLE, "--db", ":memory:"))
    assert outcome.code == 1
    assert "there is no table Shop" in outcome.err
    assert outcome.out.startswith("Shop  declared, not in the database\n")


# Errors.


def test_errors_are_reported_with_their_line_and_the_rest_is_run(ask: Ask) -> None:
    outcome = ask(
        "SELECT * FROM elsewhere;",
        "describe",
        ".nonsense",
        "orders-of --user 'ada",
        "limit 0",
        "INSERT INTO Shop VALUE {'pk': 'USER#ada', 'sk': 'ORDER#0001'};",
        "tables",
    )
    assert outcome.code == 1
    assert outcome.out.splitlines() == ["Shop", "day-log"]
    assert outcome.err.splitlines() == [
        (
            "keyfold: line 1: this database: there is no table elsewhere. It has Shop, day-log. "
            "`keyfold apply` creates declared tables. [table-missing]"
        ),
        "keyfold: line 2: Invalid value for describe: usage: describe TABLE.",
        "keyfold: line 3: Invalid value for .nonsense: no such command; see help.",
        "keyfold: line 4: Invalid value for orders-of: No closing quotation.",
        "keyfold: line 5: Invalid value for limit: '0' is neither a number above 0 nor off.",
        "keyfold: line 6: DuplicateItemException: Duplicate primary key exists in table",
    ]


def test_a_pattern_that_raises_shows_its_traceback_and_the_rest_is_run(ask: Ask) -> None:
    outcome = ask("Delete nothing --is-new user=ada", "tables")
    assert outcome.code == 1
    assert "in failing\n" in outcome.err
    assert outcome.err.endswith("keyfold: line 1: ada True\n")
    assert outcome.out.splitlines() == ["Shop", "day-log"]


def test_a_value_may_look_like_a_parameter(ask: Ask) -> None:
    assert "keyfold: line 1: user=ada False" in ask("failing --user user=ada").err


def test_a_missing_file_is_not_created(run: Run, tmp_path: Path) -> None:
    outcome = run("shell", "--db", tmp_path / "none.db")
    assert outcome.code == 2
    assert "there is no such file" in outcome.err
    assert not (tmp_path / "none.db").exists()


# Descriptions.


def test_a_table_is_described(ask: Ask) -> None:
    outcome = ask("describe Shop", "describe day-log")
    assert (outcome.code, outcome.err) == (0, "")
    assert rows(outcome.out) == [
        ["Shop", "6", "items,", *outcome.out.split()[3:5]],
        ["key", "pk,", "sk"],
        ["index", "by_city:", "city,", "sk", "(ALL)"],
        ["entities", "Order"],
        ["day-log", "3", "items,", "15", "bytes"],
        ["key", "day"],
    ]


def test_keys_can_be_listed_by_prefix(ask: Ask) -> None:
    outcome = ask("json on", "keys Shop", "keys Shop USER#b", "keys day-log 7")
    every, some, numbers = json_documents(outcome)
    assert sorted(every["keys"]) == ["USER#ada", "USER#bob o'hara"]
    assert (every["all"], every["capacity_units"]) == (True, 2.0)
    assert some["keys"] == ["USER#bob o'hara"]
    assert sorted(numbers["keys"]) == ["7", "70"]
    assert ask("keys Shop USER#bob o").out == "USER#bob o'hara\n1 key, 2 capacity units\n"


def test_patterns_and_help_are_shown(ask: Ask) -> None:
    outcome = ask("patterns", ".help")
    assert outcome.out.startswith("Shop  3 access patterns\n")
    assert "\ndescribe TABLE " in outcome.out


def test_without_declared_tables_only_statements_are_available(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    statement = 'SELECT day FROM "day-log" WHERE day = 8;'
    outcome = ask("patterns", "orders-of --user ada", statement, options=())
    assert outcome.out.startswith("No tables are declared, so there are no patterns.\nday\n8 ")
    assert outcome.err.startswith("keyfold: line 2: Invalid value for orders-of: no tables are")


@pytest.mark.parametrize("word", ["exit", "quit", ".exit"])
def test_nothing_is_read_after_exit(
    db: Path, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_executor(db) as executor:
        assert run_lines(Session(executor, [shop]), [word, "nonsense"])
    assert capsys.readouterr() == ("", "")


# History.


def test_the_environment_decides_where_history_is_stored() -> None:
    home = Path("/home/ada")
    usual = home / ".local" / "state" / "keyfold" / "history"
    assert find_history_file({}, home) == usual
    assert find_history_file({"XDG_STATE_HOME": "relative"}, home) == usual
    assert find_history_file({"XDG_STATE_HOME": "/state"}, home) == Path("/state/keyfold/history")
    assert find_history_file({"KEYFOLD_HISTORY": "/tmp/h"}, home) == Path("/tmp/h")
    assert find_history_file({"KEYFOLD_HISTORY": ""}, home) is None


def test_the_history_file_is_private(tmp_path: Path) -> None:
    file = tmp_path / "keyfold" / "history"
    history = History(file)
    assert history.add("tables") == ["tables"]
    assert history.add("tables") == []
    assert history.add("SELECT *\nFROM t") == ["SELECT * FROM t"]
    assert history.add("SELECT * -- all\nFROM t") == ["SELECT * -- all", "FROM t"]
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    file.chmod(0o644)
    assert History(file).entries == ["tables", "SELECT * FROM t", "SELECT * -- all", "FROM t"]
    history.add("next")
    assert file.stat().st_mode & 0o777 == 0o600


def test_long_history_is_truncated(tmp_path: Path) -> None:
    file = tmp_path / "history"
    file.write_text("".join(f"keys t {number}\n" for number in range(2001)), "utf-8")
    assert History(file).entries[0] == "keys t 1001"
    assert len(file.read_text("utf-8").splitlines()) == 1000


def test_without_a_writable_folder_there_is_no_history(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    history = History(tmp_path / "file" / "history")
    assert history.add("tables") == ["tables"]
    assert history.entries == ["tables"]
    assert History(None).add("tables") == ["tables"]


# Secrets.


def test_the_secrets_of_declared_tables_are_masked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    users = Table("Users", key=Key("pk"))

    class User(Entity, table=users, key="USER#{name}"):
        name: str = part()
        token: SecretStr = attr("t")

    with keyfold.open(users, tmp_path / "users.db") as store:
        store.run(User(name="ada", token=SecretStr("hunter2")).put())
    with open_executor(str(tmp_path / "users.db")) as executor:
        for as_json in (False, True):
            Session(executor, [users], as_json=as_json).run('SELECT * FROM "Users"')
            shown = capsys.readouterr().out
            assert "**********" in shown
            assert "hunter2" not in shown
