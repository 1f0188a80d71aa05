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


RAW_ODD = RawItem(table.name, ODD, ODD, "its key matches no entity of the table")
RAW_BAD = RawItem(
    table.name, {"pk": BAD["pk"], "sk": BAD["sk"]}, BAD, "age: Field required", "User"
)


def test_invalid_items_are_reported_and_their_neighbours_come_back(
    open_store: OpenStore, path: str
) -> None:
    page = open_store(table, path).run(table.query(pk="USER#ada"))
    assert page == [Post(name="ada", number=1)]
    assert page.invalid == (RAW_ODD, RAW_BAD)
    assert repr(page) == "<Page of 1, 2 invalid>"
    assert "Field required" in repr(page.invalid[1])
    assert "'ada'" not in repr(page.invalid[1]).replace("USER#ada", "")


def test_a_page_of_one_entity_reports_its_own_items_and_those_of_none(
    open_store: OpenStore, path: str
) -> None:
    class Summary(BaseModel):
        age: int

    store = open_store(table, path)
    users = store.run(User.query(name="ada"))
    assert (list(users), users.invalid) == ([], (RAW_BAD,))
    scanned = store.run(User.scan())
    assert (list(scanned), {each.reason for each in scanned.invalid}) == (
        [],
        {RAW_ODD.reason, RAW_BAD.reason},
    )
    # The profile is of another entity.
    assert {each.reason for each in store.run(Post.scan()).invalid} == {RAW_ODD.reason}
    assert len(store.run(Post.scan().limit(1)).invalid) <= 1
    assert [each.entity for each in store.run(User.query(name="ada").only(Summary)).invalid] == [
        "User"
    ]
    refs = store.run(User.scan().refs())
    assert [each["name"] for each in refs] == ["ada"]
    assert [each.reason for each in refs.invalid] == [RAW_ODD.reason]


def test_an_item_whose_key_no_longer_parses_is_reported(
    open_store: OpenStore, databases: DatabasesByUrl, path: str
) -> None:
    store = open_store(table, path)
    databases.put(path, "Mixed", {"pk": {"S": "USER#ada"}, "sk": {"S": "POST#x"}})
    page = store.run(Post.query(name="ada"))
    assert list(page) == [Post(name="ada", number=1)]
    assert [each.key["sk"]["S"] for each in page.invalid] == ["POST#x"]
    # A full page does not count them.
    assert len(store.run(Post.query(name="ada").limit(1))) == 1


def test_an_item_that_does_not_fit_raises_on_request(open_store: OpenStore, path: str) -> None:
    store = open_store(table, path, on_invalid="raise")
    with pytest.raises(ItemInvalid) as caught:
        store.run(table.query(pk="USER#ada", sk="ODD"))
    assert str(caught.value) == (
        "item pk='USER#ada' sk='ODD' of Mixed: its key matches no entity of the table. [item-invalid]"
    )
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    with pytest.raises(ItemInvalid, match="its key matches no entity"):
        store.run(Post.scan())
    for request in (User.query(name="ada"), table.query(pk="USER#ada", sk="PROFILE")):
        with pytest.raises(ItemInvalid, match="age: Field required"):
            store.run(request)


def test_reads_of_single_items_always_raise(open_store: OpenStore, path: str) -> None:
    store = open_store(table, path)
    for request in (
        User.get(name="ada"),
        table.get(pk="USER#ada", sk="PROFILE"),
        User.query(name="ada").first(),
        batch([Post.get(name="ada", number=1), User.get(name="ada")]),
        transaction(User.get(name="ada")),
        User.get(name="ada").then(lambda user: User.get(name=user.name)),
    ):
        with pytest.raises(ItemInvalid) as caught:
            store.run(request)
        assert str(caught.value) == (
            "item pk='USER#ada' sk='PROFILE' of Mixed: age: Field required. [item-invalid]"
        )
    with pytest.raises(ItemInvalid, match="its key matches no entity"):
        store.run(table.query(pk="USER#ada").first())
    # What is of no entity is not the first of one.
    assert store.run(Post.query(name="ada").first()) == Post(name="ada", number=1)


def test_a_batch_is_carried_out_before_an_invalid_item_raises(
    open_store: OpenStore, path: str
) -> None:
    store = open_store(table, path)
    posts = [Post(name="eve", number=number).put() for number in range(30)]
    with pytest.raises(ItemInvalid):
        store.run(batch([User.get(name="ada"), *posts]))
    assert store.run(Post.query(name="eve").count()) == 30


def test_items_that_do_not_fit_are_counted(open_store: OpenStore, path: str) -> None:
    store = open_store(table, path)
    assert store.run(table.query(pk="USER#ada").count()) == 3
    assert store.run(User.query(name="ada").count()) == 1
    # It is of no entity, so it is no post.
    assert store.run(Post.query(name="ada").count()) == 1


def test_iterating_tells_of_invalid_items(
    open_store: OpenStore, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_store(table, path)
    assert list(store.iterate(table.query(pk="USER#ada").limit(1))) == [Post(name="ada", number=1)]
    assert caplog.messages == [
        "item pk='USER#ada' sk='ODD' of Mixed: its key matches no entity of the table. [item-invalid]",
        "item pk='USER#ada' sk='PROFILE' of Mixed: age: Field required. [item-invalid]",
    ]


def test_iterating_calls_a_function_with_invalid_items(open_store: OpenStore, path: str) -> None:
    store = open_store(table, path)
    found: list[RawItem] = []
    kept = store.iterate(table.query(pk="USER#ada"), on_invalid=found.append)
    assert kept == [Post(name="ada", number=1)]
    assert found == [RAW_ODD, RAW_BAD]


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
    page = store.run(Post.query(name="bob"))
    assert (len(page), len(page.invalid)) == (0, 1)


def test_on_invalid_is_report_or_raise(open_store: OpenStore) -> None:
    with pytest.raises(OptionInvalid, match="Give 'report' or 'raise'"):
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
    store = open_store(typed, path)
    store.run(Cat(id="1").put())
    store.run(Dog(id="2").put())
    databases.put(path, "Typed", {"pk": {"S": "3"}, "kind": {"S": "fox"}})
    assert Cat(id="1").put().item["kind"] == {"S": "cat"}
    assert Dog(id="2").put().item["kind"] == {"S": "Dog"}
    page = store.run(typed.scan())
    assert {each.id: each for each in page} == {"1": Cat(id="1"), "2": Dog(id="2")}
    assert [each.reason for each in page.invalid] == ["its key matches no entity of the table"]
    cats = store.run(Cat.scan())
    assert list(cats) == [Cat(id="1")]
    assert [each.key for each in cats.invalid] == [{"pk": {"S": "3"}}]
    assert store.run(Cat.get(id="3")) is None
    assert store.run(Cat.get(id="2")) is None
    with pytest.raises(NotFound, match="another entity has its key"):
        store.run(Cat.update(id="2").set(Cat.f.lives, 3))
    for taken in (Cat(id="2").create(), Cat(id="2").create().or_get()):
        with pytest.raises(AlreadyExists) as failure:
            store.run(taken)
        assert failure.value.found is None
    with pytest.raises(NotFound, match="another entity has its key"):
        store.run(Cat(id="2").replace())
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
