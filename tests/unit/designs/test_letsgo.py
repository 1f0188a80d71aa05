"""Each operation of LetsGo's table, with consistent and with stale reads."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal

import pytest

from keyfold import part
from keyfold.designs import letsgo
from keyfold.designs.letsgo import AnyItem
from keyfold.designs.letsgo.shop import (
    Customer,
    CustomerOrder,
    Order,
    orders_of_customer,
    place_order,
)
from keyfold.errors import (
    CursorInvalid,
    DeclarationInvalid,
    KeyFieldChanged,
    KeyPartInvalid,
    NotFound,
    TransactionFailed,
    ValueInvalid,
    WriteRefused,
)
from tests.unit.designs.letsgo_keys import stored_keys
from tests.unit.designs.stale_databases import LATE_EXPIRY, STALE_READS, START, Database, database

DAY = timedelta(days=1)


class TenantUser(letsgo.Item, category="tenant-user", key="/{tenant}/{user}"):
    tenant: str = part()
    user: str = part()
    role: str = "member"


class UserTenant(letsgo.Item, category="user-tenant", key="/{user}/{tenant}"):
    tenant: str = part()
    user: str = part()
    role: str = "member"


USERS = letsgo.ManyToMany(TenantUser, UserTenant)


@pytest.fixture(params=[LATE_EXPIRY, STALE_READS], ids=["consistent", "stale"])
def db(request: pytest.FixtureRequest) -> Iterator[Database]:
    with database(letsgo.table, request.param) as db:
        yield db


def put_orders(db: Database, *customers: str, orders: int = 1) -> None:
    for customer in customers:
        for order in range(orders):
            db.run(CustomerOrder(customer_id=customer, order_id=f"order-{order}").put())


# Items.


def test_get_item(db: Database) -> None:
    note = AnyItem.of("note", "note-1", stars=Decimal("4.50"), ttl=START + DAY)
    db.run(letsgo.put_item(note))
    request = letsgo.get_item("note", "note-1")
    found = db.run_until(request, bool)
    assert found == note
    assert found is not None
    assert found.attributes == {"stars": Decimal("4.5")}
    assert db.run(letsgo.get_item("note", "note-1", consistent=True)) == note
    assert {name for name, _ in db.calls[-2:]} == {"GetItem"}
    db.clock.advance(DAY)
    assert stored_keys(db) == [("note", "note-1")]
    assert db.run(request) is None
    assert db.run(letsgo.get_item("note", "note-1", consistent=True)) is None


def test_put_item(db: Database) -> None:
    db.run(letsgo.put_item(AnyItem.of("orders", "order-123", note="gift")))
    db.run(
        letsgo.put_item(AnyItem.of("orders", "order-123", lines=["a", {"n": 2}], ttl=START + DAY))
    )
    assert db.stored(letsgo.table) == [
        {
            "category": {"S": "orders"},
            "key": {"S": "order-123"},
            "lines": {"L": [{"S": "a"}, {"M": {"n": {"N": "2"}}}]},
            "ttl": {"N": "4102531200"},
        }
    ]


def test_update_item(db: Database) -> None:
    note = AnyItem.of("note", "note-1", text="call", stars=4, ttl=START + DAY)
    db.run(letsgo.put_item(note))
    changes = {"stars": Decimal("4.5"), "text": None, "tags": ["new"]}
    changed = db.run(letsgo.update_item("note", "note-1", changes))
    assert changed == AnyItem.of(
        "note", "note-1", stars=Decimal("4.5"), tags=["new"], ttl=START + DAY
    )
    assert db.run(letsgo.get_item("note", "note-1", consistent=True)) == changed
    with pytest.raises(NotFound):
        db.run(letsgo.update_item("note", "note-2", {"text": "x"}))
    with pytest.raises(KeyFieldChanged):
        letsgo.update_item("note", "note-1", {"key": "note-2"})
    db.clock.advance(DAY)
    with pytest.raises(NotFound):
        db.run(letsgo.update_item("note", "note-1", {"text": "too late"}))


def test_an_update_of_nothing_returns_the_item(db: Database) -> None:
    note = AnyItem.of("note", "note-1", text="call")
    db.run(letsgo.put_item(note))
    assert db.run(letsgo.update_item("note", "note-1", {})) == note


def test_an_update_of_a_typed_item_is_checked_by_its_fields(db: Database) -> None:
    db.run(letsgo.put_item(Order(order_id="order-1", total=Decimal(3))))
    changed = db.run(letsgo.update_item("orders", "order-1", {"total": "4.50", "gift": True}))
    assert changed == Order.model_validate(
        {"order_id": "order-1", "total": Decimal("4.5"), "gift": True}
    )
    with pytest.raises(ValueInvalid, match=r"Order\.f\.total"):
        letsgo.update_item("orders", "order-1", {"total": "much"})


def test_a_loose_item_in_a_typed_category_is_an_any_item(db: Database) -> None:
    loose = AnyItem.of("orders", "order-1", total="to be agreed")
    typed = Order(order_id="order-2")
    for item in (loose, typed):
        db.run(letsgo.put_item(item))
    assert list(db.run(letsgo.list_items("orders", consistent=True))) == [loose, typed]
    assert db.run(letsgo.get_item("orders", "order-1", consistent=True)) == loose
    page = db.run(Order.query().consistent())
    assert list(page) == [typed], "a query for orders returns orders"
    assert [each.key["key"]["S"] for each in page.invalid] == ["order-1"]
    assert db.run(letsgo.update_item("orders", "order-1", {"total": 5})) == Order(
        order_id="order-1", total=Decimal(5)
    )


def test_deleted_items_are_returned_as_what_they_are(db: Database) -> None:
    loose, typed = AnyItem.of("orders", "order-1", total="?"), Order(order_id="order-2")
    for item in (loose, typed):
        db.run(letsgo.put_item(item))
    assert db.run(letsgo.delete_item("orders", "order-1")) == loose
    assert db.run(letsgo.delete_item("orders", "order-2")) == typed


def test_delete_item(db: Database) -> None:
    db.run(letsgo.put_item(AnyItem.of("orders", "order-123")))
    for _ in range(2):
        db.run(letsgo.delete_item("orders", "order-123"))
        assert stored_keys(db) == []
    assert db.run_until(letsgo.get_item("orders", "order-123"), lambda item: item is None) is None


def test_list_items(db: Database) -> None:
    put_orders(db, "customer-12", "customer-123", "customer-1234", orders=3)
    request = letsgo.list_items("customer-order", "/customer-123/")
    found = db.run_until(request, lambda page: len(page) == 3)
    assert list(found) == [
        CustomerOrder(customer_id="customer-123", order_id=f"order-{n}") for n in range(3)
    ]
    assert found.cursor is None
    whole = letsgo.list_items("customer-order", consistent=True)
    assert len(db.run(whole)) == 9
    assert list(db.run(letsgo.list_items("nothing"))) == []


def test_an_expired_item_does_not_shorten_a_page(db: Database) -> None:
    for n in range(20):
        expiry = {"ttl": START + timedelta(hours=1)} if n % 3 else {}
        db.run(letsgo.put_item(AnyItem.of("thing", f"{n:02}", **expiry)))
    db.clock.advance(timedelta(hours=1))
    assert len(stored_keys(db)) == 20
    first = db.run(letsgo.list_items("thing", limit=4))
    assert [item.key for item in first] == ["00", "03", "06", "09"]
    assert first.cursor is not None
    second = db.run(letsgo.list_items("thing", limit=4, next_token=first.cursor))
    assert [item.key for item in second] == ["12", "15", "18"]
    assert second.cursor is None
    with pytest.raises(CursorInvalid):
        db.run(letsgo.list_items("other", limit=4, next_token=first.cursor))


def test_the_example_of_the_document_has_its_key(db: Database) -> None:
    db.run(letsgo.put_item(Order(order_id="order-123", total=Decimal(12))))
    db.run(letsgo.put_item(CustomerOrder(customer_id="customer-123", order_id="order-456")))
    assert sorted(db.stored(letsgo.table), key=lambda item: item["category"]["S"]) == [
        {"category": {"S": "customer-order"}, "key": {"S": "/customer-123/order-456"}},
        {
            "category": {"S": "orders"},
            "key": {"S": "order-123"},
            "total": {"N": "12"},
        },
    ]
    placed = db.run_until(CustomerOrder.query(customer_id="customer-123"), bool)
    assert list(placed) == [CustomerOrder(customer_id="customer-123", order_id="order-456")]
    assert db.run_until(Order.get(order_id="order-123"), bool) == Order(
        order_id="order-123", total=Decimal(12)
    )
    assert len(db.run_until(Order.query(), bool)) == 1


def test_a_typed_item_may_have_further_attributes(db: Database) -> None:
    order = Order.model_validate({"order_id": "order-1", "gift": {"to": "Ada"}})
    db.run(letsgo.put_item(order))
    found = db.run(Order.get(order_id="order-1").consistent())
    assert found == order
    assert found is not None
    assert found.model_extra == {"gift": {"to": "Ada"}}
    assert db.run(letsgo.get_item("orders", "order-1", consistent=True)) == order


def test_a_part_may_not_contain_the_delimiter() -> None:
    with pytest.raises(KeyPartInvalid):
        CustomerOrder(customer_id="customer-1/customer-2", order_id="order-1").put()


def test_a_stale_response_is_an_earlier_one() -> None:
    with database(letsgo.table, STALE_READS) as db:
        db.run(letsgo.put_item(AnyItem.of("note", "note-1")))
        assert db.run(letsgo.get_item("note", "note-1")) is None
        assert db.run(letsgo.get_item("note", "note-1", consistent=True)) is not None


# The document's example.


def test_place_order(db: Database) -> None:
    order = Order(order_id="order-456", total=Decimal("9.50"))
    with pytest.raises(TransactionFailed):
        db.run(place_order("customer-123", order))
    assert stored_keys(db) == []
    db.run(Customer(customer_id="customer-123").put())
    db.run(place_order("customer-123", order))
    assert stored_keys(db) == [
        ("customer-order", "/customer-123/order-456"),
        ("customers", "customer-123"),
        ("orders", "order-456"),
    ]
    with pytest.raises(TransactionFailed):
        db.run(place_order("customer-123", order))


def test_orders_of_customer(db: Database) -> None:
    for customer in ("customer-12", "customer-123"):
        db.run(Customer(customer_id=customer).put())
        for n in range(5):
            order = Order(order_id=f"order-{customer[9:]}-{n}", total=Decimal(n))
            db.run(place_order(customer, order))
    db.run(letsgo.delete_item("orders", "order-123-1"))
    whole = db.run_until(orders_of_customer("customer-123"), lambda page: len(page) == 4)
    assert [order.order_id[-1] for order in whole] == ["0", "2", "3", "4"]
    assert (whole[1].total, whole.cursor) == (Decimal(2), None)
    calls = [name for name, _ in db.calls[-2:]]
    assert calls == ["Query", "BatchGetItem"]
    seen: list[str] = []
    token = None
    while True:
        page = db.run(orders_of_customer("customer-123", 2, token))
        seen += [order.order_id[-1] for order in page]
        token = page.cursor
        if token is None:
            break
    assert seen == ["0", "2", "3", "4"]
    assert list(db.run(orders_of_customer("customer-1"))) == []


# Relationships in both directions.


def test_link_writes_both_directions_in_one_transaction(db: Database) -> None:
    db.run(USERS.link(tenant="acme", user="ada", role="admin"))
    db.run(USERS.link(tenant="acme", user="bob"))
    db.run(USERS.link(tenant="zoo", user="ada"))
    assert [name for name, _ in db.calls if name.startswith("Transact")] == [
        "TransactWriteItems"
    ] * 3
    users = db.run_until(TenantUser.query(tenant="acme"), lambda page: len(page) == 2)
    assert [(each.user, each.role) for each in users] == [("ada", "admin"), ("bob", "member")]
    tenants = db.run_until(UserTenant.query(user="ada"), lambda page: len(page) == 2)
    assert [each.tenant for each in tenants] == ["acme", "zoo"]
    assert ("tenant-user", "/acme/ada") in stored_keys(db)
    assert ("user-tenant", "/ada/acme") in stored_keys(db)


def test_unlink_removes_both_directions(db: Database) -> None:
    db.run(USERS.link(tenant="acme", user="ada"))
    for _ in range(2):
        db.run(USERS.unlink(tenant="acme", user="ada"))
        assert stored_keys(db) == []


def test_both_directions_have_the_same_fields() -> None:
    with pytest.raises(
        DeclarationInvalid, match="only one of them has customer_id, order_id, role"
    ):
        letsgo.ManyToMany(CustomerOrder, TenantUser)


# Reserved categories.


def test_declaring_a_reserved_category_is_refused() -> None:
    with pytest.raises(DeclarationInvalid, match="Mine: category names that start with 'letsgo'"):

        class Mine(letsgo.Item, category="letsgo-mine", key="{id}"):  # pyright: ignore[reportUnusedClass] - it is not made
            id: str

    assert "Mine" not in letsgo.table.entities


@pytest.mark.parametrize("options", [{"key": "{id}"}, {"category": "mine"}])
def test_a_typed_category_has_a_category_and_a_key(options: dict[str, str]) -> None:
    with pytest.raises(DeclarationInvalid, match="Mine: it has a"):

        class Mine(letsgo.Item, **options):  # pyright: ignore[reportUnusedClass] - it is not made
            id: str


def test_a_base_of_several_categories_needs_neither() -> None:
    class Dated(letsgo.Item):
        day: str

    class Event(Dated, category="event", key="{day}/{name}"):
        name: str

    assert Event.get(day="monday", name="x").to_dynamodb()["Key"] == {
        "category": {"S": "event"},
        "key": {"S": "monday/x"},
    }


@pytest.mark.parametrize("category", ["letsgo", "letsgo-tenant", "letsgone"])
def test_writing_a_reserved_category_is_refused(category: str) -> None:
    item = AnyItem.of(category, "x")
    for write in (letsgo.put_item, AnyItem.put, AnyItem.create, AnyItem.replace):
        with pytest.raises(WriteRefused, match="is reserved for declared entities"):
            write(item)
    for change in (AnyItem.update, AnyItem.delete):
        with pytest.raises(WriteRefused):
            change(category=category, key="x")
    for edit in (item.update, item.delete, lambda: item.change(text="x")):
        with pytest.raises(WriteRefused):
            edit()
    with pytest.raises(WriteRefused):
        letsgo.delete_item(category, "x")
    with pytest.raises(WriteRefused):
        letsgo.update_item(category, "x", {"text": "x"})


def test_reserved_categories_can_be_read(db: Database) -> None:
    db.run(letsgo.create_tenant(letsgo.Tenant(tenant_id="acme", created_at=START)))
    [tenant] = db.run_until(letsgo.list_items("letsgo-tenant"), bool)
    assert tenant.tenant_id == "acme"


# The declaration.


def test_every_pattern_explains_itself() -> None:
    explained = {name: pattern.explain() for name, pattern in letsgo.table.patterns.items()}
    assert all(pattern.description for pattern in letsgo.table.patterns.values())
    assert not any(each.scans for each in explained.values())
    assert not any(each.filters for each in explained.values())
    [step] = explained["list_items"].steps
    assert (step.operation, step.key) == (
        "Query",
        "category = '{category}' and key begins with '{key_prefix}'",
    )
    assert [step.key for step in explained["get_active_issuer"].steps] == [
        "category='letsgo-issuer-active' key='/'",
        "category='letsgo-issuer' key='{found.issuer}'",
    ]


def test_the_table_matches_the_document() -> None:
    assert letsgo.table.to_dynamodb() == {
        "TableName": "letsgo",
        "KeySchema": [
            {"AttributeName": "category", "KeyType": "HASH"},
            {"AttributeName": "key", "KeyType": "RANGE"},
        ],
        "AttributeDefinitions": [
            {"AttributeName": "category", "AttributeType": "S"},
            {"AttributeName": "key", "AttributeType": "S"},
        ],
        "BillingMode": "PAY_PER_REQUEST",
    }
    assert letsgo.table.ttl == "ttl"
