from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keyfold.cli._shell._completion import complete, to_matches
from keyfold.cli._shell._names import Names
from keyfold.connect import open_executor
from keyfold.errors import ServiceError
from tests.unit.cli.shop import shop, write_shop


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Names]:
    file: Path = tmp_path_factory.mktemp("completion") / "shop.db"
    write_shop(file)
    with open_executor(file) as executor:
        yield Names(executor, [shop])


def completed(text: str, names: Names) -> list[str]:
    """Return every completed form of the text."""
    completion = complete(text, names)
    return sorted(text[: completion.start] + each for each in completion.candidates)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Words, commands and patterns.
        ("sel", ["SELECT "]),
        ("de", ["describe "]),
        ("DE", ["DELETE FROM "]),
        (".t", [".tables "]),
        ("ord", ["orders-of "]),
        ("add", ["add-order "]),
        ("delete-n", ["delete-nothing "]),
        ("Orders of", ["Orders of a user "]),
        ("describe d", ["describe day-log"]),
        ("describe ", ["describe Shop", "describe day-log"]),
        ("keys s", ["keys Shop "]),
        ("keys Shop USER#a", ["keys Shop USER#ada"]),
        ("keys day-log 7", ["keys day-log 7", "keys day-log 70"]),
        ("json ", ["json off", "json on"]),
        ("tables ", []),
        ("run add", ["run add-order "]),
        # Parameters, and values that keys hold.
        ("orders-of ", ["orders-of --user "]),
        ("failing --user ada --", ["failing --user ada --is-new "]),
        ("Delete nothing --u", ["Delete nothing --user "]),
        ("orders-of --user a", ["orders-of --user ada "]),
        ("orders-of user=a", ["orders-of user=ada "]),
        ("run orders-of --user=a", ["run orders-of --user=ada "]),
        ("orders-of --other a", []),
        # Statements.
        ("SELECT * FR", ["SELECT * FROM "]),
        ("select * fr", ["select * from "]),
        ("SELECT * FROM S", ["SELECT * FROM Shop"]),
        ("SELECT * FROM d", ['SELECT * FROM "day-log"']),
        ('SELECT * FROM "d', ['SELECT * FROM "day-log"']),
        ("INSERT INTO ", ['INSERT INTO "day-log"', "INSERT INTO Shop"]),
        ("UPDATE sh", ["UPDATE Shop"]),
        ("SELECT * FROM Shop.b", ["SELECT * FROM Shop.by_city"]),
        ('SELECT * FROM "Shop"."', ['SELECT * FROM "Shop"."by_city"']),
        ("SELECT * FROM Shop WHERE tot", ["SELECT * FROM Shop WHERE total"]),
        ('SELECT * FROM Shop WHERE "c', ['SELECT * FROM Shop WHERE "city"']),
        ("SELECT * FROM Shop WHERE begi", ["SELECT * FROM Shop WHERE begins_with("]),
        ('SELECT da FROM "day-log" WHERE da', ['SELECT da FROM "day-log" WHERE day']),
        ("SELECT tot", ["SELECT total"]),
        # Keys.
        ("SELECT * FROM Shop WHERE pk = 'USER#a", ["SELECT * FROM Shop WHERE pk = 'USER#ada'"]),
        (
            "SELECT * FROM Shop WHERE pk = 'USER#b",
            ["SELECT * FROM Shop WHERE pk = 'USER#bob o''hara'"],
        ),
        (
            "SELECT * FROM Shop WHERE pk IN ['x', 'USER#a",
            ["SELECT * FROM Shop WHERE pk IN ['x', 'USER#ada'"],
        ),
        ("INSERT INTO Shop VALUE {'pk': 'USER#a", ["INSERT INTO Shop VALUE {'pk': 'USER#ada'"]),
        ("SELECT * FROM Shop WHERE sk = 'USER#", []),
        ("SELECT * FROM nothing WHERE pk = 'USER#", []),
    ],
)
def test_input_is_completed(names: Names, text: str, expected: list[str]) -> None:
    assert completed(text, names) == expected


def test_everything_that_can_begin_an_entry_is_offered(names: Names) -> None:
    offered = completed("", names)
    assert {"SELECT ", "tables ", "orders-of ", "add-order "} <= set(offered)


def test_readline_gets_the_part_after_the_last_space(names: Names) -> None:
    line = "SELECT * FROM Shop WHERE pk = 'USER#bob o"
    begin = line.rindex(" ") + 1
    assert to_matches("", line, begin, names) == ["o''hara'"]
    assert to_matches("", "WHERE", 0, names) == []


def test_earlier_lines_of_a_statement_are_taken_into_account(names: Names) -> None:
    pending, line = "SELECT *\nFROM Shop\n", "WHERE pk='USER#a"
    assert to_matches(pending, line, line.index(" ") + 1, names) == ["pk='USER#ada'"]


def test_keys_from_earlier_results_are_offered_too(names: Names) -> None:
    names.remember("Shop", [{"pk": {"S": "USER#zoe"}, "seen": {"N": "1"}}])
    assert completed("keys Shop USER#z", names) == ["keys Shop USER#zoe"]
    assert completed("SELECT * FROM Shop WHERE see", names) == ["SELECT * FROM Shop WHERE seen"]


class CountingExecutor:
    """An executor that counts its calls and may refuse all of them."""

    def __init__(self, inner: Any = None) -> None:
        self.inner, self.calls = inner, list[tuple[str, Any]]()

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        self.calls.append((operation, request.get("Limit")))
        if self.inner is None:
            raise ServiceError("no")
        return self.inner.execute(operation, request)


def test_a_table_is_sampled_only_once(tmp_path: Path) -> None:
    write_shop(tmp_path / "shop.db")
    with open_executor(tmp_path / "shop.db") as executor:
        counted = CountingExecutor(executor)
        names = Names(counted, [shop])
        assert counted.calls == []
        for _ in range(2):
            assert completed("keys Shop USER#a", names) == ["keys Shop USER#ada"]
        assert [call for call in counted.calls if call[0] == "Scan"] == [("Scan", 100)]


def test_declared_names_are_offered_if_the_database_refuses_requests() -> None:
    names = Names(CountingExecutor(), [shop])
    assert completed("SELECT * FROM ", names) == ["SELECT * FROM Shop"]
    assert completed("SELECT * FROM Shop.", names) == ["SELECT * FROM Shop.by_city"]
    assert completed("SELECT * FROM Shop WHERE tot", names) == ["SELECT * FROM Shop WHERE total"]
    assert completed("SELECT * FROM Shop WHERE pk = '", names) == []
