"""Dates of signatures, checked by a server without keys: `serve --check-dates`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from keyfold.engine import Engine
from keyfold.errors import InvalidSignatureException, OptionInvalid
from keyfold.testing import Clock
from keyfold.wire.client import Client
from keyfold.wire.server import Server
from tests.unit.wire.server.http import TABLE, Wire, make_table
from tests.unit.wire.server.signing import NOW, TIMESTAMP, Signed, sign_by_botocore

ITEM = {"pk": {"S": "a"}}
READ = sign_by_botocore("GetItem", {"TableName": TABLE, "Key": ITEM})
SENT = {
    "a read": READ,
    "a write": sign_by_botocore("PutItem", {"TableName": TABLE, "Item": ITEM}, access_key="any"),
    "in the query": sign_by_botocore(in_query=True),
    "Date": sign_by_botocore().set("X-Amz-Date", None).set("Date", TIMESTAMP),
}
EXPIRED = (
    "Signature expired: 20261115T120000Z is now earlier than 20261115T120001Z "
    "(20261115T120501Z - 5 min.)"
)
NOT_YET_CURRENT = (
    "Signature not yet current: 20261115T120000Z is still later than 20261115T115959Z "
    "(20261115T115459Z + 5 min.)"
)


@pytest.fixture
def clock() -> Clock:
    return Clock(NOW)


@pytest.fixture
def wire(clock: Clock) -> Iterator[Wire]:
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        make_table(engine)
        wire = Wire(engine, date_clock=clock)
        yield wire
        wire.close()


def exchange(wire: Wire, sent: Signed) -> tuple[int, Any]:
    (response,) = wire.exchange(sent.write())
    return response.status, response.json


@pytest.mark.parametrize("sent", SENT.values(), ids=SENT)
def test_a_request_within_five_minutes_is_carried_out_whatever_its_key(
    wire: Wire, clock: Clock, sent: Signed
) -> None:
    for shift in (-300, 0, 300):
        clock.set(NOW + shift)
        assert exchange(wire, sent)[0] == 200


@pytest.mark.parametrize("sent", SENT.values(), ids=SENT)
@pytest.mark.parametrize(
    ("shift", "message"),
    [(301, EXPIRED), (-301, NOT_YET_CURRENT)],
    ids=["expired", "not yet current"],
)
def test_a_request_that_was_signed_too_long_ago_or_ahead_is_refused(
    wire: Wire, clock: Clock, sent: Signed, shift: int, message: str
) -> None:
    clock.set(NOW + shift)
    status, answer = exchange(wire, sent)
    kind = "com.amazon.coral.service#InvalidSignatureException"
    assert (status, answer) == (400, {"__type": kind, "message": message})
    clock.set(NOW)
    assert exchange(wire, READ) == (200, {}), "nothing was written"


def test_a_date_that_cannot_be_read_is_refused(wire: Wire) -> None:
    sent = sign_by_botocore().set("X-Amz-Date", "yesterday")
    status, answer = exchange(wire, sent)
    assert status == 400
    assert answer["__type"].endswith("#IncompleteSignatureException")
    assert "Date must be in ISO-8601 'basic format'. Got 'yesterday'." in answer["message"]


def test_a_health_check_needs_no_date(wire: Wire) -> None:
    (response,) = wire.exchange(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert response.status == 200


def test_clients_whose_clock_is_wrong_are_refused() -> None:
    """Our own client signs with the machine's time; the server's clock is an hour ahead."""
    clock = Clock(time.time)
    with (
        Engine.open(":memory:") as engine,
        Server(engine, date_clock=clock).running() as url,
        Client(url) as client,
    ):
        assert client.execute("ListTables", {}) == {"TableNames": []}
        clock.advance(3600)
        with pytest.raises(InvalidSignatureException, match="Signature expired: "):
            client.execute("ListTables", {})


def test_the_clock_is_checked() -> None:
    with Engine.open(":memory:") as engine, pytest.raises(OptionInvalid):
        Server(engine, date_clock=3.0)  # pyright: ignore[reportArgumentType]
