from __future__ import annotations

import json
import sys
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import keyfold
from keyfold.cli._arguments import read_arguments
from keyfold.cli._tables import find_pattern
from keyfold.designs import exchange_rates, letsgo, market, pantry
from keyfold.designs.exchange_rates import Rate
from keyfold.designs.market import Cart, CartId, CartLine, OrderId, Product, ProductId, User
from keyfold.engine import Engine
from tests.unit.cli.program import Outcome, Run
from tests.unit.cli.project import write_project

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
RATES = [
    Rate(base="USD", target=target, rate=Decimal(rate), at=NOW)
    for target, rate in (("EUR", "0.85"), ("GBP", "0.75"), ("JPY", "150.123456789012345678"))
]
APPLE = ProductId("I#01JZ10H7X367VB2NF4YQ973DHW")
APPLES = Product(user="eve", product=APPLE, name="Apple", price=Decimal("0.3"))
ORDER = OrderId("O#01JZ10H7X367VB2NF4YQ973DHW")
CART = Cart(
    user="rabinovich",
    cart=CartId("C#01JZ10H7X367VB2NF4YQ973DHV"),
    lines={APPLE: CartLine(seller="eve", quantity=3)},
)


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a database with items of two designs; commands use it by default."""
    file = tmp_path / "demo.db"
    with keyfold.open([exchange_rates.table, market.table], file) as store:
        for rate in RATES:
            store.run(rate.put())
        store.run(User(user="rabinovich", name="Rabinovich").create())
        store.run(APPLES.create())
        store.run(CART.create())
        store.run(market.place_order(CART, ORDER, "2025-1"))
    monkeypatch.setenv("KEYFOLD_DB", str(file))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return file


def answer_of(outcome: Outcome) -> Any:
    assert (outcome.code, outcome.err) == (0, "")
    return json.loads(outcome.out, parse_float=Decimal)["answer"]


# Reads.


def test_an_entity_is_shown_with_what_it_cost(run: Run, db: Path) -> None:
    outcome = run("run", "exchange_rates", "Get", "--base", "USD", "--target", "EUR")
    assert (outcome.code, outcome.err) == (0, "")
    lines = [" ".join(line.split()) for line in outcome.out.splitlines()]
    assert lines[:5] == [
        "Rate",
        "base USD",
        "target EUR",
        "rate 0.85",
        "at 2026-01-31T12:00:00+00:00",
    ]
    assert "GetItem: PK = RATE#USD#EUR" in lines
    assert lines[-1].startswith("1 item, 0.5 capacity units, ")


def test_json_has_every_digit_and_every_call(run: Run, db: Path) -> None:
    outcome = run("run", "exchange_rates", "Get", "--base", "USD", "--target=JPY", "--json")
    result = json.loads(outcome.out, parse_float=Decimal)
    assert result["pattern"] == "Get"
    assert result["answer"]["rate"] == Decimal("150.123456789012345678")
    assert result["next"] is None
    assert result["capacity_units"] == Decimal("0.5")
    [call] = result["calls"]
    assert (call["operation"], call["index"]) == ("GetItem", None)
    assert call["key"] == "PK = 'RATE#USD#JPY'"


def test_nothing_found_exits_with_one(run: Run, db: Path) -> None:
    outcome = run("run", "exchange_rates", "Get", "--base", "USD", "--target", "XXX")
    assert (outcome.code, outcome.err) == (1, "")
    assert outcome.out.startswith("Nothing found.\n")
    outcome = run("run", "exchange_rates", "GetByBase", "--base", "XXX")
    assert outcome.code == 0, "an empty list is a result"
    assert outcome.out.startswith("Nothing found.\n")


def test_a_query_continues_after_a_page(run: Run, db: Path) -> None:
    command = ("run", "exchange_rates", "get-by-base", "--base", "USD")
    assert len(answer_of(run(*command, "--json"))) == 3
    first = json.loads(run(*command, "--limit", 2, "--json").out)
    second = json.loads(run(*command, "--limit", 2, "--next", first["next"], "--json").out)
    assert second["next"] is None
    targets = {each["target"] for page in (first, second) for each in page["answer"]}
    assert (len(first["answer"]), targets) == (2, {"EUR", "GBP", "JPY"})
    shown = run(*command, "--limit", 2)
    assert shown.code == 0
    assert shown.err.startswith("There are more items: --next ")


def test_a_limit_is_the_pattern_s_own_where_it_has_one(run: Run, db: Path) -> None:
    with keyfold.open(letsgo.table, db) as store:
        for number in range(3):
            store.run(letsgo.put_item(letsgo.AnyItem.of("memo", f"{number}")))
    command = ("run", "letsgo", "list-items", "--category", "memo", "--limit", 2, "--json")
    first = json.loads(run(*command).out)
    assert [each["key"] for each in first["answer"]] == ["0", "1"]
    second = json.loads(run(*command, "--next", first["next"]).out)
    assert [each["key"] for each in second["answer"]] == ["2"]


def test_patterns_that_are_not_queries_have_no_pages(run: Run, db: Path) -> None:
    command = ("run", "exchange_rates", "Get", "--base", "USD", "--target", "EUR")
    for option in ("--limit", "--next"):
        outcome = run(*command, option, "1")
        assert outcome.code == 2
        assert (
            f"Invalid value for {option}: the pattern is not a query, so it has no pages."
            in outcome.err
        )


def test_each_member_of_a_collection_is_shown(run: Run, db: Path) -> None:
    outcome = run("run", "market", "order_by_id", "--id", "2025-1")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert lines[0] == "order"
    assert lines[lines.index("lines") + 1].split()[:3] == ["user", "order", "line"]
    result = answer_of(run("run", "market", "order_by_id", "--id", "2025-1", "--json"))
    assert result["order"]["total"] == Decimal("0.9")
    assert [line["name"] for line in result["lines"]] == ["Apple"]


def test_entities_of_several_types_are_shown_by_type(run: Run, db: Path, tmp_path: Path) -> None:
    path = write_project(tmp_path, "shop_mixed")
    module_file = tmp_path / "shop_mixed.py"
    module_file.write_text(
        module_file.read_text("utf-8")
        + "\n\nclass User(Entity, table=shop, key=('USER#{user}', 'USER')):\n"
        "    user: str = part()\n    name: str\n\n\n"
        "@shop.pattern('All')\ndef everything() -> Scan:\n    return shop.scan()\n",
        "utf-8",
    )
    sys.path.insert(0, str(tmp_path))
    module = __import__("shop_mixed")
    with keyfold.open(module.shop, db) as store:
        store.run(module.User(user="ada", name="Ada").put())
        store.run(module.Order(user="ada", number=1, total=Decimal(5)).put())
    with Engine.open(db) as engine:
        odd = {"pk": {"S": "odd"}, "sk": {"S": "odd"}}
        engine.execute("PutItem", {"TableName": "Shop_Mixed", "Item": odd})
    outcome = run("run", "--table", path, "All")
    assert outcome.code == 0
    assert {"User", "Order", "Invalid: 1 item"} < set(outcome.out.splitlines())
    assert "its key matches no entity of the table" in outcome.out
    assert "note" not in outcome.out, "an empty column is left out"
    told = run("run", "--table", path, "All", "--json")
    assert {"user": "ada", "name": "Ada"} in answer_of(told)
    [invalid] = json.loads(told.out)["invalid"]
    assert invalid["reason"] == "its key matches no entity of the table"
    limited = run("run", "--table", path, "All", "--limit", "1", "--json")
    assert len(json.loads(limited.out)["invalid"]) <= 1


def test_a_count_is_a_number(run: Run, db: Path, tmp_path: Path) -> None:
    path = write_project(tmp_path, "shop_counted")
    assert run("apply", "--table", path).code == 0
    outcome = run("run", "--table", path, "how-many", "--user", "ada")
    assert outcome.code == 0
    assert outcome.out.startswith("0\n")


# Writes.


def test_a_write_takes_entities_as_json_and_durations_as_iso_8601_or_seconds(
    run: Run, db: Path
) -> None:
    rate = '{"base": "USD", "target": "CHF", "rate": 0.8850, "at": "2026-01-31T12:00:00Z"}'
    for ttl in ("P1D", "86400", "1 day", "24h", "1d"):
        saved = answer_of(
            run("run", "exchange_rates", "save", "--rate", rate, "--ttl", ttl, "--json")
        )
        assert saved["rate"] == Decimal("0.885")
    with keyfold.open(exchange_rates.table, db) as store:
        found = store.run(exchange_rates.get("USD", "CHF"))
    assert found is not None
    assert (found.rate, found.at) == (Decimal("0.885"), NOW)


def test_a_write_creates_the_file(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "new.db"
    command = ("run", "pantry", "GetCategories", "--db", file)
    missing = run(*command)
    assert (missing.code, missing.out) == (2, "")
    assert "[file-unreachable]" in missing.err
    assert not file.exists()
    names = '["Dairy", "Fruit"]'
    assert run("run", "pantry", "set-categories", "--names", names, "--db", file).code == 0
    assert answer_of(run(*command, "--json")) == {
        "categories": [{"name": "Dairy"}, {"name": "Fruit"}]
    }


def test_a_condition_that_does_not_hold_exits_with_one(run: Run, db: Path) -> None:
    command = ("run", "exchange_rates", "mark-stale", "--base", "USD", "--target", "XXX")
    outcome = run(*command)
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.endswith("it does not exist. [not-found]\n")
    result = json.loads(run(*command, "--json").out)
    assert result["error"]["code"] == "not-found"
    cart = CART.model_dump_json()
    outcome = run("run", "market", "place-order", "--cart", cart, "--order", ORDER, "--id", "9")
    assert outcome.code == 1
    assert "[transaction-failed]" in outcome.err


def test_a_write_that_returns_nothing_reports_done(run: Run, db: Path) -> None:
    outcome = run("run", "exchange_rates", "delete", "--base", "USD", "--target", "XXX")
    assert outcome.code == 0
    assert outcome.out.startswith("Done.\n")


# Finding the pattern.


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Get user profile", "Get user profile"),
        ("get USER profile", "Get user profile"),
        ("get-user-p", "Get user profile"),
        ("user_profile", "Get user profile"),
        ("user-prof", "Get user profile"),
        ("last", "Get the list of last N orders for user"),
        ("Display", "Display bonuses for user"),
        ("bonuses", "Display bonuses for user"),
        ("orders-between", "Orders between two dates"),
    ],
)
def test_a_pattern_is_found_by_its_name_its_function_or_a_prefix(text: str, name: str) -> None:
    table, pattern = find_pattern([market.table, pantry.table], text)
    assert (table, pattern.name) == (market.table, name)


def test_an_exact_name_is_preferred_to_a_prefix() -> None:
    assert find_pattern([exchange_rates.table], "get")[1].name == "Get"
    assert find_pattern([exchange_rates.table], "getby")[1].name == "GetByBase"


def test_words_of_a_pattern_need_no_quotes(run: Run, db: Path) -> None:
    result = answer_of(run("run", "market", "Get", "user", "--user", "rabinovich", "--json"))
    assert result["user"]["name"] == "Rabinovich"


def test_patterns_of_a_project_need_no_table_option(run: Run, db: Path, tmp_path: Path) -> None:
    settings = '[tool.keyfold]\ntables = ["shop_ours:shop"]\n'
    write_project(tmp_path, "shop_ours", settings=settings)
    assert run("apply").code == 0
    for words in (["orders-of", "--user", "ada"], ["shop_ours", "orders-of", "--user", "ada"]):
        assert answer_of(run("run", *words, "--json")) == []
    assert answer_of(run("run", "orders", "of", "all", "--json")) == []
    assert answer_of(run("run", "market", "bonuses", "--user", "ada", "--json")) == []


def test_a_parameter_named_like_an_option_is_given_after_a_lone_dash(
    run: Run, db: Path, tmp_path: Path
) -> None:
    path = write_project(tmp_path, "shop_odd")
    assert run("apply", "--table", path).code == 0
    command = ("run", "--table", path, "odd", "--json", "--", "--db", "a", "--table", "b")
    result = json.loads(run(*command).out)
    assert result["calls"][0]["key"] == "pk = 'USER#ab' AND begins_with(sk, 'ORDER#')"


# Bad usage.

MARKET = ("run", "market")
RATE = ("run", "exchange_rates")


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        (["run"], ["TABLE"]),
        (["run", "markt", "bonuses"], ["there is no table 'markt'; there are exchange_rates"]),
        ([*MARKET], ["name a pattern. There are:", "  Get user profile\n"]),
        ([*MARKET, "nothing"], ["Market has no pattern 'nothing'. There are:", "  Grant a reward"]),
        ([*MARKET, "get"], ["'get' could be any of these", "  Get user profile\n"]),
        (
            [*MARKET, "bonuses"],
            ["Error: Missing --user: pattern 'Display bonuses for user' takes --user str.\n"],
        ),
        (
            [*MARKET, "bonuses", "--usr", "x"],
            ["--usr", "'Display bonuses for user' has no such parameter; it takes --user str."],
        ),
        ([*MARKET, "bonuses", "--user"], ["--user: it needs a value."]),
        ([*MARKET, "bonuses", "--user", "a", "b"], ["'b' is not a parameter"]),
        ([*MARKET, "last-orders", "--user", "a", "--count", "two"], ["--count", "valid integer"]),
        (
            [*MARKET, "last-orders", "--user", "a", "--count", "0"],
            ["Invalid value for --count: pattern 'Get the", "limit(): got 0.", "[query-invalid]"],
        ),
        (
            [*RATE, "Get", "--base", "usd", "--target", "EUR"],
            ["--base: 'usd' is not valid for type str"],
        ),
        (
            [*RATE, "save", "--rate", '{"base": "USD"}', "--ttl", "PT1H"],
            ["--rate", "target: Field required; rate: Field required"],
        ),
        ([*RATE, "save", "--rate", "{", "--ttl", "PT1H"], ["--rate", "for type Rate (JSON)"]),
        ([*MARKET, "find_by_key", "--key", "U#x", "--db", "gopher://x"], ["[url-unknown]"]),
    ],
)
def test_bad_usage_lists_the_choices(
    run: Run, db: Path, arguments: list[str], messages: list[str]
) -> None:
    outcome = run(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    for message in messages:
        assert message in outcome.err


def test_a_database_has_to_be_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KEYFOLD_DB", raising=False)
    outcome = run("run", "market", "bonuses", "--user", "x")
    assert outcome.code == 2
    assert "--db" in outcome.err


# Arguments as text.


def test_texts_are_parsed_by_the_type_of_the_parameter() -> None:
    between = market.table.patterns["Orders between two dates"]
    words = ["--user", "123", "--since", "2026-01-31", "--until=2026-01-31T12:00+00:00"]
    assert read_arguments(between, words) == {
        "user": "123",
        "since": datetime(2026, 1, 31, tzinfo=UTC),
        "until": NOW,
    }
    placed = market.table.patterns["Place an order"]
    words = [
        "--cart",
        CART.model_dump_json(),
        "--order",
        ORDER,
        "--id",
        "{}",
        "--ttl",
        "2026-01-31",
    ]
    assert read_arguments(placed, words) == {
        "cart": CART,
        "order": ORDER,
        "id": "{}",
        "ttl": datetime(2026, 1, 31, tzinfo=UTC),
    }
    listed = letsgo.table.patterns["list_items"]
    words = ["--category", "a", "--consistent", "--key_prefix", "/b/"]
    assert read_arguments(listed, words) == {
        "category": "a",
        "consistent": True,
        "key_prefix": "/b/",
    }
    words = ["--category", "a", "--consistent", "false"]
    assert read_arguments(listed, words) == {"category": "a", "consistent": False}


def test_an_open_parameter_type_is_taken_from_the_example() -> None:
    put = letsgo.table.patterns["put_item"]
    item = {"category": "note", "key": "1", "stars": 4.50}
    read = read_arguments(put, ["--item", json.dumps(item)])
    assert read == {"item": letsgo.AnyItem.of("note", "1", stars=Decimal("4.5"))}


def test_a_pattern_runs_as_of_a_given_time(run: Run, tmp_path: Path) -> None:
    db = tmp_path / "rates.db"
    start = datetime(2024, 1, 1, tzinfo=UTC)
    rate = Rate(
        base="USD", target="EUR", rate=Decimal("0.85"), at=start, expires=start + timedelta(days=1)
    )
    with keyfold.open(exchange_rates.table, db, upkeep_seconds=None) as store:
        store.run(rate.put())
    command = ("run", "exchange_rates", "Get", "--base", "USD", "--target", "EUR", "--db", db)
    assert run(*command, "--now", "2024-01-01T12:00Z").code == 0
    assert run(*command, "--now", "2024-01-02T00:00Z").code == 1
    assert run(*command).code == 1
    stale = run("run", "exchange_rates", "GetStale", *command[3:], "--json")
    assert json.loads(stale.out)["answer"]["stale"] is True
    save = ("--rate", '{"base": "USD", "target": "CHF", "rate": 0.9, "at": "2024-01-01T12:00Z"}')
    at_noon = ("--ttl", "1h", "--now", "2024-01-01T12:00Z", "--db", db, "--json")
    saved = run("run", "exchange_rates", "Save", *save, *at_noon)
    assert json.loads(saved.out)["answer"]["expires"] == "2024-01-01T13:00:00+00:00"
    refused = run(*command, "--now", "noon")
    assert refused.code == 2
    assert "'noon' is not a time" in refused.err
