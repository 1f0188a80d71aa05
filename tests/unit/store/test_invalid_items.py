"""Items that match no entity, match another one, or fail validation."""

from __future__ import annotations

import pickle
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel

from keyfold.errors import AlreadyExists, ItemInvalid, NotFound, OptionInvalid
from keyfold.model import Entity, Key, RawItem, Table, attr, batch, part, transaction
from keyfold.values import Item
from tests.unit.model.shop import OrderId, market
from tests.unit.store.store_kinds import AnyStore, DatabasesByUrl, OpenStore

table = Table("Mixed", key=Key("pk", "sk"))


class User(Entity, table=table, key=("USER#{name}", "PROFILE")):
    name: str
    age: int
    note: str | None = None


class Post(Entity, table=table, key=("USER#{name}", "POST#{number:03}")):
    name: str = part()
    number: int = part()
    text: str = ""


ODD: Item = {"pk": {"S": "USER#ada"}, "sk": {"S": "ODD"}}
BAD: Item = {"pk": {"S": "USER#ada"}, "sk": {"S": "PROFILE"}, "name": {"S": "ada"}}


@pytest.fixture
def path(open_store: OpenStore, databases: DatabasesByUrl, tmp_path: Any) -> str:
    found = str(tmp_path / "mixed.db")
    store = open_store(table, found)
    store.run(Post(name="ada", number=1).put())
    databases.put(found, "Mixed", ODD, BAD)
    return found


def test_a_write_that_returns_an_invalid_item_says_that_it_was_done(
    open_store: OpenStore, path: str
) -> None:
    store = open_store(table, path)
    with pytest.raises(ItemInvalid, match="it was changed, and is invalid: age: Field required"):
        store.run(User.update(name="ada").set(User.f.note, "x"))
    with pytest.raises(ItemInvalid, match="it was deleted, and is invalid: age: Field required"):
        store.run(User.delete(name="ada"))
    assert store.run(User.get(name="ada")) is None


def test_a_page_separates_invalid_items(open_store: OpenStore, path: str) -> None:
    page = open_store(table, path, on_invalid="raw").run(table.query(pk="USER#ada"))
    assert [type(each) for each in page] == [RawItem, Post, RawItem]
    assert [raw.key["sk"] for raw in page.invalid] == [{"S": "ODD"}, {"S": "PROFILE"}]
    assert page.valid == (Post(name="ada", number=1),)


def test_an_item_of_no_entity_raises_with_its_key_named(open_store: OpenStore, path: str) -> None:
    store = open_store(table, path)
    with pytest.raises(ItemInvalid) as caught:
        store.run(table.query(pk="USER#ada", sk="ODD"))
    assert str(caught.value) == (
        "item pk='USER#ada' sk='ODD' of Mixed: its key matches no entity of the table. [item-invalid]"
    )
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_an_item_that_fails_validation_raises_with_its_key_named(
    open_store: OpenStore, path: str
) -> None:
    store = open_store(table, path)
    for request in (
        User.get(name="ada"),
        User.query(name="ada"),
        table.query(pk="USER#ada", sk="PROFILE"),
        User.scan(),
        batch([User.get(name="ada")]),
        transaction(User.get(name="ada")),
    ):
        with pytest.raises(ItemInvalid) as caught:
            store.run(request)
        assert str(caught.value) == (
            "item pk='USER#ada' sk='PROFILE' of Mixed: age: Field required. [item-invalid]"
        )


def test_invalid_items_come_back_raw_with_the_reason_on_request(
    open_store: OpenStore, path: str
) -> None:
    store = open_store(table, path, on_invalid="raw")
    odd, post, bad = store.run(table.query(pk="USER#ada"))
    assert odd == RawItem(ODD, ODD, "its key matches no entity of the table")
    assert post == Post(name="ada", number=1)
    assert bad == RawItem({"pk": BAD["pk"], "sk": BAD["sk"]}, BAD, "age: Field required")
    assert "Field required" in repr(bad)
    assert store.run(User.get(name="ada")) == bad
    assert store.run(batch([User.get(name="ada")])) == [bad]
    assert store.run(table.query(pk="USER#ada").count()) == 3
    with pytest.raises(ItemInvalid, match="age: Field required"):
        store.run(User.get(name="ada").then(lambda user: User.get(name=user.name)))


def test_entities_of_another_kind_are_left_out(open_store: OpenStore, path: str) -> None:
    store = open_store(table, path)
    assert list(store.run(Post.query(name="ada"))) == [Post(name="ada", number=1)]
    assert store.run(Post.query(name="ada").count()) == 1
    assert list(store.run(Post.scan())) == [Post(name="ada", number=1)]


