"""Entities with the same keys, which the type attribute tells apart: deletes spare the others."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest

from keyfold.errors import BatchInvalid, ConditionFailed, TransactionFailed, VersionConflict
from keyfold.model import Entity, Expiry, Key, Table, Version, attr, batch, part, transaction
from keyfold.store import Store, StoreSettings
from keyfold.values import Item
from tests.transports import Database, Transport
from tests.unit.store.store_kinds import AnyStore, OpenStore

LONG_AGO = datetime(2001, 1, 1, tzinfo=UTC)
pets = Table("Pets", key=Key("pk"), type_attribute="kind", ttl="ttl")


class Cat(Entity, table=pets, key="PET#{id}", kind=("Cat", "Kitten")):
    id: str = part()
    name: str = ""
    ttl: Expiry | None = None


class Dog(Entity, table=pets, key="PET#{id}", unique=["tag"]):
    id: str = part()
    tag: str | None = None


class Fish(Entity, table=pets, key="PET#{id}"):
    id: str = part()
    version: Version = 0


class Owner(Entity, table=pets, key="OWNER#{name}"):
    name: str = part()


class Anything(Entity, table=pets, key="{id}", fallback=True, extra="allow"):
    id: str = attr("pk")


@pytest.fixture
def database(engine: Database, transport: Transport) -> Database:
    with suppress(*transport.refusals):
        Store(engine, StoreSettings([pets])).create_table(pets)
    return engine


@pytest.fixture
def store(make_store: OpenStore, database: Database) -> AnyStore:
    return make_store(database, [pets])


def put(database: Database, item: Item) -> None:
    database.execute("PutItem", {"TableName": "Pets", "Item": item})


def stored(database: Database) -> list[Item]:
    items: list[Item] = database.execute("Scan", {"TableName": "Pets"})["Items"]
    return [item for item in items if "keyfold_complete" not in item]


REX = Dog(id="1", tag="x")


@pytest.mark.parametrize(
    "delete",
    [
        Cat.delete(id="1"),
        Cat(id="1").delete(),
        Cat.delete(id="1").returning_nothing(),
        Cat.delete(id="1").where(Cat.f.name.not_exists()),
        Fish.delete(id="1"),
        Fish(id="1", version=3).delete(),
        Anything.delete(id="PET#1"),
    ],
)
def test_a_delete_leaves_items_of_other_entities_alone(store: AnyStore, delete: Any) -> None:
    store.run(REX.put())
    assert store.run(delete) is None
    assert store.run(Dog.get(id="1")) == REX


def test_a_delete_of_an_entity_with_unique_fields_leaves_others_alone(
    store: AnyStore, database: Database
) -> None:
    tom = store.run(Cat(id="1", name="Tom").put())
    for delete in (Dog.delete(id="1"), REX.delete(), Dog.delete(id="1").returning_nothing()):
        assert store.run(delete) is None
    assert store.run(Cat.get(id="1")) == tom
    store.run(Dog(id="2", tag="x").put())
    assert store.run(Dog.delete(id="2")) == Dog(id="2", tag="x")
    assert len(stored(database)) == 1


def test_a_condition_that_needs_the_entity_fails(store: AnyStore) -> None:
    store.run(REX.put())
    with pytest.raises(ConditionFailed) as failure:
        store.run(Cat.delete(id="1").where(Cat.f.name.eq("Tom")))
    assert type(failure.value) is ConditionFailed
    assert failure.value.found is None
    with pytest.raises(ConditionFailed, match="the condition does not hold"):
        store.run(Cat.delete(id="1").where(Cat.f.name.not_exists()).returning_nothing())


def test_a_transaction_fails_for_an_item_of_another_entity(store: AnyStore) -> None:
    store.run(REX.put())
    with pytest.raises(TransactionFailed, match="Cat pk='PET#1': another entity has its key"):
        store.run(transaction(Cat.delete(id="1"), Owner(name="ada").put()))
    assert store.run(transaction(Dog.delete(id="1"), Cat.delete(id="2"))) == [None, None]


@pytest.mark.parametrize("typed", [{"kind": {"S": "Cat"}}, {"kind": {"S": "Kitten"}}, {}])
def test_a_delete_finds_its_own_entity(store: AnyStore, database: Database, typed: Item) -> None:
    put(database, {"pk": {"S": "PET#1"}, "name": {"S": "Tom"}, **typed})
    assert store.run(Cat.delete(id="1")) == Cat(id="1", name="Tom")
    assert stored(database) == []
    assert store.run(Cat.delete(id="1")) is None


def test_a_fallback_deletes_kinds_that_no_entity_has(store: AnyStore, database: Database) -> None:
    put(database, {"pk": {"S": "PET#1"}, "kind": {"S": "Bird"}})
    assert store.run(Cat.delete(id="1")) is None
    assert len(stored(database)) == 1
    store.run(Anything.delete(id="PET#1"))
    assert stored(database) == []


def test_versions_and_expired_leftovers_count_as_before(
    store: AnyStore, database: Database
) -> None:
    fish = store.run(Fish(id="1").put())
    store.run(fish.put())
    with pytest.raises(VersionConflict):
        store.run(fish.delete())
    assert store.run(Fish.delete(id="1")) is not None
    put(database, Cat(id="1", ttl=LONG_AGO).put().item)
    assert store.run(Cat.delete(id="1")) is None
    assert stored(database) == []


def test_batches_take_deletes_where_no_other_entity_can_have_the_key() -> None:
    with pytest.raises(BatchInvalid) as refused:
        batch([Cat.delete(id="1")])
    assert (
        "other entities can have the key of a Cat, so its deletes have a condition, which batches "
        "do not take. Run each delete alone, or in a transaction."
    ) in str(refused.value)
    plain = Table("Plain", key=Key("pk"), type_attribute="kind")

    class One(Entity, table=plain, key="ONE#{id}"):
        id: str = part()

    assert batch([One.delete(id="1")]).to_dynamodb()
    assert "ConditionExpression" not in One.delete(id="1").to_dynamodb()

    class Other(Entity, table=plain, key="OTHER#{id}"):
        id: str = part()

    assert "ConditionExpression" not in Other.delete(id="1").to_dynamodb()

    class Free(Entity, table=plain, key="{pk}"):
        pk: str

    for delete in (One.delete(id="1"), Free.delete(pk="1")):
        assert "ConditionExpression" in delete.to_dynamodb()
