"""Fields that are stored only in the key come back the same, however they were given."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import StrEnum
from typing import Any
from uuid import UUID

import pytest

from keyfold.errors import KeyPartInvalid
from keyfold.keys import Ulid
from keyfold.model import Entity, Key, Table, batch, part, transaction
from tests.unit.store.store_kinds import AnyStore, OpenStore

EAST = timezone(timedelta(hours=2))


class EventId(Ulid, prefix="E"): ...


class Colour(StrEnum):
    RED = "red"


class Word(str):
    """A subclass of str."""

    __slots__ = ()


events = Table("Events", key=Key("pk", "sk"))


class Event(Entity, table=events, key=("E#{id}#{day}#{number:03}", "{colour}#{uid}#{name}")):
    id: EventId = part()
    day: date = part()
    number: int = part()
    colour: Colour = part()
    uid: UUID = part()
    name: str = part()
    text: str = ""


class Reading(Entity, table=events, key=("R#{at}", "{value:4.2}")):
    at: datetime = part()
    value: Decimal = part()


EVENT = Event(
    id=EventId.at(datetime(2024, 1, 1, tzinfo=UTC)),
    day=date(2024, 1, 1),
    number=7,
    colour=Colour.RED,
    uid=UUID(int=1),
    name="x",
)
PARTS = {name: getattr(EVENT, name) for name in Event.keyfold_schema().parts}
OTHERS: list[tuple[str, Any]] = [
    ("id", str(EVENT.id)),
    ("day", "2024-01-01"),
    ("number", "7"),
    ("colour", "red"),
    ("uid", str(EVENT.uid)),
    ("uid", EVENT.uid.hex.upper()),
    ("name", Word("x")),
]


@pytest.fixture
def store(open_store: OpenStore) -> AnyStore:
    store = open_store(events)
    store.run(EVENT.put())
    return store


def types_of(event: Event | None) -> dict[str, type]:
    return {name: type(value) for name, value in dict(event or ()).items()}


@pytest.mark.parametrize(("name", "value"), [("id", EVENT.id), *OTHERS])
def test_a_part_comes_back_as_its_field_holds_it(store: AnyStore, name: str, value: Any) -> None:
    get = Event.get(**{**PARTS, name: value})
    for found in (
        store.run(get),
        *store.run(batch([get])),
        *store.run(transaction(get)),
        store.run(Event.query(**{**PARTS, name: value}).first()),
        store.run(Event.update(**{**PARTS, name: value}).set(Event.f.text, "")),
    ):
        assert found == EVENT
        assert types_of(found) == types_of(EVENT)


def test_a_time_of_another_zone_comes_back_in_utc(store: AnyStore) -> None:
    at = datetime(2024, 1, 1, 2, tzinfo=EAST)
    store.run(Reading(at=at, value=Decimal("1.5")).put())
    found = store.run(Reading.get(at=at, value=Decimal("1.5")))
    assert found is not None
    assert (found.at, found.at.tzinfo, str(found.value)) == (at, UTC, "1.50")
    assert found == store.run(Reading.query(at=at).first())


def test_text_that_is_not_a_valid_part_is_refused(store: AnyStore) -> None:
    for name, value in (("id", "E#1"), ("day", "today"), ("number", "x"), ("uid", "1")):
        with pytest.raises(KeyPartInvalid, match=f"Event: part '{name}' .* got '{value}'"):
            Event.get(**{**PARTS, name: value})
