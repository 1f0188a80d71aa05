"""Pages of one entity from a partition that has others in between, which are told by their sort keys."""

from __future__ import annotations

from typing import Any

import pytest

from keyfold.model import Entity, Key, Table, part
from tests.unit.store.store_kinds import DatabasesByUrl, OpenStore

table = Table("Orders", key=Key("pk", "sk"), ttl="expires")
STRAY = {"pk": {"S": "U#bob"}, "sk": {"S": "O#001#X"}}


class Order(Entity, table=table, key=("U#{user}", "O#{order:03}")):
    user: str = part()
    order: int = part()
    total: int = 0
    expires: int | None = None


class Line(Entity, table=table, key=("U#{user}", "O#{order:03}#L{line:02}")):
    user: str = part()
    order: int = part()
    line: int = part()


class Note(Entity, table=table, key=("U#{user}", "O#{order:03}#N{day}")):
    user: str = part()
    order: int = part()
    day: str = part()


@pytest.fixture
def path(open_store: OpenStore, databases: DatabasesByUrl, tmp_path: Any) -> str:
    found = str(tmp_path / "orders.db")
    store = open_store(table, found)
    for order in range(1, 5):
        store.run(Order(user="ada", order=order, total=order).put())
        for line in range(1, 4):
            store.run(Line(user="ada", order=order, line=line).put())
        store.run(Note(user="ada", order=order, day="mon").put())
    # Of no entity: the first is nearly a line.
    databases.put(
        found,
        "Orders",
        *({"pk": {"S": "U#ada"}, "sk": {"S": each}} for each in ("O#002#L1", "O#003#X")),
    )
    return found


def test_a_page_has_its_own_entities_and_reports_items_of_none(
    open_store: OpenStore, path: str
) -> None:
    store = open_store(table, path)
    page = store.run(Order.query(user="ada"))
    assert [each.order for each in page] == [1, 2, 3, 4]
    assert [each.key["sk"]["S"] for each in page.invalid] == ["O#002#L1", "O#003#X"]
    assert page.scanned == 22
    lines = store.run(Line.query(user="ada", order=2))
    assert [each.line for each in lines] == [1, 2, 3]
    assert [each.key["sk"]["S"] for each in lines.invalid] == ["O#002#L1"]


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_pages_continue_after_items_of_other_entities(
    open_store: OpenStore, path: str, limit: int
) -> None:
    store = open_store(table, path)
    query = Order.query(user="ada").descending().limit(limit)
    found, cursor = list[int](), None
    while True:
        page = store.run(query.after(cursor))
        found += [each.order for each in page]
        cursor = page.cursor
        if cursor is None:
            break
        assert len(page) == limit
    assert found == [4, 3, 2, 1]


def test_entities_that_fail_a_test_are_not_taken_for_those_of_another(
    open_store: OpenStore, path: str
) -> None:
    store = open_store(table, path)
    for order in range(1, 4):
        store.run(Order(user="bob", order=order, total=order).put())
    for user, expected in (("ada", [3, 4]), ("bob", [3])):
        page = store.run(Order.query(user=user).matching(lambda each, _: each.total > 2))
        assert [each.order for each in page] == expected


def test_an_expired_entity_is_not_taken_for_one_of_another(
    open_store: OpenStore, path: str
) -> None:
    store = open_store(table, path)
    for order, expires in ((1, 1), (2, None)):
        store.run(Order(user="bob", order=order, expires=expires).put())
    assert [each.order for each in store.run(Order.query(user="bob"))] == [2]


def test_an_expired_item_of_no_entity_is_not_reported(
    open_store: OpenStore, databases: DatabasesByUrl, path: str
) -> None:
    gone = {"pk": {"S": "U#ada"}, "sk": {"S": "O#003#X"}, "expires": {"N": "1"}}
    databases.put(path, "Orders", gone)
    page = open_store(table, path).run(Order.query(user="ada"))
    assert [each.key["sk"]["S"] for each in page.invalid] == ["O#002#L1"]


def test_what_was_found_between_is_expected_in_the_next_page(
    open_store: OpenStore, path: str
) -> None:
    store = open_store(table, path)
    whole = Order.query(user="ada")
    first, second = store.run(whole), store.run(whole)
    assert list(second) == list(first)
    assert [each.key for each in second.invalid] == [each.key for each in first.invalid]
    # A partition in which notes come first, and then an item of no entity.
    store.run(Order(user="bob", order=1).put())
    store.run(Note(user="bob", order=1, day="mon").put())
    store.execute("PutItem", {"TableName": "Orders", "Item": STRAY})
    page = store.run(Order.query(user="bob"))
    assert [each.order for each in page] == [1]
    assert [each.key["sk"]["S"] for each in page.invalid] == ["O#001#X"]
