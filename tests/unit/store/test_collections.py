"""Collections with a limit, an order and a range: still one query, on both stores."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from keyfold.errors import CursorInvalid, FieldUnknown, PatternFailed, QueryInvalid
from keyfold.model import Collection, Entity, Expiry, Index, Key, Table, attr, now, part
from keyfold.requests import CollectionGet
from keyfold.testing import Clock
from tests.unit.store.store_kinds import AnyStore, OpenStore

by_city = Index("ByCity", key=Key("city_pk", "city_sk"))
shop = Table("CollectedShop", key=Key("pk", "sk"), indexes=[by_city], ttl="ttl")


class Customer(
    Entity,
    table=shop,
    key=("C#{customer}", "PROFILE"),
    indexes={by_city: ("CITY#{city}", "#CUSTOMER#{customer}")},
):
    customer: str = part()
    city: str = "Rome"


class Purchase(
    Entity,
    table=shop,
    key=("C#{customer}", "#ORDER#{number:04}"),
    indexes={by_city: ("CITY#{city}", "#ORDER#{number:04}")},
):
    customer: str = part()
    number: int = part()
    city: str = "Rome"
    expires: Expiry | None = attr("ttl", default=None)


class Refund(Entity, table=shop, key=("C#{customer}", "#REFUND#{number:04}")):
    customer: str = part()
    number: int = part()


# Sorts after the profile, so no query from the profile to the orders reads it.
class Wish(Entity, table=shop, key=("C#{customer}", "WISH#{number:04}")):
    customer: str = part()
    number: int = part()


# Sorts between the orders and the profile.
class Address(Entity, table=shop, key=("C#{customer}", "ADDRESS#{number:04}")):
    customer: str = part()
    number: int = part()


class CustomerWithOrders(Collection):
    customer: Customer
    orders: list[Purchase]


class CustomerMaybe(Collection):
    customer: Customer | None
    orders: list[Purchase]


class Movements(Collection):
    orders: list[Purchase]
    refunds: list[Refund]


class CustomerMovements(Collection):
    customer: Customer
    orders: list[Purchase]
    refunds: list[Refund]


class CustomerWithWishes(Collection):
    customer: Customer
    wishes: list[Wish]


class Alone(Collection):
    customer: Customer


@pytest.fixture
def store(open_store: OpenStore) -> AnyStore:
    store = open_store(shop)
    store.run(Customer(customer="ada").put())
    for number in range(1, 21):
        store.run(Purchase(customer="ada", number=number).put())
    for number in range(1, 4):
        store.run(Refund(customer="ada", number=number).put())
        store.run(Wish(customer="ada", number=number).put())
        store.run(Address(customer="ada", number=number).put())
    store.run(Purchase(customer="bob", number=1, city="Oslo").put())
    store.calls.clear()
    return store


def numbers(entities: Any) -> list[int]:
    return [each.number for each in entities]


def test_a_customer_and_the_last_ten_orders_are_one_query(store: AnyStore) -> None:
    found = store.run(CustomerWithOrders.get(customer="ada").descending().limit(10))
    assert found is not None
    assert isinstance(found, CustomerWithOrders)
    assert found.customer == Customer(customer="ada")
    assert numbers(found.orders) == list(range(20, 10, -1))
    # Addresses and refunds are between them, so a second call continues the query.
    assert {call.operation for call in store.calls} == {"Query"}
    assert store.calls[0].request["KeyConditionExpression"].count("BETWEEN") == 1


def test_one_call_is_enough_if_nothing_is_in_between(store: AnyStore) -> None:
    request = CustomerWithWishes.get(customer="ada").limit(2)
    found = store.run(request)
    assert found is not None
    assert numbers(found.wishes) == [1, 2]
    [call] = store.calls
    assert call.request["Limit"] == 3


def test_the_order_of_methods_does_not_matter(store: AnyStore) -> None:
    whole = CustomerWithOrders.get(customer="ada")
    assert whole.limit(3).descending() == whole.descending().limit(3)
    found = store.run(whole.limit(3).descending())
    assert found is not None
    assert numbers(found.orders) == [20, 19, 18]


def test_without_a_limit_all_are_read_in_either_order(store: AnyStore) -> None:
    whole = CustomerWithOrders.get(customer="ada")
    for request, expected in ((whole, range(1, 21)), (whole.descending(), range(20, 0, -1))):
        found = store.run(request)
        assert found is not None
        assert found.cursor is None
        assert numbers(found.orders) == list(expected)


def test_the_cursor_continues_the_query_of_the_list(store: AnyStore) -> None:
    found = store.run(CustomerWithOrders.get(customer="ada").descending().limit(15))
    assert found is not None
    assert found.cursor is not None
    following = Purchase.query(customer="ada").descending()
    page = store.run(following.limit(3).after(found.cursor))
    assert numbers(page) == [5, 4, 3]
    assert numbers(store.run(following.after(page.cursor))) == [2, 1]
    with pytest.raises(CursorInvalid):
        store.run(Purchase.query(customer="ada").after(found.cursor))


def test_the_last_page_has_no_cursor(store: AnyStore) -> None:
    found = store.run(CustomerWithOrders.get(customer="ada").descending().limit(20))
    assert found is not None
    assert (len(found.orders), found.cursor) == (20, None)
    found = store.run(CustomerWithOrders.get(customer="ada").descending().limit(99))
    assert found is not None
    assert (len(found.orders), found.cursor) == (20, None)


def test_a_cursor_is_not_part_of_a_collections_value(store: AnyStore) -> None:
    request = CustomerWithOrders.get(customer="ada").descending().limit(3)
    one, other = store.run(request), store.run(request)
    assert one is not None
    assert other is not None
    assert one == other
    assert "cursor" not in repr(one)
    assert set(one.model_dump()) == {"customer", "orders"}
    assert pickle.loads(pickle.dumps(one)).cursor == one.cursor
    assert one.model_copy().cursor == one.cursor


def test_a_collection_of_lists_alone_continues_itself(store: AnyStore) -> None:
    request = Movements.get(customer="ada").limit(18)
    first = store.run(request)
    assert first is not None
    second = store.run(request.after(first.cursor))
    assert second is not None
    assert numbers(first.orders) + numbers(second.orders) == list(range(1, 21))
    assert numbers(second.refunds) == [1, 2, 3]
    assert second.cursor is None


def test_the_lists_of_a_collection_with_a_single_member_continue_alone(store: AnyStore) -> None:
    found = store.run(CustomerMovements.get(customer="ada").descending().limit(5))
    assert found is not None
    assert (numbers(found.refunds), numbers(found.orders)) == ([3, 2, 1], [20, 19])
    following = store.run(Movements.get(customer="ada").descending().limit(2).after(found.cursor))
    assert following is not None
    assert numbers(following.orders) == [18, 17]


def test_a_missing_customer_is_none_and_an_optional_one_is_left_out(store: AnyStore) -> None:
    assert store.run(CustomerWithOrders.get(customer="bob").descending().limit(5)) is None
    found = store.run(CustomerMaybe.get(customer="bob").descending().limit(5))
    assert found is not None
    assert (found.customer, numbers(found.orders)) == (None, [1])


def test_expired_entities_do_not_count(store: AnyStore, clock: Clock) -> None:
    for number in (18, 19, 20):
        expires = datetime.fromtimestamp(clock(), UTC) - timedelta(hours=1)
        store.run(Purchase(customer="ada", number=number, expires=expires).put())
    request = CustomerWithOrders.get(customer="ada").descending().limit(2)
    found = store.run(request)
    assert found is not None
    assert numbers(found.orders) == [17, 16]
    found = store.run(request.include_expired())
    assert found is not None
    assert numbers(found.orders) == [20, 19]


# Ranges.


@pytest.mark.parametrize(
    ("request_made", "expected"),
    [
        (CustomerWithOrders.get(customer="ada").since(18), [18, 19, 20]),
        (CustomerWithOrders.get(customer="ada").descending().since(18), [20, 19, 18]),
        (CustomerWithOrders.get(customer="ada").descending().since(10).limit(2), [20, 19]),
    ],
)
def test_a_range_that_ends_at_the_single_member(
    store: AnyStore, request_made: CollectionGet[CustomerWithOrders], expected: list[int]
) -> None:
    found = store.run(request_made)
    assert found is not None
    assert found.customer.customer == "ada"
    assert numbers(found.orders) == expected


def test_until_reads_from_a_single_member_in_front(store: AnyStore) -> None:
    found = store.run(CustomerWithWishes.get(customer="ada").until(2))
    assert found is not None
    assert numbers(found.wishes) == [1, 2]
    [call] = store.calls
    # The profile and two wishes: nothing else is read.
    ends = [each["S"] for each in call.request["ExpressionAttributeValues"].values()]
    assert ends == ["C#ada", "PROFILE", "WISH#0002"]


def test_a_range_is_kept_by_the_cursor(store: AnyStore) -> None:
    request = CustomerWithOrders.get(customer="ada").descending().since(17).limit(3)
    found = store.run(request)
    assert found is not None
    following = Purchase.query(customer="ada").since(17).descending().after(found.cursor)
    assert numbers(store.run(following)) == [17]


class Event(Entity, table=shop, key=("LOG", "{at}#E")):
    at: datetime


class Alarm(Entity, table=shop, key=("LOG", "{at}#A")):
    at: datetime


class Log(Collection):
    events: list[Event]
    alarms: list[Alarm]


def test_lists_with_the_same_beginning_share_a_range(store: AnyStore, clock: Clock) -> None:
    start = datetime.fromtimestamp(clock(), UTC)
    for hours in range(6):
        at = start - timedelta(hours=hours)
        store.run((Alarm(at=at) if hours % 2 else Event(at=at)).put())
    found = store.run(Log.get().since(now - timedelta(hours=3)))
    assert found is not None
    assert (len(found.events), len(found.alarms)) == (2, 2)
    found = store.run(Log.get().between(start - timedelta(hours=4), start - timedelta(hours=2)))
    assert found is not None
    assert (len(found.events), len(found.alarms)) == (2, 1)


# In an index.


class City(Collection):
    customers: list[Customer]
    orders: list[Purchase]


def test_a_collection_in_an_index(store: AnyStore) -> None:
    found = store.run(City.get(by_city, city="Rome").limit(4))
    assert found is not None
    assert [each.customer for each in found.customers] == ["ada"]
    assert numbers(found.orders) == [1, 2, 3]
    following = store.run(City.get(by_city, city="Rome").limit(2).after(found.cursor))
    assert following is not None
    assert numbers(following.orders) == [4, 5]
    with pytest.raises(FieldUnknown):
        City.get(by_city, town="Rome")
    with pytest.raises(QueryInvalid, match="Refund: it is never in index ByCity"):
        Movements.get(by_city, city="Rome")
    with pytest.raises(QueryInvalid, match="has no index 'Elsewhere'"):
        City.get(Index("Elsewhere", key=Key("a")), city="Rome")


# What one query cannot do.

WHOLE = CustomerWithOrders.get(customer="ada")
REFUSED: list[tuple[Any, str]] = [
    (
        WHOLE.limit(10),
        (
            "CustomerWithOrders: in ascending order, customer is not read before orders, so a limit "
            "could leave it out. Give Customer a sort key that sorts before those of Purchase, or "
            "read it with a get() of its own. [query-invalid]"
        ),
    ),
    (
        CustomerWithWishes.get(customer="ada").descending().limit(1),
        "in descending order, customer is not read before wishes",
    ),
    (
        WHOLE.until(5),
        (
            "the range leaves out the last orders, but one query reads one range, and customer does "
            "not sort before all orders"
        ),
    ),
    (WHOLE.between(5, 7), "leaves out the last orders"),
    (WHOLE.starting_with("00"), "leaves out the last orders"),
    (CustomerWithWishes.get(customer="ada").since(2), "leaves out the first wishes"),
    (
        Movements.get(customer="ada").since(2),
        "orders and refunds have sort keys of different beginnings, so one range cannot limit both",
    ),
    (
        WHOLE.descending().limit(2).after("x"),
        "customer is on the first page only. Use the cursor with a query of Purchase.",
    ),
    (Alone.get(customer="ada").limit(2), "limit() limits lists, and it has none"),
]


@pytest.mark.parametrize(("request_made", "message"), REFUSED)
def test_what_one_query_cannot_do_is_refused_before_any_call(
    store: AnyStore, request_made: Any, message: str
) -> None:
    with pytest.raises(QueryInvalid) as caught:
        store.run(request_made)
    assert message in str(caught.value)
    assert store.calls == []


def test_invalid_options_are_refused_at_once() -> None:
    with pytest.raises(QueryInvalid, match="got 0"):
        WHOLE.limit(0)
    with pytest.raises(QueryInvalid, match="it has no list"):
        Alone.get(customer="ada").since(2)
    with pytest.raises(QueryInvalid, match="already has a range"):
        WHOLE.since(2).until(3)


# Explained.


def explain(make: Any) -> Any:
    return Table("Own", key=Key("pk")).pattern("name")(make).explain()


def test_a_collection_is_explained_with_its_range() -> None:
    def last_orders(customer: str, count: int) -> Any:
        return CustomerWithOrders.get(customer=customer).descending().limit(count)

    [step] = explain(last_orders).steps
    assert step.key == "pk = 'C#{customer}' and sk between '#ORDER#' and 'PROFILE'"

    def first_orders(customer: str, count: int) -> Any:
        return CustomerWithOrders.get(customer=customer).limit(count)

    with pytest.raises(PatternFailed, match="customer is not read before orders"):
        explain(first_orders)


class Parcel(Entity, table=shop, key=("P#{customer}", "{number:04}")):
    customer: str = part()
    number: int = part()


class Piece(Entity, table=shop, key=("P#{customer}", "{number:04}#{piece}")):
    customer: str = part()
    number: int = part()
    piece: str = part()


class ParcelWithPieces(Collection):
    parcel: Parcel
    pieces: list[Piece]


def test_members_whose_keys_begin_with_the_same_part(store: AnyStore) -> None:
    def first_pieces(customer: str, number: int) -> Any:
        return ParcelWithPieces.get(customer=customer, number=number).limit(2)

    assert explain(first_pieces).steps[0].key == (
        "pk = 'P#{customer}' and sk between '{number}' and '{number}$'"
    )
    store.run(Parcel(customer="ada", number=1).put())
    for piece in "abc":
        store.run(Piece(customer="ada", number=1, piece=piece).put())
    found: Any = store.run(first_pieces("ada", 1))
    assert [each.piece for each in found.pieces] == ["a", "b"]
