"""The rows of the design documents are loaded as they stand, and found by the designs' patterns."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import pytest

import keyfold
from keyfold import Store, Table
from keyfold.connect import open_executor
from keyfold.designs import exchange_rates, letsgo, market, pantry
from keyfold.designs.letsgo import shop
from keyfold.designs.market import OrderId
from keyfold.errors import ResourceNotFoundException
from tests.transports import Transport, new_cursor_key
from tests.unit.cli.program import Run

SEEDS = Path(__file__).parents[2] / "seeds"
TABLES = (exchange_rates.table, pantry.table, letsgo.table, market.table)
NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


@contextmanager
def open_at(table: Table, url: str, time: datetime = NOON) -> Generator[Store]:
    """Yield a store whose clock shows a time, when the rows had not expired."""
    with keyfold.open(table, url, clock=time.timestamp, cursor_key=new_cursor_key()) as store:
        yield store


@pytest.fixture
def db(url: str, transport: Transport) -> Iterator[str]:
    """Yield the URL of a database without the designs' tables, which is left without them."""
    drop_tables(url, transport)
    yield url
    drop_tables(url, transport)


def drop_tables(url: str, transport: Transport) -> None:
    if transport.kind == "foreign":
        with open_executor(url) as database:
            for table in TABLES:
                with suppress(ResourceNotFoundException):
                    database.execute("DeleteTable", {"TableName": table.name})


def load(run: Run, tmp_path: Path, db: str, table: str, files: Sequence[str], *more: str) -> int:
    """Load files by the command, without rejects; return the number of items."""
    loaded = 0
    for number, name in enumerate(files):
        file = tmp_path / f"{number}-{Path(name).name}"
        file.write_bytes((SEEDS / name).read_bytes())
        options = [*more, *(["--merge"] if number else []), "--create", "--json"]
        outcome = run("load", file, "--db", db, "--table", table, *options)
        assert outcome.code == 0, outcome
        loaded += json.loads(outcome.out)["tables"][0]["items"]
    return loaded


# Exchange rates.


@pytest.mark.parametrize("name", ["items.json", "items.jsonl", "printed.json"])
def test_exchange_rates_are_found(run: Run, db: str, tmp_path: Path, name: str) -> None:
    assert load(run, tmp_path, db, "exchange_rates", [f"exchange_rates/{name}"]) == 3
    rates = {("USD", "EUR"): "0.85", ("USD", "GBP"): "0.75", ("EUR", "GBP"): "0.88"}
    at, expires = (datetime(2024, 1, day, tzinfo=UTC) for day in (1, 2))
    with open_at(exchange_rates.table, db) as store:
        for (base, target), rate in rates.items():
            wanted = exchange_rates.Rate(
                base=base, target=target, rate=Decimal(rate), at=at, expires=expires
            )
            assert store.run(exchange_rates.get(base, target)) == wanted
            assert store.run(exchange_rates.get_stale(base, target)) == wanted
        for base, count in (("USD", 2), ("EUR", 1), ("GBP", 0)):
            found = store.run_until(
                exchange_rates.get_by_base(base), lambda page, count=count: len(page) == count
            )
            assert {(each.base, each.target) for each in found} == {
                pair for pair in rates if pair[0] == base
            }
    with open_at(exchange_rates.table, db, datetime(2024, 1, 3, tzinfo=UTC)) as store:
        for base, target in rates:
            assert store.run(exchange_rates.get(base, target)) is None
            stale = store.run(exchange_rates.get_stale(base, target))
            assert stale is not None
            assert stale.stale
        assert not list(store.run(exchange_rates.get_by_base("USD")))


# Pantry.

PANTRY = [f"pantry/{name}" for name in ("rows.json", "variants.jsonl", "groups.jsonl")]
ADA, BOB = (
    UUID("3f0e7c1a-5a55-4c0e-9f3a-1d2b6c7e8f90"),
    UUID("9d5b3f57-6c0f-4f0b-8a68-3c1f5e2d7a41"),
)
HOME, OFFICE = (
    UUID("7b1d2c3e-8f4a-4b6c-a5d7-0e9f8a7b6c5d"),
    UUID("1c9e6a2f-3b7d-4e58-b0a4-5f8d2c6e9b13"),
)
FRIDGE, LARDER = (
    UUID("c4a8f1e2-6d3b-4e5f-8a9c-2b1d0e3f4a5b"),
    UUID("e6f2b9d4-0a1c-4d7e-93b5-8c7a6f5e4d32"),
)


