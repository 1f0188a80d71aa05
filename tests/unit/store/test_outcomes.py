"""Writes during which the service fails: repeated where that does no harm, on both stores."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from keyfold.errors import InternalServerError, OutcomeUnknown
from keyfold.model import Entity, Key, Table, batch, transaction
from keyfold.model._updates import Update
from tests.transports import Database
from tests.unit.model.shop import Ticket, desk
from tests.unit.store.store_kinds import START, OpenSide, Side

counters = Table("Counters", key=Key("pk"))


class Counter(Entity, table=counters, key="COUNTER#{name}"):
    name: str
    count: int = 0
    other: int = 0
    label: str | None = None
    tags: set[str] = set()  # noqa: RUF012 - pydantic copies defaults
    steps: list[str] = []  # noqa: RUF012 - as above


class Shaky:
    """An engine that does what it is asked, and then fails, for as often as it is told."""

    def __init__(self, engine: Database) -> None:
        self.engine = engine
        self.failures = 0

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        response = self.engine.execute(operation, request)
        if self.failures:
            self.failures -= 1
            raise InternalServerError("Internal server error")
        return response


@pytest.fixture
def service(engine: Database) -> Shaky:
    return Shaky(engine)


@pytest.fixture
def store(make_store: OpenSide, service: Shaky) -> Side:
    store = make_store(service, [counters, desk])
    store.create_table(counters)
    store.create_table(desk)
    store.run(Counter(name="a", count=1, steps=["x"]).put())
    store.calls.clear()
    return store


def update() -> Update[Counter]:
    return Counter.update(name="a")


def stored(store: Side) -> Counter:
    found = store.run(Counter.get(name="a"))
    assert found is not None
    return found


@pytest.mark.parametrize(
    "request_made",
    [
        Counter(name="a", count=5).put(),
        Counter.delete(name="a"),
        update().set(Counter.f.count, 5),
        update().remove(Counter.f.label),
        update().set_if_absent(Counter.f.label, "x"),
        update().set(Counter.f.count, Counter.f.other),
        update().add(Counter.f.tags, {"x"}),
        update().delete(Counter.f.tags, {"x"}),
        transaction(update().increment(Counter.f.count)),
        batch([Counter(name="b").put()]),
        Counter.get(name="a"),
        Counter.query(name="a"),
    ],
    ids=repr,
)
def test_what_may_be_done_twice_is_tried_again(
    store: Side, service: Shaky, request_made: Any
) -> None:
    service.failures = 2
    store.run(request_made)
    assert [call.attempt for call in store.calls] == [1, 2, 3]


@pytest.mark.parametrize(
    "request_made",
    [
        update().increment(Counter.f.count),
        update().add(Counter.f.count, 1),
        update().append(Counter.f.steps, "y"),
        update().set(Counter.f.steps[7], "y"),
        update().remove(Counter.f.steps[0]),
        update().set(Counter.f.count, Counter.f.other).set(Counter.f.other, Counter.f.count),
        update().set(Counter.f.label, "x").increment(Counter.f.count).where(Counter.f.count < 9),
    ],
    ids=repr,
)
def test_what_may_not_be_done_twice_is_not_tried_again(
    store: Side, service: Shaky, request_made: Any
) -> None:
    service.failures = 1
    with pytest.raises(OutcomeUnknown) as caught:
        store.run(request_made)
    assert len(store.calls) == 1
    error = pickle.loads(pickle.dumps(caught.value))
    assert str(error) == (
        f"{request_made!r}: UpdateItem failed, and may have been carried out or not: "
        "InternalServerError: Internal server error. Read what is stored before you repeat it. "
        "[outcome-unknown]"
    )


def test_a_counter_is_never_counted_twice(store: Side, service: Shaky) -> None:
    service.failures = 1
    with pytest.raises(OutcomeUnknown):
        store.run(update().increment(Counter.f.count))
    assert stored(store).count == 2


def test_a_write_that_may_have_met_itself_does_not_say_that_it_failed(
    store: Side, service: Shaky
) -> None:
    service.failures = 1
    with pytest.raises(OutcomeUnknown, match="ConditionalCheckFailedException"):
        store.run(Counter(name="new").create())
    assert store.run(Counter.get(name="new")) is not None
    service.failures = 1
    once = update().set(Counter.f.count, 2).where(Counter.f.count.eq(1))
    with pytest.raises(OutcomeUnknown):
        store.run(once)
    assert stored(store).count == 2


def test_a_version_that_was_seen_keeps_an_update_from_happening_twice(
    store: Side, service: Shaky
) -> None:
    ticket = store.run(Ticket(team="a", number=1, title="t", opened=START).create())
    counted = Ticket.update(team="a", number=1).increment(Ticket.f.watchers)
    store.calls.clear()
    service.failures = 1
    with pytest.raises(OutcomeUnknown, match="ConditionalCheckFailedException"):
        store.run(counted.knowing(version=ticket.version))
    assert len(store.calls) == 2
    service.failures = 1
    with pytest.raises(OutcomeUnknown):
        store.run(counted)
    found = store.run(Ticket.get(team="a", number=1))
    assert found is not None
    assert (found.watchers, found.version) == (2, 3)


def test_a_write_is_given_up_on_without_saying_that_nothing_was_written(
    store: Side, service: Shaky
) -> None:
    service.failures = 8
    with pytest.raises(OutcomeUnknown):
        store.run(Counter(name="c", count=3).put())
    assert len(store.calls) == 8
