from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from rich.console import Console

from keyfold.cli.patterns import print_patterns
from keyfold.designs import exchange_rates, letsgo, market, pantry
from tests.unit.cli.program import Run
from tests.unit.cli.project import write_project

DESIGNS = {
    "exchange_rates": exchange_rates.table,
    "letsgo": letsgo.table,
    "market": market.table,
    "pantry": pantry.table,
}
MARKET_STARTS = f"Market  {len(market.table.patterns)} access patterns\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current directory; modules imported from it are unloaded after the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


@pytest.mark.parametrize("design", DESIGNS)
def test_the_patterns_of_a_design_are_listed_with_their_calls(run: Run, design: str) -> None:
    outcome = run("patterns", design)
    assert (outcome.code, outcome.err) == (0, "")
    table = DESIGNS[design]
    assert outcome.out.startswith(f"{table.name}  {len(table.patterns)} access patterns\n")
    assert max(map(len, outcome.out.splitlines())) <= 120
    tables = json.loads(run("patterns", design, "--json").out)["tables"]
    assert [(each["table"]) for each in tables] == [table.name]
    assert [each["name"] for each in tables[0]["patterns"]] == list(table.patterns)
    for each in tables[0]["patterns"]:
        explained = table.patterns[each["name"]].explain()
        assert each["requests"] == [
            {"operation": step.operation, "index": step.index, "key": step.key}
            for step in explained.steps
        ]
        assert (each["scans"], each["filters"]) == (explained.scans, explained.filters)
        assert each["round_trips"] == explained.round_trips
        assert each["lagging_indexes"] == list(explained.lagging_indexes)
        assert each["writes_after_lag"] is False, "a stale index must not decide what is written"
        assert each["description"]


def test_a_pattern_is_shown_with_its_parameters_and_types(run: Run) -> None:
    [table] = json.loads(run("patterns", "exchange-rates", "--json").out)["tables"]
    [save] = [each for each in table["patterns"] if each["name"] == "Save"]
    assert save["function"] == "save"
    assert save["parameters"] == [
        {"name": "rate", "type": "Rate (JSON)", "required": True},
        {"name": "ttl", "type": "timedelta", "required": True},
    ]
    [table] = json.loads(run("patterns", "LetsGo", "--json").out)["tables"]
    listed = {each["name"]: each["parameters"] for each in table["patterns"]}
    assert listed["put_item"] == [{"name": "item", "type": "AnyItem (JSON)", "required": True}]
    assert [each["name"] for each in listed["list_items"] if not each["required"]] == [
        "key_prefix",
        "limit",
        "next_token",
        "consistent",
    ]
    shown = run("patterns", "letsgo").out
    assert "[--key-prefix str]" in shown
    assert "filters" in run("patterns", "pantry").out
    pantry = run("patterns", "pantry").out
    assert "scans, filters, may lag (JoinLinkIndex)\n" in pantry
    assert "2 calls, may lag (UserGroupIndex)\n" in pantry


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("width", [40, 80])
def test_patterns_can_be_read_at_any_width(design: str, width: int) -> None:
    table = DESIGNS[design]
    shown = io.StringIO()
    print_patterns(Console(file=shown, width=width, highlight=False), table)
    lines = shown.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    assert not any(line.endswith(" ") for line in lines)
    text = " ".join(shown.getvalue().split())
    for pattern in table.patterns.values():
        assert pattern.name in text
        assert " ".join(pattern.description.split()) in text