@pytest.mark.parametrize("is_as_is", [False, True])
def test_rows_of_the_pantry_are_found(run: Run, db: str, tmp_path: Path, is_as_is: bool) -> None:
    """As loaded, and after a backfill of what was loaded as it is."""
    more = ["--as-is"] if is_as_is else []
    assert load(run, tmp_path, db, "pantry", PANTRY, *more) == 17
    if is_as_is:
        with open_at(pantry.table, db) as store:
            check_primary_keys(store)
        files = ("--rejects", tmp_path / "rejects", "--checkpoint", tmp_path / "checkpoint")
        done = run("backfill", "pantry", "--db", db, *files)
        assert done.code == 0, done
    with open_at(pantry.table, db) as store:
        check_primary_keys(store)
        for group, users in ((HOME, {"Ada"}), (OFFICE, {"Ada", "Bob"})):
            found = store.run_until(
                pantry.list_of_users(group), lambda found, users=users: len(found) == len(users)
            )
            assert {user.name for user in found if user is not None} == users


def check_primary_keys(store: Store) -> None:
    """Check all that is found without an index."""
    user = store.run(pantry.get_user(ADA))
    assert user == pantry.User(user=ADA, name="Ada", email="ada@example.com")
    groups = {each.group for each in store.run(pantry.list_of_users_group(ADA))}
    assert groups == {HOME, OFFICE}
    for number, users in ((HOME, {ADA}), (OFFICE, {ADA, BOB})):
        group = store.run(pantry.get_group(number))
        assert group is not None
        assert set(group.users) == users
    for number in range(1, 5):
        group = store.run(pantry.get_group(UUID(f"00000000-0000-4000-8000-{number:012}")))
        assert group is not None
        assert set(group.users) == {ADA, BOB}
    for group, container in ((HOME, FRIDGE), (OFFICE, LARDER)):
        [found] = store.run(pantry.list_of_containers(group))
        assert found.container == container
    fridge, larder = (store.run(pantry.get_container(each)) for each in (FRIDGE, LARDER))
    assert fridge is not None
    assert {(food.name, food.quantity) for food in fridge.foods.values()} == {
        ("Milk", Decimal("1.5")),
        (None, None),
    }
    assert larder is not None
    assert (larder.name, larder.foods) == ("Larder", {})
    categories = store.run(pantry.get_categories())
    assert categories is not None
    assert [each.name for each in categories.categories] == ["Dairy", "Grain"]


@pytest.mark.parametrize("more", [[], ["--as-is"]])
def test_members_of_the_documents_groups_change(
    run: Run, db: str, tmp_path: Path, more: list[str]
) -> None:
    load(run, tmp_path, db, "pantry", PANTRY, *more)
    with open_at(pantry.table, db) as store:
        store.run(pantry.add_member(HOME, BOB))
        store.run(pantry.remove_member(HOME, ADA))
        store.run(pantry.remove_member(OFFICE, ADA))
        for number in (HOME, OFFICE):
            group = store.run(pantry.get_group(number))
            assert group is not None
            assert set(group.users) == {BOB}
        assert not list(store.run(pantry.list_of_users_group(ADA)))