def test_parts_come_back_from_the_key(
    open_store: OpenStore, databases: DatabasesByUrl, path: str
) -> None:
    store = open_store(table, path)
    post = store.run(Post.get(name="ada", number=1))
    assert post is not None
    assert (post.name, post.number) == ("ada", 1)
    databases.put(path, "Mixed", {"pk": {"S": "USER#bob"}, "sk": {"S": "POST#x"}})
    assert list(store.run(Post.query(name="bob"))) == []


def test_on_invalid_is_raise_or_raw(open_store: OpenStore) -> None:
    with pytest.raises(OptionInvalid, match="Give 'raise' or 'raw'"):
        open_store(table, on_invalid="ignore")


# Type attributes.


def test_the_type_attribute_tells_entities_with_the_same_keys_apart(
    open_store: OpenStore, databases: DatabasesByUrl, tmp_path: Any
) -> None:
    typed = Table("Typed", key=Key("pk"), type_attribute="kind")

    class Cat(Entity, table=typed, key="{id}", kind="cat"):
        id: str
        lives: int = 9

    class Dog(Entity, table=typed, key="{id}"):
        id: str
        name: str = ""

    path = str(tmp_path / "typed.db")
    store = open_store(typed, path, on_invalid="raw")
    store.run(Cat(id="1").put())
    store.run(Dog(id="2").put())
    databases.put(path, "Typed", {"pk": {"S": "3"}, "kind": {"S": "fox"}})
    assert Cat(id="1").put().item["kind"] == {"S": "cat"}
    assert Dog(id="2").put().item["kind"] == {"S": "Dog"}
    by_id: dict[str, Any] = {}
    for each in store.run(typed.scan()):
        by_id[each.key["pk"]["S"] if isinstance(each, RawItem) else each.id] = each
    assert by_id["1"] == Cat(id="1")
    assert by_id["2"] == Dog(id="2")
    assert by_id["3"].reason == "its key matches no entity of the table"
    assert list(store.run(Cat.scan())) == [Cat(id="1")]
    assert store.run(Cat.get(id="2")) is None
    with pytest.raises(NotFound, match="another entity has its key"):
        store.run(Cat.update(id="2").set(Cat.f.lives, 3))
    assert store.run(Cat.update(id="1").set(Cat.f.lives, 3)).lives == 3
    store.run(Cat(id="1").put())
    assert store.run(Cat.get(id="1")) == Cat(id="1")

    class Id(BaseModel):
        id: str

    assert list(store.run(Dog.scan().only(Id))) == [Id(id="2")]


# Fallbacks.


def test_a_fallback_reads_items_of_no_other_entity(open_store: OpenStore) -> None:
    notes = Table("Notes", key=Key("pk", "sk"))

    class Order(Entity, table=notes, key=("ORDER#{id}", "ORDER")):
        id: str = part()
        total: Decimal

    class Free(Entity, table=notes, key=("{category}", "{key}"), extra="allow", fallback=True):
        category: str = attr("pk")
        key: str = attr("sk")

    store = open_store(notes)
    free = Free.model_validate({"category": "ORDER#1", "key": "note", "any": [1, {"thing": None}]})
    store.run(free.put())
    store.run(Order(id="1", total=Decimal(5)).put())
    both = [free, Order(id="1", total=Decimal(5))]
    assert store.run(notes.query(pk="ORDER#1")) == [both[1], both[0]]
    assert list(store.run(Free.query(category="ORDER#1"))) == [free]
    assert list(store.run(Free.scan())) == [free]
    assert store.run(Free.get(category="ORDER#1", key="ORDER")) is None
    assert store.run(Free.get(category="ORDER#1", key="note")) == free
    assert list(store.run(Order.query(id="1"))) == [both[1]]
    # A free-form item may be written under the key of another entity; it is read as that entity.
    posing = Free.model_validate({"category": "ORDER#2", "key": "ORDER", "total": Decimal(7)})
    store.run(posing.put())
    assert store.run(Free.get(category="ORDER#2", key="ORDER")) is None
    assert store.run(Order.get(id="2")) == Order(id="2", total=Decimal(7))


def test_a_failed_condition_may_show_an_item_of_no_entity(open_store: OpenStore, path: str) -> None:
    store = open_store(table, path)
    with pytest.raises(AlreadyExists) as caught:
        store.run(User(name="ada", age=1).create())
    assert caught.value.found is None


def test_an_empty_query_of_the_market_is_an_empty_page(store: AnyStore) -> None:
    assert list(store.run(market.query(pk="U#ada#O", sk=OrderId.new()))) == []
