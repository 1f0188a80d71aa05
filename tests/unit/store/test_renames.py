"""Renamed classes and attributes: what is stored under former names is found, changed and replaced."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from keyfold.errors import (
    ConditionFailed,
    DeclarationInvalid,
    NotFound,
    OutOfBounds,
    VersionConflict,
)
from keyfold.model import Entity, Index, Key, Table, Version, attr, part
from keyfold.store import Store, StoreSettings
from keyfold.values import Item
from tests.transports import Database
from tests.unit.store.store_kinds import AnyStore, OpenStore

by_team = Index("ByTeam", key=Key("team"), project=["fullname", "kind", "town"])
club = Table("Club", key=Key("pk"), indexes=[by_team], type_attribute="kind")


class Address(BaseModel):
    city: str = attr(was="town")
    street: str = ""


class Member(Entity, table=club, key="M#{id}", kind=("Member", "User", "Person")):
    id: str = part()
    name: str = attr("name", was=("fullname", "full"))
    team: str | None = None
    visits: int = attr(was="count", default=0, ge=0, le=900)
    tags: set[str] = attr(was="labels", default=set())
    notes: list[str] = attr(was="remarks", default=[])
    address: Address | None = attr(was="adr", default=None)


class Draft(Entity, table=club, key="D#{id}"):
    id: str = part()
    text: str = ""
    version: Version = attr(was="revision", default=0)


class Name(BaseModel):
    name: str


OLD: Item = {
    "pk": {"S": "M#1"},
    "kind": {"S": "User"},
    "fullname": {"S": "Ada"},
    "count": {"N": "3"},
    "labels": {"SS": ["a"]},
    "remarks": {"L": [{"S": "hello"}]},
    "adr": {"M": {"town": {"S": "Rome"}}},
    "team": {"S": "red"},
}
ADA = Member(
    id="1",
    name="Ada",
    team="red",
    visits=3,
    tags={"a"},
    notes=["hello"],
    address=Address(city="Rome"),
)

OLD_DRAFT: Item = {"pk": {"S": "D#1"}, "kind": {"S": "Draft"}, "revision": {"N": "7"}}


@pytest.fixture
def database(engine: Database) -> Database:
    Store(engine, StoreSettings([club])).create_table(club)
    put(engine, OLD)
    return engine


@pytest.fixture
def members(make_store: OpenStore, database: Database) -> AnyStore:
    return make_store(database, [club])


def put(engine: Database, item: Item) -> None:
    engine.execute("PutItem", {"TableName": "Club", "Item": item})


def stored(engine: Database, pk: str = "M#1") -> Item:
    key = {"pk": {"S": pk}}
    return engine.execute("GetItem", {"TableName": "Club", "Key": key})["Item"]


def test_an_item_with_a_former_kind_and_former_names_is_read(members: AnyStore) -> None:
    assert members.run(Member.get(id="1")) == ADA
    assert list(members.run(Member.scan())) == [ADA]
    assert list(members.run(club.scan())) == [ADA]


def test_the_current_name_wins_and_then_the_newest(members: AnyStore, database: Database) -> None:
    put(database, {**OLD, "full": {"S": "Oldest"}})
    assert members.run(Member.get(id="1")) == ADA
    put(database, {**OLD, "name": {"S": "Grace"}})
    found = members.run(Member.get(id="1"))
    assert found is not None
    assert found.name == "Grace"


def test_a_put_writes_current_names_alone(members: AnyStore, database: Database) -> None:
    found = members.run(Member.get(id="1"))
    assert found is not None
    members.run(found.put())
    assert stored(database) == {
        "pk": {"S": "M#1"},
        "kind": {"S": "Member"},
        "name": {"S": "Ada"},
        "visits": {"N": "3"},
        "tags": {"SS": ["a"]},
        "notes": {"L": [{"S": "hello"}]},
        "address": {"M": {"city": {"S": "Rome"}, "street": {"S": ""}}},
        "team": {"S": "red"},
    }


def test_a_put_of_a_stale_version_fails_under_the_former_name(
    members: AnyStore, database: Database
) -> None:
    put(database, OLD_DRAFT)
    with pytest.raises(VersionConflict, match="now has 7"):
        members.run(Draft(id="1", version=6).put())
    members.run(Draft(id="1", version=7).put())
    assert stored(database, "D#1")["version"] == {"N": "8"}
    assert "revision" not in stored(database, "D#1")


def test_a_version_is_counted_from_what_its_former_name_holds(
    members: AnyStore, database: Database
) -> None:
    put(database, OLD_DRAFT)
    update = Draft.update(id="1").set(Draft.f.text, "one")
    with pytest.raises(VersionConflict, match="now has 7"):
        members.run(update.knowing(version=6))
    draft = members.run(update.knowing(version=7))
    assert draft.version == 8
    assert "revision" not in stored(database, "D#1")
    put(database, OLD_DRAFT)
    assert members.run(update).version == 8
    put(database, OLD_DRAFT)
    found = members.run(Draft.get(id="1"))
    assert found is not None
    assert members.run(found.change(text="two")).version == 8
    assert "revision" not in stored(database, "D#1")


def test_an_update_moves_what_it_sets_to_the_current_name(
    members: AnyStore, database: Database
) -> None:
    update = Member.update(id="1").set(Member.f.name, "Grace").increment(Member.f.visits, 2)
    found = members.run(update)
    assert (found.name, found.visits) == ("Grace", 5)
    left = {"pk", "kind", "name", "visits", "labels", "remarks", "adr", "team"}
    assert stored(database).keys() == left


def test_members_are_appended_to_what_a_former_name_holds(
    members: AnyStore, database: Database
) -> None:
    for member in ("one", "two"):
        members.run(Member.update(id="1").append(Member.f.notes, member))
    assert stored(database)["notes"] == {"L": [{"S": "hello"}, {"S": "one"}, {"S": "two"}]}
    assert "remarks" not in stored(database)


def test_a_change_of_an_item_with_former_names_writes_what_differs(
    members: AnyStore, database: Database
) -> None:
    found = members.run(Member.get(id="1"))
    assert found is not None
    changed = members.run(found.change(name="Grace", tags={"a", "b"}, address=Address(city="Oslo")))
    assert changed == ADA.model_copy(
        update={"name": "Grace", "tags": {"a", "b"}, "address": Address(city="Oslo")}
    )
    left = {"pk", "kind", "name", "count", "tags", "remarks", "address", "team"}
    assert stored(database).keys() == left


def test_a_change_is_based_on_what_a_former_name_holds(
    make_store: OpenStore, engine: Database
) -> None:
    plain = Table("Plain", key=Key("pk"))

    class Note(Entity, table=plain, key="N#{id}"):
        id: str = part()
        text: str = attr(was="body")

    Store(engine, StoreSettings([plain])).create_table(plain)
    item: Item = {"pk": {"S": "N#1"}, "body": {"S": "one"}}
    engine.execute("PutItem", {"TableName": "Plain", "Item": item})
    store = make_store(engine, [plain])
    note = store.run(Note.get(id="1"))
    assert note is not None
    assert store.run(note.change(text="two")).text == "two"
    with pytest.raises(ConditionFailed):
        store.run(note.change(text="three"))


def test_numbers_are_added_to_what_a_former_name_holds(
    members: AnyStore, database: Database
) -> None:
    assert members.run(Member.update(id="1").add(Member.f.visits, 4)).visits == 7
    assert members.run(Member.update(id="1").add(Member.f.visits, 4)).visits == 11
    assert "count" not in stored(database)


def test_the_bound_is_named_that_a_value_under_a_former_name_would_leave(members: AnyStore) -> None:
    with pytest.raises(OutOfBounds) as caught:
        members.run(Member.update(id="1").increment(Member.f.visits, 898))
    assert caught.value.fact == "visits plus 898 would not be at most 900"


def test_a_value_is_set_only_if_no_name_holds_one(members: AnyStore) -> None:
    update = Member.update(id="1").set_if_absent(Member.f.visits, 100)
    assert members.run(update).visits == 3


def test_removing_a_field_removes_every_name(members: AnyStore, database: Database) -> None:
    assert members.run(Member.update(id="1").remove(Member.f.address)).address is None
    assert stored(database).keys().isdisjoint({"adr", "address"})


def test_a_nested_value_is_moved_within_its_map(members: AnyStore, database: Database) -> None:
    put(database, {**OLD, "address": {"M": {"town": {"S": "Rome"}}}})
    found = members.run(Member.update(id="1").set(Member.f.address.city, "Oslo"))
    assert found.address == Address(city="Oslo")
    assert stored(database)["address"] == {"M": {"city": {"S": "Oslo"}}}


@pytest.mark.parametrize(
    "update",
    [
        Member.update(id="1").add(Member.f.tags, {"b"}),
        Member.update(id="1").delete(Member.f.tags, {"a"}),
        Member.update(id="1").set(Member.f.address.city, "Oslo"),
    ],
)
def test_a_change_that_cannot_move_a_value_follows_an_update_that_can(
    members: AnyStore, database: Database, update: Any
) -> None:
    members.calls.clear()
    members.run(update)
    assert [call.operation for call in members.calls] == [
        "UpdateItem",
        "GetItem",
        "UpdateItem",
        "UpdateItem",
    ]
    assert stored(database).keys().isdisjoint({"labels", "adr"})
    members.calls.clear()
    members.run(update)
    assert len(members.calls) == 1, "what is up to date costs one call"


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (Member.f.name.eq("Ada"), True),
        (Member.f.name.ne("Ada"), False),
        (Member.f.name.in_("Ada", "Grace"), True),
        (Member.f.name.begins_with("B"), False),
        (Member.f.name.size > 2, True),
        (Member.f.visits.between(1, 2), False),
        (Member.f.name.exists(), True),
        (Member.f.name.not_exists(), False),
        (~Member.f.name.eq("Ada"), False),
        (Member.f.address.city.eq("Rome"), True),
        (Member.f.address.street.exists(), False),
        (Member.f.tags.contains("a") & Member.f.visits.eq(3), True),
        (Member.f.team.eq(Member.f.name), False),
    ],
)
@pytest.mark.parametrize("form", ["former", "current"])
def test_conditions_test_the_name_that_a_read_uses(
    members: AnyStore, database: Database, condition: Any, holds: bool, form: str
) -> None:
    if form == "current":
        put(
            database,
            {
                "pk": {"S": "M#1"},
                "name": {"S": "Ada"},
                # Left behind by an old program: it is never read.
                "fullname": {"S": "Nobody"},
                "visits": {"N": "3"},
                "tags": {"SS": ["a"]},
                "address": {"M": {"city": {"S": "Rome"}}},
                "team": {"S": "red"},
            },
        )
    assert bool(list(members.run(Member.scan().where(condition)))) is holds
    assert bool(list(members.run(club.scan().where(condition)))) is holds
    update = Member.update(id="1").set(Member.f.team, "blue").where(condition)
    if holds:
        assert members.run(update).team == "blue"
    else:
        with pytest.raises(ConditionFailed):
            members.run(update)


def test_a_projection_reads_former_names(members: AnyStore) -> None:
    assert members.run(Member.get(id="1").only(Name)) == Name(name="Ada")


@pytest.mark.indexes
def test_an_index_that_lacks_a_former_name_can_be_read(
    make_store: OpenStore, engine: Database
) -> None:
    by_size = Index("BySize", key=Key("size"), project=["label"])
    boxes = Table("Boxes", key=Key("pk"), indexes=[by_size])

    class Box(Entity, table=boxes, key="B#{id}"):
        id: str = part()
        size: int
        label: str = attr(was="title")

    class Label(BaseModel):
        label: str

    Store(engine, StoreSettings([boxes])).create_table(boxes)
    store = make_store(engine, [boxes])
    store.run(Box(id="1", size=3, label="blue").put())
    found = store.run_until(Box.query(by_size, size=3).only(Label), len)
    assert list(found) == [Label(label="blue")]


def test_an_update_of_another_kind_finds_nothing(members: AnyStore, database: Database) -> None:
    put(database, {**OLD, "kind": {"S": "Guest"}})
    with pytest.raises(NotFound):
        members.run(Member.update(id="1").set(Member.f.team, "blue"))


@pytest.mark.parametrize(
    ("fields", "options", "problem"),
    [
        ({"name": attr(was="name")}, {}, "Renamed.name: was='name' is the name of another"),
        ({"name": attr("n", was=("a", "a"))}, {}, "was='a' is the name of another attribute, or"),
        ({"name": attr("n", was="pk")}, {}, "was='pk' is the name"),
        ({"name": attr("n", was="kind")}, {}, "was='kind' is the name"),
        ({}, {"kind": ("A", "A")}, "lists the same value twice"),
        ({}, {"kind": ()}, "lists no value"),
        ({}, {"kind": ("A", "")}, "or an empty one"),
    ],
)
def test_former_names_may_not_be_ambiguous(
    fields: dict[str, Any], options: dict[str, Any], problem: str
) -> None:
    table = Table("Other", key=Key("pk"), type_attribute="kind")
    body = {"__annotations__": {"id": str, **dict.fromkeys(fields, str)}, "id": part(), **fields}
    metaclass: Any = type(Entity)
    with pytest.raises(DeclarationInvalid, match=problem):
        metaclass("Renamed", (Entity,), body, table=table, key="R#{id}", **options)


def test_a_field_in_the_key_cannot_be_renamed() -> None:
    table = Table("Other", key=Key("pk"))
    with pytest.raises(DeclarationInvalid, match="whose attributes cannot be renamed"):

        class Held(Entity, table=table, key="{id}"):  # pyright: ignore[reportUnusedClass]
            id: str = attr("pk", was="id")


def test_two_entities_may_not_share_a_former_kind() -> None:
    table = Table("Other", key=Key("pk"), type_attribute="kind")

    class One(Entity, table=table, key="1#{id}", kind=("One", "Item")):  # pyright: ignore[reportUnusedClass]
        id: str = part()

    class Two(Entity, table=table, key="2#{id}", kind=("Two", "Item")):  # pyright: ignore[reportUnusedClass]
        id: str = part()

    with pytest.raises(DeclarationInvalid, match="One and Two are both of kind 'Item'"):
        table.check()