@pytest.mark.parametrize("more", [[], ["--as-is"]])
def test_join_links_are_found_in_every_spelling(
    run: Run, db: str, tmp_path: Path, more: list[str]
) -> None:
    files = ["pantry/rows.json", "pantry/join_links.jsonl"]
    assert load(run, tmp_path, db, "pantry", files, *more) == 12
    expiries = [
        datetime(2024, 1, 1, 0, 0, tzinfo=UTC),
        datetime(2024, 1, 1, 3, 0, 0, 500_000, tzinfo=UTC),
        datetime(2024, 1, 1, 9, 45, 30, 123_456, tzinfo=UTC),
        datetime(2024, 1, 1, 10, 0, tzinfo=UTC),
        datetime(2024, 1, 1, 11, 0, 0, 123_456, tzinfo=UTC),
        datetime(2024, 1, 3, 0, 0, tzinfo=UTC),
    ]
    for day, count in ((1, 5), (3, 6)):
        with open_at(pantry.table, db, datetime(2024, 1, day, 12, tzinfo=UTC)) as store:
            links = store.run_until(
                pantry.list_of_expired_join_links(), lambda found, count=count: len(found) == count
            )
            assert not links.invalid
            assert sorted(link.expires for link in links) == expiries[:count]
            of_group = store.run(pantry.list_of_expired_join_links_of_group(HOME))
            assert sorted(link.expires for link in of_group) == expiries[:count]


# LetsGo.


def test_items_of_letsgo_are_found(run: Run, db: str, tmp_path: Path) -> None:
    assert load(run, tmp_path, db, "keyfold.designs.letsgo.shop:table", ["letsgo/items.jsonl"]) == 4
    with open_at(letsgo.table, db) as store:
        customer = store.run(letsgo.get_item("customers", "customer-123"))
        assert customer == shop.Customer(customer_id="customer-123")
        orders = [shop.Order(order_id=each) for each in ("order-123", "order-456")]
        assert list(store.run(letsgo.list_items("orders"))) == orders
        [found] = store.run(letsgo.list_items("customer-order", "/customer-123/"))
        assert found == shop.CustomerOrder(customer_id="customer-123", order_id="order-456")
        assert list(store.run(shop.orders_of_customer("customer-123"))) == [orders[1]]
        assert not list(store.run(letsgo.list_items("customer-order", "/customer-1/")))


# Market.


def test_orders_of_the_market_are_found(run: Run, db: str, tmp_path: Path) -> None:
    assert load(run, tmp_path, db, "market", ["market/orders.jsonl"]) == 6
    first, second = (OrderId(f"O#01JZ10H7X367VB2NF4YQ973D{end}") for end in ("HW", "XZ"))
    with open_at(market.table, db) as store:
        newest = list(store.run(market.last_orders("rabinovich", 5)))
        assert [order.order for order in newest] == [second, first]
        assert [order.order for order in store.run(market.last_orders("rabinovich", 1))] == [second]
        for order, lines in ((first, 3), (second, 1)):
            whole = store.run(market.OrderWithLines.get(user="rabinovich", order=order))
            assert whole is not None
            assert [line.line for line in whole.lines] == list(range(1, lines + 1))
            assert store.run_until(market.find_by_key(str(order)), bool) == whole.order
            line = store.run_until(market.find_by_key(f"{order}#001"), bool)
            assert line == whole.lines[0]
        since, until = first.time, second.time
        between = store.run(market.orders_between("rabinovich", since, until))
        assert [order.order for order in between] == [first, second]


def test_rows_of_every_shard_of_the_market_are_found(run: Run, db: str, tmp_path: Path) -> None:
    files = [f"market/{name}.jsonl" for name in ("orders", "shards", "system_keys")]
    assert load(run, tmp_path, db, "market", files) == 13
    with open_at(market.table, db) as store:
        for user in ("rabinovich", "550e8400-e29b-41d4-a716-446655440000"):
            profile = store.run(market.user_profile(user))
            assert profile is not None
            assert (profile.user.user, profile.user.name) == (user, None)
            assert store.run_until(market.find_by_key(f"U#{user}"), bool) == profile.user
            [bonus] = store.run(market.bonuses(user))
            assert bonus.amount is None
            assert store.run_until(market.find_by_key(str(bonus.reward)), bool) == bonus
        [product] = store.run(market.products_of("rabinovich"))
        assert (product.product, product.price) == ("I#01JZ10H7X367VB2NF4YQ973DHW", None)
        account = store.run_until(market.find_by_key("A#01JZ10H7X367VB2NF4YQ973DHW"), bool)
        assert isinstance(account, market.Account)
        order = store.run_until(market.find_by_key("O#01JZ10H7X367VB2NF4YQ973DHX"), bool)
        assert isinstance(order, market.Order)
        assert [order] == list(store.run(market.last_orders(order.user, 5)))
