"""`Entity.upgrade`: items that older programs stored are read, and written, in today's form."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from pydantic import BaseModel

from keyfold.errors import ConditionFailed, ItemInvalid, VersionConflict
from keyfold.model import Entity, Index, Key, Table, attr, batch, computed_field, part, transaction
from keyfold.store import Store, StoreSettings
from keyfold.values import Item
from tests.transports import Database
from tests.unit.store.store_kinds import AnyStore, OpenStore

by_last = Index("ByLast", key=Key("last"), project=["first"])
people = Table("People", key=Key("pk"), indexes=[by_last])


class Person(Entity, table=people, key="P#{id}"):
    id: str = part()
    first: str
    last: str = attr(was="surname")
    cents: int
    note: str = ""

    @classmethod
    def upgrade(cls, stored: dict[str, Any]) -> dict[str, Any]:
        if "name" in stored:
            stored["first"], stored["last"] = stored.pop("name").split(" ")
        if "price" in stored:
            stored["cents"] = int(stored.pop("price") * 100)
        return stored


class First(BaseModel):
    first: str


OLD: Item = {
    "pk": {"S": "P#1"},
    "name": {"S": "Ada Lovelace"},
    "price": {"N": "2.5"},
    "unknown": {"SS": ["a"]},
}
NEW: Item = {
    "pk": {"S": "P#1"},
    "first": {"S": "Ada"},
    "last": {"S": "Lovelace"},
    "cents": {"N": "250"},
    "note": {"S": ""},
    "unknown": {"SS": ["a"]},
}
ADA = Person(id="1", first="Ada", last="Lovelace", cents=250)


@pytest.fixture
def database(engine: Database) -> Database:
    Store(engine, StoreSettings([people])).create_table(people)
    put(engine, OLD)
    return engine


@pytest.fixture
def store(make_store: OpenStore, database: Database) -> AnyStore:
    return make_store(database, [people])


def put(engine: Database, item: Item) -> None:
    engine.execute("PutItem", {"TableName": "People", "Item": item})


def stored(engine: Database) -> Item:
    key = {"pk": {"S": "P#1"}}
    return engine.execute("GetItem", {"TableName": "People", "Key": key})["Item"]


def read(store: AnyStore) -> Person:
    found = store.run(Person.get(id="1"))
    assert found is not None
    return found


def test_every_read_upgrades(store: AnyStore) -> None:
    assert read(store) == ADA
    assert list(store.run(Person.scan())) == [ADA]
    assert store.run(people.get(pk="P#1")) == ADA
    assert store.run(batch([Person.get(id="1")])) == [ADA]
    assert store.run(transaction(Person.get(id="1"))) == [ADA]
    assert store.run(Person.delete(id="1")) == ADA


def test_an_item_of_today_is_read_as_it_is(store: AnyStore, database: Database) -> None:
    put(database, NEW)
    assert read(store) == ADA


def test_an_upgrade_sees_current_names(store: AnyStore, database: Database) -> None:
    put(database, {**NEW, "last": {"S": "King"}})
    assert read(store).last == "King"
    del (item := dict(NEW))["last"]
    put(database, {**item, "surname": {"S": "Byron"}})
    assert read(store).last == "Byron"


@pytest.mark.indexes
def test_a_projection_is_made_of_the_whole_item(store: AnyStore, database: Database) -> None:
    assert store.run(Person.get(id="1").only(First)) == First(first="Ada")
    assert list(store.run(Person.scan().only(First))) == [First(first="Ada")]
    put(database, NEW)
    found = store.run_until(Person.query(by_last, last="Lovelace").only(First), len)
    assert list(found) == [First(first="Ada")]


def test_a_put_writes_the_upgraded_item(store: AnyStore, database: Database) -> None:
    written = store.run(read(store).put())
    assert stored(database) == NEW
    assert store.run(written.change(note="x")).note == "x"


def test_a_change_writes_all_that_the_upgrade_changed(store: AnyStore, database: Database) -> None:
    changed = store.run(read(store).change(first="Augusta"))
    assert changed == ADA.model_copy(update={"first": "Augusta"})
    expected = {**NEW, "first": {"S": "Augusta"}}
    assert stored(database) == {name: expected[name] for name in expected if name != "note"}
    assert store.run(changed.change(cents=1)).cents == 1


def test_a_change_fails_if_the_old_form_was_written_since(
    store: AnyStore, database: Database
) -> None:
    ada = read(store)
    put(database, {**OLD, "name": {"S": "Ada King"}})
    with pytest.raises(VersionConflict, match="name changed since it was read") as conflict:
        store.run(ada.change(note="x"))
    assert conflict.value.found == ADA.model_copy(update={"last": "King"})
    # A failed condition of the caller's is no conflict.
    again = read(store)
    with pytest.raises(ConditionFailed) as failed:
        store.run(again.change(note="x").where(Person.f.cents.eq(0)))
    assert type(failed.value) is ConditionFailed
    assert "first" not in stored(database)


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ({"name": {"S": "Ada"}}, "Person.upgrade() failed: ValueError: not enough values"),
        ({"price": {"L": []}}, "Person.upgrade() failed: TypeError: int()"),
    ],
)
def test_an_upgrade_that_fails_makes_its_item_invalid(
    store: AnyStore, database: Database, item: Item, reason: str
) -> None:
    put(database, {"pk": {"S": "P#1"}, **item})
    with pytest.raises(ItemInvalid) as invalid:
        store.run(Person.get(id="1"))
    assert reason in str(invalid.value)


@pytest.mark.parametrize("result", [None, {"first": object()}])
def test_a_result_that_is_no_item_is_reported(
    make_store: OpenStore, engine: Database, result: Any
) -> None:
    table = Table("Broken", key=Key("pk"))

    class Thing(Entity, table=table, key="T#{id}"):
        id: str = part()

        @classmethod
        def upgrade(cls, stored: dict[str, Any]) -> dict[str, Any]:
            return result

    Store(engine, StoreSettings([table])).create_table(table)
    store = make_store(engine, [table])
    store.run(Thing(id="1").put())
    with pytest.raises(ItemInvalid, match=r"Thing\.upgrade\(\) failed: "):
        store.run(Thing.get(id="1"))


def test_a_base_class_can_upgrade_its_entities() -> None:
    table = Table("Based", key=Key("pk"))

    class Base(Entity):
        @classmethod
        def upgrade(cls, stored: dict[str, Any]) -> dict[str, Any]:
            return {**stored, "kind_of": cls.__name__}

    class Thing(Base, table=table, key="T#{id}"):
        id: str = part()
        kind_of: str

    item: Item = {"pk": {"S": "T#1"}}
    assert Thing.keyfold_schema().decode(item) == Thing(id="1", kind_of="Thing")


by_state = Index("ByState", key=Key("state_pk", "state_sk"))
jobs = Table("Jobs", key=Key("pk"), indexes=[by_state])


class Job(Entity, table=jobs, key="J#{id}", indexes={by_state: ("S#{state}", "{id}")}):
    id: str = part()
    state: str
    tries: int = 0

    @computed_field(depends=("state",))
    def heading(self) -> str:
        return f"{self.id}: {self.state}"

    @classmethod
    def upgrade(cls, stored: dict[str, Any]) -> dict[str, Any]:
        if isinstance(stored["state"], int):
            stored["state"] = ("open", "done")[stored["state"]]
        return stored


stamped = Table("Stamped", key=Key("pk"))


class StampedJob(Entity, table=stamped, key="J#{id}"):
    id: str = part()
    state: str
    tries: int = 0
    stamp: str = ""

    @classmethod
    def upgrade(cls, stored: dict[str, Any]) -> dict[str, Any]:
        return Job.upgrade(stored)

    def before_write(self, now: datetime) -> StampedJob:
        return self.model_copy(update={"stamp": f"{now:%Y}"})


def test_a_change_renews_the_index_keys_and_computed_fields_of_what_was_upgraded(
    make_store: OpenStore, engine: Database
) -> None:
    Store(engine, StoreSettings([jobs])).create_table(jobs)
    store = make_store(engine, [jobs])
    old: Item = {
        "pk": {"S": "J#1"},
        "state": {"N": "0"},
        "tries": {"N": "0"},
        "heading": {"S": "1: 0"},
        "state_pk": {"S": "S#0"},
        "state_sk": {"S": "1"},
    }
    engine.execute("PutItem", {"TableName": "Jobs", "Item": old})
    job = store.run(Job.get(id="1"))
    assert job is not None
    store.run(job.change(tries=1))
    assert engine.execute("Scan", {"TableName": "Jobs"})["Items"] == [
        {
            **old,
            "state": {"S": "open"},
            "tries": {"N": "1"},
            "heading": {"S": "1: open"},
            "state_pk": {"S": "S#open"},
        }
    ]


def test_a_change_that_passes_before_write_expects_what_was_upgraded(
    make_store: OpenStore, engine: Database
) -> None:
    Store(engine, StoreSettings([stamped])).create_table(stamped)
    store = make_store(engine, [stamped])
    old: Item = {"pk": {"S": "J#1"}, "state": {"N": "0"}, "tries": {"N": "0"}}
    engine.execute("PutItem", {"TableName": "Stamped", "Item": old})
    job = store.run(StampedJob.get(id="1"))
    assert job is not None
    # Another program, in the old form.
    engine.execute("PutItem", {"TableName": "Stamped", "Item": {**old, "state": {"N": "1"}}})
    with pytest.raises(VersionConflict, match="state changed since it was read"):
        store.run(job.change(tries=1))
    found = store.run(job.refresh())
    assert found is not None
    assert found.state == "done"
