"""Writes during which the service fails: retried if they are idempotent, on both stores."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from keyfold.errors import InternalServerError, OutcomeUnknown
from keyfold.model import Entity, Key, Table, batch, transaction
from keyfold.model._updates import Update
from tests.transports import Database
from tests.unit.model.shop import Ticket, desk
from tests.unit.store.store_kinds import START, AnyStore, OpenStore

counters = Table("Counters", key=Key("pk"))


class Counter(Entity, table=counters, key="COUNTER#{name}"):
    name: str
    count: int = 0
    other: int = 0
    label: str | None = None
    tags: set[str] = set()  # noqa: RUF012 - pydantic copies defaults
    steps: list[str] = []  # noqa: RUF012 - as above


class FailsAfterwards:
    """An engine that carries out a call and then raises, for the next `failures` calls."""

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
def service(engine: Database) -> FailsAfterwards:
    return FailsAfterwards(engine)


@pytest.fixture
def store(make_store: OpenStore, service: FailsAfterwards) -> AnyStore:
    store = make_store(service, [counters, desk])
    store.create_table(counters)
    store.create_table(desk)
    store.run(Counter(name="a", count=1, steps=["x"]).put())
    store.calls.clear()
    return store


def update() -> Update[Counter]:
    return Counter.update(name="a")


def stored(store: AnyStore) -> Counter:
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
def test_idempotent_writes_are_retried(
    store: AnyStore, service: FailsAfterwards, request_made: Any
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
def test_writes_that_are_not_idempotent_are_not_retried(
    store: AnyStore, service: FailsAfterwards, request_made: Any
) -> None:
    service.failures = 1
    with pytest.raises(OutcomeUnknown) as caught:
        store.run(request_made)
    assert len(store.calls) == 1
    error = pickle.loads(pickle.dumps(caught.value))
    assert str(error) == (
        f"{request_made!r}: UpdateItem failed, and may or may not have been carried out: "
        "InternalServerError: Internal server error. Read what is stored before you repeat it. "
        "[outcome-unknown]"
    )


def test_a_counter_is_never_incremented_twice(store: AnyStore, service: FailsAfterwards) -> None:
    service.failures = 1
    with pytest.raises(OutcomeUnknown):
        store.run(update().increment(Counter.f.count))
    assert stored(store).count == 2


def test_a_retry_whose_condition_fails_has_an_unknown_outcome(
    store: AnyStore, service: FailsAfterwards
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


def test_an_expected_version_keeps_an_update_from_happening_twice(
    store: AnyStore, service: FailsAfterwards
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


def test_giving_up_on_a_write_does_not_claim_that_nothing_was_written(
    store: AnyStore, service: FailsAfterwards
) -> None:
    service.failures = 8
    with pytest.raises(OutcomeUnknown):
        store.run(Counter(name="c", count=3).put())
    assert len(store.calls) == 8
