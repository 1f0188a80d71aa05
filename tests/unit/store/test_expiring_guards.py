"""Guards of unique values expire with their entity, and an expired value can be taken."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from keyfold.engine import Engine
from keyfold.errors import NotFound, UniqueTaken, UpdateInvalid, ValidationException
from keyfold.model import Entity, Expiry, Key, Table, transaction
from keyfold.store import Store, StoreSettings, make_write_checks
from keyfold.store._plans import repeat_call
from keyfold.store._unique_audit import UniqueAudit, UniqueReport
from keyfold.testing import Clock
from tests.transports import Database
from tests.unit.store.store_kinds import START, AnyStore, OpenStore

rooms = Table("Rooms", key=Key("pk"), ttl="until")
HOUR = timedelta(hours=1)
SOON, LATER = START + HOUR, START + 2 * HOUR


class Booking(Entity, table=rooms, key="B#{id}", unique="code"):
    """A booking with a code, which others may have when it has expired."""

    id: str
    code: str | None = None
    until: Expiry | None = None


@pytest.fixture
def store(make_store: OpenStore, engine: Database) -> AnyStore:
    store = make_store(engine, [rooms])
    store.create_table(rooms)
    return store


def guards(engine: Database) -> Mapping[str, tuple[str, str | None]]:
    """Return the owner and the expiry of each guard, by value."""
    items = engine.execute("Scan", {"TableName": "Rooms", "ConsistentRead": True})["Items"]
    return {
        item["pk"]["S"].rpartition("#")[2]: (
            item["keyfold_owner"]["M"]["pk"]["S"],
            item.get("until", {}).get("N"),
        )
        for item in items
        if "keyfold_owner" in item
    }


def seconds(time: Any) -> str:
    return str(int(time.timestamp()))


def test_a_guard_has_the_expiry_of_its_entity(store: AnyStore, engine: Database) -> None:
    store.run(Booking(id="a", code="x", until=SOON).create())
    store.run(Booking(id="b", code="y").create())
    store.run(Booking(id="c", code="z").put().expiring_in(HOUR))
    soon = seconds(SOON)
    assert guards(engine) == {"x": ("B#a", soon), "y": ("B#b", None), "z": ("B#c", soon)}


def test_a_new_expiry_is_that_of_the_guard_too(store: AnyStore, engine: Database) -> None:
    booking = store.run(Booking(id="a", code="x").create())
    store.run(Booking.update(id="a").expiring_in(HOUR))
    assert guards(engine) == {"x": ("B#a", seconds(SOON))}
    store.run(Booking.update(id="a").set(Booking.f.until, LATER))
    assert guards(engine) == {"x": ("B#a", seconds(LATER))}
    store.run(Booking.update(id="a").remove(Booking.f.until))
    assert guards(engine) == {"x": ("B#a", None)}
    booking = store.run(booking.change(until=SOON))
    assert guards(engine) == {"x": ("B#a", seconds(SOON))}
    store.run(booking.change(code="y"))
    assert guards(engine) == {"y": ("B#a", seconds(SOON))}, "the expiry stays"
    store.run(Booking(id="a", code="y", until=LATER).replace())
    assert guards(engine) == {"y": ("B#a", seconds(LATER))}
    store.run(transaction(Booking.update(id="a").set(Booking.f.until, None)))
    assert guards(engine) == {"y": ("B#a", None)}
    store.run(Booking(id="b", until=SOON).create())
    store.run(Booking.update(id="b").set(Booking.f.code, "z"))
    assert guards(engine)["z"] == ("B#b", seconds(SOON))


def test_the_value_of_an_expired_entity_can_be_taken(
    store: AnyStore, engine: Database, clock: Clock
) -> None:
    store.run(Booking(id="a", code="x", until=SOON).create())
    with pytest.raises(UniqueTaken):
        store.run(Booking(id="b", code="x").create())
    clock.advance(HOUR)
    taken = Booking(id="b", code="x", until=LATER)
    store.run(taken.create())
    assert guards(engine) == {"x": ("B#b", seconds(LATER))}
    # The entity that has expired has no values: it neither releases nor keeps the guard.
    with pytest.raises(UniqueTaken):
        store.run(Booking(id="a", code="x").put())
    with pytest.raises(UniqueTaken):
        store.run(Booking(id="a", code="x").create())
    with pytest.raises(NotFound):
        store.run(Booking.update(id="a").set(Booking.f.code, "y"))
    store.run(Booking(id="a", code="y").put())
    assert guards(engine) == {"x": ("B#b", seconds(LATER)), "y": ("B#a", None)}


def test_an_expired_entity_that_is_deleted_leaves_the_guard_of_another(
    store: AnyStore, engine: Database, clock: Clock
) -> None:
    store.run(Booking(id="a", code="x", until=SOON).create())
    clock.advance(HOUR)
    store.run(Booking(id="b", code="x").create())
    store.run(Booking.delete(id="a"))
    assert guards(engine) == {"x": ("B#b", None)}


def test_an_entity_takes_its_own_value_again_after_it_expired(
    store: AnyStore, engine: Database, clock: Clock
) -> None:
    store.run(Booking(id="a", code="x", until=SOON).create())
    clock.advance(HOUR)
    store.run(Booking(id="a", code="x").create())
    assert guards(engine) == {"x": ("B#a", None)}


def test_what_is_not_known_in_advance_cannot_be_the_expiry() -> None:
    upsert = Booking.update(id="a").expiring_in(HOUR)
    with pytest.raises(UpdateInvalid, match="guards of unique values expire with their entity"):
        upsert.or_create()
    with pytest.raises(UpdateInvalid, match="guards of unique values expire with their entity"):
        Booking.update(id="a").set_if_absent(Booking.f.until, SOON)


def audit(engine: Database, clock: Clock, *, repair: bool) -> UniqueReport:
    found = UniqueAudit(_call, rooms, "Rooms", now=clock.now)
    plan = found.repair() if repair else found.check()
    answer: Any = None
    while True:
        try:
            step: Any = plan.send(answer)
        except StopIteration as stop:
            return stop.value
        answer = engine.execute(step.operation, step.request)


def _call(operation: str, request: dict[str, Any]) -> Any:
    return repeat_call(lambda: 0.0, operation, request)


def test_guards_that_expire_at_another_time_are_found_and_repaired(
    store: AnyStore, engine: Database, clock: Clock
) -> None:
    store.run(Booking(id="a", code="x", until=SOON).create())
    assert audit(engine, clock, repair=False).is_good
    update = {
        "TableName": "Rooms",
        "Key": {"pk": {"S": "B#a"}},
        "UpdateExpression": "REMOVE #until",
        "ExpressionAttributeNames": {"#until": "until"},
    }
    engine.execute("UpdateItem", update)
    report = audit(engine, clock, repair=False)
    assert [str(each) for each in report.problems] == [
        "Booking.code 'x': pk='B#a' has it, but its guard expires at another time."
    ]
    assert audit(engine, clock, repair=True).is_good
    assert guards(engine) == {"x": ("B#a", None)}


def test_what_has_expired_is_no_problem(store: AnyStore, engine: Database, clock: Clock) -> None:
    store.run(Booking(id="a", code="x", until=SOON).create())
    store.run(Booking(id="b", code="y", until=LATER).create())
    clock.advance(HOUR)
    store.run(Booking(id="c", code="x").create())
    report = audit(engine, clock, repair=False)
    assert (report.values, report.problems) == (2, ())


def test_a_guard_that_has_expired_is_replaced_by_a_repair(
    store: AnyStore, engine: Database, clock: Clock
) -> None:
    store.run(Booking(id="a", code="x", until=SOON).create())
    clock.advance(HOUR)
    item = {"pk": {"S": "B#b"}, "code": {"S": "x"}}
    engine.execute("PutItem", {"TableName": "Rooms", "Item": item})
    report = audit(engine, clock, repair=True)
    assert [each.kind for each in report.problems] == ["missing guard"]
    assert guards(engine) == {"x": ("B#b", None)}


def checked_engine(clock: Clock) -> Engine:
    checks = make_write_checks([rooms], clock=clock)
    return Engine.open(":memory:", clock=clock, upkeep_seconds=None, write_checks=checks)


def test_checks_of_writes_accept_guards_that_expire(clock: Clock) -> None:
    with checked_engine(clock) as engine:
        store = Store(engine, StoreSettings([rooms], clock=clock))
        store.create_table(rooms)
        booking = store.run(Booking(id="a", code="x", until=SOON).create())
        booking = store.run(booking.change(until=LATER))
        store.run(booking.change(until=SOON))
        with pytest.raises(UniqueTaken):
            store.run(Booking(id="b", code="x").create())
        clock.advance(HOUR)
        store.run(Booking(id="b", code="x").create())


@pytest.mark.parametrize(
    ("key", "fact"),
    [
        ("B#a", "code is unique, and the item that guards its value expires at another time"),
        ("keyfold#unique#Booking.code#S#x", "it does not expire with item pk='B#a'"),
    ],
)
def test_checks_of_writes_refuse_another_expiry(clock: Clock, key: str, fact: str) -> None:
    with checked_engine(clock) as engine:
        store = Store(engine, StoreSettings([rooms], clock=clock))
        store.create_table(rooms)
        store.run(Booking(id="a", code="x", until=SOON).create())
        update = {
            "TableName": "Rooms",
            "Key": {"pk": {"S": key}},
            "UpdateExpression": "SET #until = :later",
            "ExpressionAttributeNames": {"#until": "until"},
            "ExpressionAttributeValues": {":later": {"N": seconds(LATER)}},
        }
        with pytest.raises(ValidationException, match=fact):
            engine.execute("UpdateItem", update)
