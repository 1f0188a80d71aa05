"""Fields that are stored and part of the key are read by the key if their attribute is absent."""

from __future__ import annotations

from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel

from keyfold import Change, Ulid, computed_field
from keyfold.errors import ItemInvalid, QueryInvalid
from keyfold.model import Entity, Index, Key, Table, UnixTime, part
from keyfold.store import Store, StoreSettings
from keyfold.testing import Clock
from keyfold.values import Item
from tests.transports import Database
from tests.unit.store.store_kinds import AnyStore, Kind, OpenStore, any_store_on

by_state = Index("ByState", key=Key("state_pk"), project="keys")
by_desk = Index("ByDesk", key=Key("desk"), project=["day"])
office = Table("Office", key=Key("pk", "sk"), indexes=[by_state, by_desk], stream="new and old")


class DeskId(Ulid, prefix="D"):
    """The id of a desk."""


class State(StrEnum):
    OPEN = "open"
    DONE = "done"


class Booking(
    Entity,
    table=office,
    key=("{room}", "B#{day}#{slot:03}#{state}#{desk}"),
    indexes={by_state: "STATE#{state}"},
):
    """Every type of key part that is stored in another form than in the key."""

    room: UUID
    day: date
    slot: int
    state: State = State.OPEN
    desk: DeskId | None = None
    note: str = ""

    @computed_field(depends=("slot",))
    def hour(self) -> int:
        return self.slot + 8


class Visit(Entity, table=office, key=("{room}", "V#{at}")):
    room: UUID = part()
    at: UnixTime
    guest: str


class Slot(BaseModel):
    room: UUID
    day: date
    slot: int


class RoomAndNote(BaseModel):
    day: date
    note: str


ROOM = UUID(int=7)
DESK = DeskId("D#01JZ10H7X367VB2NF4YQ973DHW")
KEY: Item = {"pk": {"S": str(ROOM)}, "sk": {"S": f"B#2026-01-02#004#done#{DESK}"}}
BOOKING = Booking(room=ROOM, day=date(2026, 1, 2), slot=4, state=State.DONE, desk=DESK)
STORED = BOOKING.put().to_dynamodb()["Item"]


@pytest.fixture
def database(engine: Database) -> Database:
    Store(engine, StoreSettings([office])).create_table(office)
    return engine


@pytest.fixture
def rooms(make_store: OpenStore, database: Database) -> AnyStore:
    return make_store(database, [office])


def put(engine: Database, item: Item) -> None:
    engine.execute("PutItem", {"TableName": "Office", "Item": item})


def get(**more: Any) -> Any:
    return Booking.get(room=ROOM, day=date(2026, 1, 2), slot=4, state=State.DONE, desk=DESK, **more)


def test_an_item_with_a_key_alone_is_read_whole(rooms: AnyStore, database: Database) -> None:
    put(database, KEY)
    assert rooms.run(get()) == BOOKING
    assert list(rooms.run(Booking.query(room=ROOM))) == [BOOKING]
    assert list(rooms.run(office.scan())) == [BOOKING]


@pytest.mark.parametrize("absent", ["room", "day", "slot", "state", "desk"])
def test_each_field_is_recovered_by_itself(
    rooms: AnyStore, database: Database, absent: str
) -> None:
    put(database, {name: value for name, value in STORED.items() if name != absent})
    assert rooms.run(get()) == BOOKING


def test_the_key_comes_before_a_default_and_before_none(
    rooms: AnyStore, database: Database
) -> None:
    put(database, {name: STORED[name] for name in STORED if name not in ("state", "desk")})
    found = rooms.run(get())
    assert found is not None
    assert (found.state, found.desk) == (State.DONE, DESK)
    assert {"state", "desk"} <= found.model_fields_set


def test_a_stored_value_comes_before_the_key(rooms: AnyStore, database: Database) -> None:
    put(database, {**STORED, "note": {"S": "x"}, "slot": {"N": "9"}})
    found = rooms.run(get())
    assert found is not None
    assert found.slot == 9


def test_a_time_is_recovered_in_the_form_of_the_key(rooms: AnyStore, database: Database) -> None:
    visit = Visit(room=ROOM, at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), guest="Ada")
    item = visit.put().to_dynamodb()["Item"]
    del item["at"]
    put(database, item)
    assert rooms.run(Visit.get(room=ROOM, at=visit.at)) == visit


def test_writing_it_back_stores_the_attributes(rooms: AnyStore, database: Database) -> None:
    put(database, KEY)
    found = rooms.run(get())
    assert found is not None
    rooms.run(found.put())
    read = database.execute("GetItem", {"TableName": "Office", "Key": KEY})["Item"]
    assert read == STORED


def test_a_change_of_another_field_works(rooms: AnyStore, database: Database) -> None:
    put(database, KEY)
    found = rooms.run(get())
    assert found is not None
    changed = rooms.run(found.change(note="moved"))
    assert changed == BOOKING.model_copy(update={"note": "moved"})


def test_projections_recover_fields(rooms: AnyStore, database: Database) -> None:
    put(database, KEY)
    slot = Slot(room=ROOM, day=date(2026, 1, 2), slot=4)
    assert rooms.run(get().only(Slot)) == slot
    assert list(rooms.run(Booking.query(room=ROOM).only(Slot))) == [slot]


@pytest.mark.indexes
def test_an_index_need_not_hold_what_the_primary_key_has(
    rooms: AnyStore, database: Database
) -> None:
    put(database, STORED)
    slot = Slot(room=ROOM, day=date(2026, 1, 2), slot=4)
    done = Booking.query(by_state, state=State.DONE).only(Slot)
    assert list(rooms.run_until(done, len)) == [slot]
    assert list(rooms.run(Booking.query(by_desk, desk=DESK).only(Slot))) == [slot]
    with pytest.raises(QueryInvalid, match="ByState does not hold note"):
        rooms.run(Booking.query(by_state, state=State.DONE).only(RoomAndNote))


def test_a_key_that_cannot_be_read_is_reported(rooms: AnyStore, database: Database) -> None:
    item = {**STORED, "sk": {"S": "B#2026-01-02#004#done#?"}}
    put(database, item)
    page = rooms.run(Booking.query(room=ROOM))
    assert not list(page)
    assert [each.item for each in page.invalid] == [item]


def test_what_neither_key_nor_attribute_has_is_missing(rooms: AnyStore, database: Database) -> None:
    put(database, {"pk": {"S": str(ROOM)}, "sk": {"S": "V#2026-01-02T03:04:05.000000Z"}})
    with pytest.raises(ItemInvalid, match="guest"):
        rooms.run(Visit.get(room=ROOM, at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)))


def test_changes_in_the_stream_have_the_fields(
    kind: Kind, database: Database, clock: Clock
) -> None:
    changes: list[Change[Any]] = []
    office.on_change(Booking, name="recovered")(changes.append)
    store = any_store_on(kind, database, [office], clock=clock, moves_clock=True, is_embedded=True)
    put(database, KEY)
    store.follow(office, until_caught_up=True)
    store.close()
    assert [change.new for change in changes] == [BOOKING]