def test_a_pipe_has_the_width_that_columns_says(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert max(map(len, run("patterns", "market").out.splitlines())) <= 60


@pytest.mark.parametrize("name", ["market", "keyfold.designs.market:table"])
def test_the_argument_and_the_option_name_tables_alike(run: Run, name: str) -> None:
    by_argument, by_option = run("patterns", name), run("patterns", "--table", name)
    assert by_argument == by_option
    assert by_argument.out.startswith(MARKET_STARTS)


def test_a_users_table_is_found_by_its_path(run: Run, folder: Path) -> None:
    path = write_project(folder, "shop_by_path")
    outcome = run("patterns", "--table", path)
    assert outcome.code == 0
    assert outcome.out.startswith("Shop_By_Path  5 access patterns\n")
    assert "pk = 'USER#{user}' and sk begins with 'ORDER#'" in " ".join(outcome.out.split())
    assert "[pattern-unexplained]" in outcome.out, "one takes no placeholder, and has no example"
    [table] = json.loads(run("patterns", "--table", path, "--json").out)["tables"]
    assert "unexplained" in table["patterns"][-1]


@pytest.mark.parametrize("setting", ['tables = ["shop_one:shop"]', 'table = "shop_one:shop"'])
def test_a_project_may_declare_its_tables(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    write_project(folder, "shop_one", settings=f"[tool.keyfold]\n{setting}\n")
    for arguments in ([], ["shop-one"]):
        outcome = run("patterns", *arguments)
        assert (outcome.code, outcome.err) == (0, "")
        assert outcome.out.startswith("Shop_One  5 access patterns\n")
    (folder / "deeper").mkdir()
    monkeypatch.chdir(folder / "deeper")
    assert run("patterns").out.startswith("Shop_One  5 access patterns\n")
    assert run("patterns", "market").out.startswith(MARKET_STARTS)


def test_a_project_may_have_several_tables(run: Run, folder: Path) -> None:
    write_project(folder, "shop_first")
    settings = '[tool.keyfold]\ntables = ["shop_first:shop", "shop_second:shop"]\n'
    write_project(folder, "shop_second", settings=settings)
    tables = json.loads(run("patterns", "--json").out)["tables"]
    assert [each["table"] for each in tables] == ["Shop_First", "Shop_Second"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name a design, exchange_rates, letsgo, market, pantry, or a table of your own"),
        (["markt"], "there is no table 'markt'; there are exchange_rates, letsgo, market, pantry."),
        (["market", "--table", "a:b"], "both name a table; give one of them."),
        (["--table", "shop"], "Invalid value for --table: there is no table 'shop'"),
        (["--table", ":shop"], "':shop' is not MODULE:NAME."),
        (["--table", "nowhere.at_all:shop"], "there is no module 'nowhere'"),
        (["--table", "shop_there:cart"], "shop_there has no table 'cart'; it has shop."),
    ],
)
def test_an_invalid_table_name_is_bad_usage(
    run: Run, folder: Path, arguments: list[str], message: str
) -> None:
    write_project(folder, "shop_there")
    outcome = run("patterns", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            "[tool.keyfold]\ntables = 7\n",
            "[tool.keyfold] tables must be a list of MODULE:NAME strings",
        ),
        ("[tool.keyfold\n", "it cannot be read"),
        ('[tool.keyfold]\ntables = ["nowhere_else:shop"]\n', "there is no module 'nowhere_else'"),
    ],
)
def test_invalid_project_settings_are_reported_with_the_file(
    run: Run, folder: Path, settings: str, message: str
) -> None:
    (folder / "pyproject.toml").write_text(settings, "utf-8")
    outcome = run("patterns")
    assert outcome.code == 2
    assert message in outcome.err
    assert "pyproject.toml" in outcome.err


def test_an_invalid_entry_is_reported_only_by_commands_that_need_it(run: Run, folder: Path) -> None:
    settings = '[tool.keyfold]\ntables = ["nowhere_at_all:shop", "shop_beside:shop"]\n'
    write_project(folder, "shop_beside", settings=settings)
    fact = "there is no module 'nowhere_at_all'"
    for name in ("market", "shop-beside"):
        outcome = run("patterns", name)
        assert (outcome.code, outcome.err) == (0, "")
    for arguments in ([], ["absent"]):
        outcome = run("patterns", *arguments)
        assert (outcome.code, outcome.out, fact in outcome.err) == (2, "", True)
    assert run("apply", "market", "--db", "market.db").code == 0
    command = ("run", "market", "bonuses", "--user", "ada", "--db", "market.db")
    assert (run(*command).code, run("patterns", "--table", "shop_beside:shop").code) == (0, 0)


def test_the_shell_reports_an_invalid_project_and_continues(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = '[tool.keyfold]\ntables = ["nowhere_at_all:shop", "shop_asked:shop"]\n'
    write_project(folder, "shop_asked", settings=settings)
    assert run("apply", "shop-asked", "--db", "shop.db").code == 0
    monkeypatch.setattr("sys.stdin", io.StringIO("tables\norders-of user=ada\n"))
    outcome = run("shell", "--db", "shop.db")
    assert (outcome.code, outcome.out.splitlines()[:2]) == (0, ["Shop_Asked", "Nothing found."])
    assert outcome.err.count("there is no module 'nowhere_at_all'") == 1


def test_one_pattern_is_counted_in_the_singular(run: Run, folder: Path) -> None:
    (folder / "shop_single.py").write_text(
        "from keyfold import Entity, Key, Query, Table, part\n"
        "shop = Table('Single', key=Key('pk'))\n"
        "class Order(Entity, table=shop, key='{number}'):\n"
        "    number: str = part()\n"
        "@shop.pattern('One')\n"
        "def one(number: str) -> Query[Order]:\n"
        "    return Order.query(number=number)\n",
        "utf-8",
    )
    outcome = run("patterns", "--table", "shop_single:shop")
    assert outcome.out.startswith("Single  1 access pattern\n")


def test_an_invalid_table_is_reported(run: Run, folder: Path) -> None:
    (folder / "expiring.py").write_text(
        """
from keyfold import Entity, Get, Key, Table

table = Table("Things", key=Key("pk"), ttl="expires")

class Thing(Entity, table=table, key="THING#{id}"):
    id: str

@table.pattern("Get")
def get(id: str) -> Get[Thing]:
    return Thing.get(id=id)
"""
    )
    outcome = run("patterns", "--table", "expiring:table")
    assert outcome.code == 2
    assert "Things: no entity has a field stored as 'expires', the ttl." in outcome.err
