"""Tests of the shop, on an engine in memory: `pytest test_shop.py`."""

from __future__ import annotations

import pytest
import shop
from shop import Customer, Status

from keyfold import Store
from keyfold.errors import OutOfBounds, TransactionFailed, UniqueTaken
from keyfold.testing import OpenStore, Service


@pytest.fixture
def store(keyfold_store: OpenStore) -> Store:
    opened = keyfold_store(shop.table)
    shop.fill(opened)
    return opened


def test_every_pattern_can_run_without_a_scan() -> None:
    assert not any(pattern.explain().scans for pattern in shop.table.patterns.values())


def test_no_two_customers_have_the_same_email(store: Store) -> None:
    with pytest.raises(UniqueTaken) as taken:
        store.run(shop.register(Customer(customer="eve", name="Eve", email="ada@example.com")))
    assert taken.value.field == "email"


def test_an_order_takes_from_the_stock_and_empties_the_cart(store: Store) -> None:
    order = shop.buy(store, "ada", {"mug": 2, "tea": 1})
    mug = store.run(shop.product("mug"))
    assert mug is not None
    assert mug.stock == 38
    assert len(store.run(shop.cart_of("ada"))) == 0

    found = store.run(shop.order_with_lines(order))
    assert found is not None
    assert found.order.total == 2 * mug.price + found.lines[1].price
    assert [(line.sku, line.quantity) for line in found.lines] == [("mug", 2), ("tea", 1)]


def test_what_is_sold_out_cannot_be_ordered(store: Store) -> None:
    shop.buy(store, "ada", {"pot": 1})
    with pytest.raises(TransactionFailed) as failed:
        shop.buy(store, "ada", {"mug": 1, "pot": 1})
    [reason] = [each for each in failed.value.reasons if each is not None]
    assert isinstance(reason, OutOfBounds)
    assert [line.sku for line in store.run(shop.cart_of("ada"))] == ["mug", "pot"]


def test_the_latest_orders_come_with_the_customer_page_by_page(store: Store) -> None:
    orders = [shop.buy(store, "ada", {"mug": 1}) for _ in range(12)]
    found = store.run(shop.customer_with_orders("ada"))
    assert found is not None
    assert found.customer.name == "Ada King"
    assert [order.order for order in found.orders] == orders[:1:-1]
    rest = store.run(shop.more_orders("ada", found.cursor))
    assert [order.order for order in rest] == orders[1::-1]
    assert rest.cursor is None


def test_a_shipped_order_is_no_longer_open(store: Store) -> None:
    first, second = (shop.buy(store, "ada", {"mug": 1}) for _ in range(2))
    oldest, _ = store.run(shop.open_orders_of("delft"))
    assert oldest.order == first
    shipped = store.run(shop.ship(oldest, tracking="NL-1"))
    assert (shipped.status, shipped.open_since) == (Status.SHIPPED, None)
    assert [order.order for order in store.run(shop.open_orders_of("delft"))] == [second]


def test_a_cart_is_kept_for_a_week(store: Store, keyfold_dynamodb: Service) -> None:
    mug = store.run(shop.product("mug"))
    assert mug is not None
    for _ in range(3):
        store.run(shop.add_to_cart("ada", mug, 1))
    assert [line.quantity for line in store.run(shop.cart_of("ada"))] == [3]
    keyfold_dynamodb.clock.advance(8 * 24 * 3600)
    assert len(store.run(shop.cart_of("ada"))) == 0


def test_the_program_runs(capsys: pytest.CaptureFixture[str]) -> None:
    shop.main()
    assert "Latest orders of Ada King" in capsys.readouterr().out
