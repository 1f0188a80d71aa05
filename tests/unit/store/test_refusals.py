"""Permanent errors of the service are reported in terms of entities, on both stores."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from keyfold.errors import (
    KeyfoldError,
    RequestRefused,
    SizeExceeded,
    TransactionFailed,
    ValidationException,
)
from keyfold.model import Entity, Key, Request, Table, batch, part, transaction
from tests.unit.model.shop import Rate, Ticket, desk, rates
from tests.unit.store.store_kinds import START, AnyStore, OpenStore

LONG, HUGE, BROKEN = "x" * 3_000, "x" * 500_000, "\ud800"


@pytest.fixture
def store(open_store: OpenStore) -> AnyStore:
    store = open_store([desk, rates])
    store.run(ticket().put())
    return store


def ticket(**fields: Any) -> Ticket:
    values: dict[str, Any] = {"team": "a", "number": 1, "title": "t", "opened": START}
    return Ticket(**{**values, **fields})


def rate(number: int, note: str = "EUR") -> Rate:
    return Rate(base=f"{number}", target=note, rate=Decimal(1), at=START)


TOO_LARGE: list[tuple[Callable[[], Request[Any]], str]] = [
    (lambda: Ticket.get(team=LONG, number=1), "'pk' has 3,005 bytes; the limit is 2,048"),
    (lambda: Ticket.query(team=LONG), "'pk' has 3,005 bytes; the limit is 2,048"),
    (lambda: Ticket.delete(team=LONG, number=1), "'pk' has 3,005 bytes"),
    (lambda: ticket(team=LONG).create(), "'pk' has 3,005 bytes"),
    (lambda: ticket(changed=LONG).create(), "'changed' has 3,000 bytes; the limit is 1,024"),
    (lambda: ticket(owner=LONG, priority=1).create(), "'owner' has 3,000 bytes"),
    (lambda: ticket(number=2, title=HUGE).create(), "500,000 of them in 'title'; the limit is 409,6"),
    (lambda: Ticket.update(team="a", number=1).set(Ticket.f.title, HUGE[:409_500]), "would have more"),
    (lambda: batch([Ticket.get(team=LONG, number=1)]), "'pk' has 3,005 bytes"),
    (lambda: transaction(ticket(number=2, title=HUGE).create()), "500,000 of them in 'title'"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "fact"), TOO_LARGE)
def test_a_value_that_is_too_large_is_reported_with_its_entity_and_attribute(
    store: AnyStore, make: Callable[[], Request[Any]], fact: str
) -> None:
    with pytest.raises(SizeExceeded, match=fact) as caught:
        store.run(make())
    error = pickle.loads(pickle.dumps(caught.value))
    assert (error.entity, error.fact) == ("Ticket", caught.value.fact)
    assert str(error).endswith("[size-exceeded]")
    assert LONG not in str(error)
    assert store.run(Ticket.scan()) == [ticket(version=1)]


def test_a_transaction_says_which_of_its_requests_is_too_large(store: AnyStore) -> None:
    update = Ticket.update(team="a", number=1).set(Ticket.f.title, HUGE[:409_500])
    with pytest.raises(TransactionFailed) as caught:
        store.run(transaction(rate(1).put(), update))
    first, second = caught.value.reasons
    assert first is None
    assert isinstance(second, SizeExceeded)


def test_a_batch_of_many_calls_writes_nothing_if_one_is_too_large(store: AnyStore) -> None:
    puts = [rate(each).put() for each in range(60)]
    with pytest.raises(SizeExceeded, match=r"Rate PK='RATE#60#xxx.*'PK' has 3,008 bytes"):
        store.run(batch([*puts, rate(60, LONG).put()]))
    assert store.run(Rate.scan().count()) == 0


def test_other_errors_of_the_service_keep_their_message(store: AnyStore) -> None:
    update = Ticket.update(team="a", number=1).increment(Ticket.f.priority)
    with pytest.raises(RequestRefused) as caught:
        store.run(update)
    assert isinstance(caught.value.__cause__, ValidationException)
    assert str(caught.value) == (
        "<update Ticket pk='TEAM#a' sk='TICKET#00001': priority>: the service refused it: "
        f"{caught.value.__cause__.message}. [request-refused]"
    )
    with pytest.raises(TransactionFailed) as failure:
        store.run(transaction(update))
    (reason,) = failure.value.reasons
    assert isinstance(reason, RequestRefused)
    assert isinstance(reason, KeyfoldError)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ticket(number=2, title=BROKEN).create(),
        lambda: ticket(number=2, counts={BROKEN: 1}).create(),
        lambda: Ticket.update(team="a", number=1).set(Ticket.f.title, BROKEN),
        lambda: transaction(ticket(number=2, title=BROKEN).create()),
        lambda: Ticket.scan().where(Ticket.f.title.eq(BROKEN)),
    ],
)
def test_text_that_is_not_unicode_is_refused_before_anything_is_written(
    store: AnyStore, make: Callable[[], Request[Any]]
) -> None:
    with pytest.raises(RequestRefused, match="unpaired surrogate"):
        store.run(make())
    assert len(store.run(Ticket.scan())) == 1


def test_a_batch_of_several_calls_with_text_that_is_not_unicode_writes_nothing(
    open_store: OpenStore,
) -> None:
    notes = Table("Notes", key=Key("pk"))

    class Note(Entity, table=notes, key="N#{number:02}"):
        number: int = part()
        text: str = ""

    store = open_store(notes)
    with pytest.raises(RequestRefused, match=r"number=29.*unpaired surrogate"):
        store.run(batch(Note(number=each, text=BROKEN * (each == 29)).put() for each in range(30)))
    assert not store.run(Note.scan())
