"""Requests survive pickling, also into another process; those with functions say why they do not."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel

import keyfold
from keyfold.errors import NotPicklable
from keyfold.model import Entity, Index, Key, Table, batch, now, transaction
from tests.unit.model.shop import (
    Address,
    Order,
    OrderId,
    OrderLine,
    OrderWithLines,
    Rate,
    Ticket,
    User,
    by_base,
    by_key,
    by_owner,
    desk,
    market,
    rates,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ORDER = OrderId("O#01JZ10H7X367VB2NF4YQ973DHW")


class Heading(BaseModel):
    title: str


def get_order(found: Any) -> Any:
    return Order.get(user=found.user, order=found.order)


def total_of(found: Any, at: datetime) -> Any:
    return found, at


RATE = Rate(base="USD", target="EUR", rate=Decimal("0.9"), at=NOW)
TICKET = Ticket(team="a", number=1, title="x", owner="ada", opened=NOW)
REQUESTS: list[Any] = [
    Rate.get(base="USD", target="EUR"),
    Rate.get(base="USD", target="EUR").consistent(),
    Ticket.get(team="a", number=1).only(Heading),
    Rate.query(by_base, base="USD"),
    Rate.query(by_base, base="USD").where(Rate.f.at > now - timedelta(days=1)).limit(3),
    Ticket.query(team="a"),
    Ticket.query(team="a").since(3).descending(),
    Ticket.query(by_owner, owner="ada").refs(),
    Order.query(user="ada").since(now - timedelta(days=1)),
    Order.query(by_key, order=ORDER).refs(),
    Order.query(user="ada").between(NOW, NOW + timedelta(days=1)).first(),
    Order.query(user="ada").count(),
    Ticket.scan().where(Ticket.f.title.contains("x") & ~Ticket.f.number.in_(1, 2)),
    market.query(pk="U#ada"),
    desk.scan(),
    OrderWithLines.get(user="ada", order=ORDER),
    OrderWithLines.get(user="ada", order=ORDER).until(3).limit(2),
    RATE.put(),
    RATE.put().expiring_in(timedelta(hours=1)),
    RATE.create().or_get(),
    TICKET.replace().where(Ticket.f.title.eq("x")),
    User(name="ada", email="a@x").create(),
    Ticket.update(team="a", number=1)
    .set(Ticket.f.address, Address(city="Rome"))
    .knowing(version=3),
    Ticket.update(team="a", number=1).increment(Ticket.f.watchers).add(Ticket.f.tags, {"x"}),
    Rate.update(base="USD", target="EUR").set(Rate.f.at, now).expiring_in(timedelta(1)),
    Rate.update(base="USD", target="EUR").set_if_absent(Rate.f.at, now + timedelta(1)),
    Ticket.delete(team="a", number=1).where(Ticket.f.title.exists()),
    Ticket.scan(segments=3),
    TICKET.change(title="y"),
    TICKET.update().set(Ticket.f.title, "y"),
    TICKET.delete(),
    TICKET.refresh(),
    Rate.update(base="A", target="B").set(Rate.f.rate, Decimal(1)).set(Rate.f.at, now).or_create(),
    RATE.put().then(get_order),
    batch([Rate.get(base="USD", target="EUR"), Ticket.get(team="a", number=1)]),
    transaction(RATE.create(), Rate.check(Rate.f.rate > 1, base="A", target="B")),
    Order.query(by_key, order=ORDER).first().then(get_order),
    Rate.get(base="USD", target="EUR").map(total_of),
]


@pytest.mark.parametrize("request_made", REQUESTS, ids=repr)
def test_a_request_survives_pickling(request_made: Any) -> None:
    for protocol in (2, pickle.HIGHEST_PROTOCOL):
        other = pickle.loads(pickle.dumps(request_made, protocol))
        assert type(other) is type(request_made)
        assert repr(other) == repr(request_made)
        assert other.calls(NOW) == request_made.calls(NOW)
        assert list(map(id, other.tables)) == list(map(id, request_made.tables))
    assert copy.copy(request_made) is request_made
    assert copy.deepcopy(request_made) is request_made


def test_an_unpickled_query_can_be_refined() -> None:
    other = pickle.loads(pickle.dumps(Order.query(user="ada")))
    assert other.since(ORDER) == Order.query(user="ada").since(ORDER)
    assert other.keys.open_part is Order.query(user="ada").keys.open_part


def test_an_unpickled_request_runs() -> None:
    with keyfold.open(rates, ":memory:") as store:
        store.run(pickle.loads(pickle.dumps(RATE.put())))
        get = pickle.loads(pickle.dumps(Rate.get(base="USD", target="EUR")))
        assert store.run(get) == RATE


def test_a_request_is_sent_to_another_process() -> None:
    request = Order.query(user="ada").since(ORDER).limit(3)
    program = (
        "import pickle, sys; request = pickle.loads(sys.stdin.buffer.read()); "
        "print(request, request.table.entities['OrderLine'].name)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program],
        input=pickle.dumps(request),
        capture_output=True,
        check=True,
    )
    assert ran.stdout.decode().strip() == f"{request!r} {OrderLine.__name__}"


def test_a_request_with_a_function_of_its_own_says_why_it_cannot_be_pickled() -> None:
    chain = (
        Order.query(by_key, order=ORDER)
        .first()
        .then(lambda found: Order.get(user=found.user, order=ORDER))
    )
    mapped = Rate.get(base="USD", target="EUR").map(lambda found, _: found)
    for request in (chain, mapped):
        message = r"<lambda>, which cannot be imported by name\. Pass on the arguments"
        with pytest.raises(NotPicklable, match=message):
            pickle.dumps(request)
        assert copy.deepcopy(request) is request


def test_declarations_that_cannot_be_found_say_so() -> None:
    index = Index("Alone", key=Key("a"))
    with pytest.raises(NotPicklable, match="no table has it"):
        pickle.dumps(index)
    table = Table("Local", key=Key("pk"))

    class Local(Entity, table=table, key="L#{code}"):
        code: str

    assert table.entities["Local"].entity is Local
    with pytest.raises(NotPicklable, match="none of its entities can be imported by name"):
        pickle.dumps(table.scan())
