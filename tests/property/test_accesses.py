"""What is told of a request of the model is what its calls would do, read from the calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keyfold.engine import Engine
from keyfold.errors import KeyfoldError
from keyfold.model import Chain, Request
from keyfold.model._batches import Batch
from keyfold.model._collections import CollectionGet
from keyfold.model._requests import Count, First, Mapped, SingleRequest
from keyfold.model._transactions import Transaction
from keyfold.model._updates import touches_unique
from keyfold.model._writes import CreateOrGet, Write
from keyfold.policy import UNIQUE_START, Access, Right
from keyfold.store import Store, StoreSettings
from keyfold.store._accesses import read_accesses as read_of_request
from keyfold.wire.server._accesses import read_accesses as read_of_call
from tests.property.clinic_requests import NEXT, shelf_requests, shelves, ward_requests
from tests.unit.policy.clinic import ward
from tests.unit.store.store_kinds import START

QUIET = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
SHORT = settings(max_examples=200, derandomize=True, suppress_health_check=QUIET)
LONG = settings(max_examples=5_000, suppress_health_check=QUIET)

USERS = st.sampled_from(["ada", "bob"])
EMAILS = st.sampled_from(["ada@x", "bob@x", "new@x"])
REQUESTS = ward_requests(USERS, EMAILS) | shelf_requests()


class Recorder:
    """An engine that keeps what it is asked to do."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.accesses: list[Access] = []

    def read(self, operation: str, request: dict[str, Any]) -> list[Access]:
        found = read_of_call(operation, request, self._engine.find_key_names)
        return [simplify(each) for each in found]

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        self.accesses += self.read(operation, request)
        return self._engine.execute(operation, request)


@pytest.fixture(scope="module")
def recorder() -> Iterator[Recorder]:
    with Engine.open(":memory:", upkeep_seconds=None, clock=START.timestamp) as engine:
        for table in (ward, shelves):
            engine.execute("CreateTable", table.to_dynamodb())
        yield Recorder(engine)


def simplify(access: Access) -> Access:
    """Leave what roles go by; the rest is for IAM, which sees calls alone."""
    return access._replace(named=frozenset(), enclosing=None, capacity=None)


def calls_of(request: Request[Any]) -> Iterable[tuple[str, dict[str, Any]]]:
    """Return the calls of a request that are known before any answer."""
    match request:
        case Count(query=inner):
            # Whatever is wanted of them, items are counted whole.
            yield from calls_of(replace(inner, shape=replace(inner.shape, only=None)))
        case First(query=inner) | CollectionGet(query=inner):
            yield from calls_of(inner)
        case Mapped(request=inner) | Chain(first=inner) | CreateOrGet(put=inner):
            yield from calls_of(inner)
        case Transaction():
            operation = "TransactGetItems" if request.is_read else "TransactWriteItems"
            yield operation, request.to_dynamodb(now=START)
        case Batch():
            yield from ((call.operation, call.request) for call in request.split(START))
        case SingleRequest():
            yield request.operation, request.to_dynamodb(now=START)
        case _:
            raise AssertionError(request)


def widen(access: Access) -> Access:
    """Return a call that cannot be seen to create alone.

    An item that has expired counts as absent, and the condition that says so could be one that
    lets anything be replaced.
    """
    if access.action != "PutItem" or access.rights is not Right.CREATE:
        return access
    return access._replace(rights=Right.CREATE | Right.UPDATE)


def told_of(request: Request[Any]) -> list[Access]:
    told = [simplify(each) for each in read_of_request(request, START)]
    return [widen(each) if each.table == shelves.name else each for each in told]


def is_unique_value(access: Access) -> bool:
    partition = access.partition
    return partition is not None and partition[0].get("S", "").startswith(UNIQUE_START)


def check_calls(recorder: Recorder, request: Request[Any]) -> None:
    """See that what is told of a request is what is read from the calls that it shows."""
    told = told_of(request)
    read = [each for call in calls_of(request) for each in recorder.read(*call)]
    if isinstance(request, Batch):
        # Calls have their members in another order, and the same key once.
        assert all(each in told for each in read)
        assert all(each in read for each in told)
    else:
        assert read == told


def check_running(recorder: Recorder, request: Request[Any]) -> None:
    """See that a store makes no other calls for a request than what is told of it."""
    recorder.accesses.clear()
    options = StoreSettings([ward, shelves], cursor_key=bytes(32), clock=lambda: START)
    with suppress(KeyfoldError):  # whatever came of it, calls were made
        Store(recorder, options, sleep=lambda _: None).run(request)
    told = told_of(request)
    if isinstance(request, Chain):
        told += (simplify(each) for each in read_of_request(NEXT, START))
    made = [each for each in recorder.accesses if not is_unique_value(each)]
    members = request.requests if isinstance(request, Transaction) else [request]
    guarded = [each for each in members if isinstance(each, Write) and touches_unique(each)]
    if guarded:
        # The entity is looked up for its unique values, which become conditions.
        keys = [(each.item_key[ward.key.partition[0]],) for each in guarded]
        made = [
            loosen(each) for each in made if each.action != "GetItem" or each.partition not in keys
        ]
        told = [loosen(each) for each in told]
    assert all(each in told for each in made)


def loosen(access: Access) -> Access:
    """Return an access without what follows from its condition, and from what it returns."""
    return access._replace(
        rights=Right(0), attributes=None, return_values=None, returns_on_failure=False
    )


@SHORT
@given(request=REQUESTS)
def test_what_is_told_of_a_request_is_read_from_its_calls(
    recorder: Recorder, request: Request[Any]
) -> None:
    check_calls(recorder, request)
    check_running(recorder, request)


@pytest.mark.long
@LONG
@given(request=REQUESTS)
def test_what_is_told_of_many_requests_is_read_from_their_calls(
    recorder: Recorder, request: Request[Any]
) -> None:
    check_calls(recorder, request)
    check_running(recorder, request)
