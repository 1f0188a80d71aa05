"""The accesses of a model request are those of the API calls that it makes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from keyfold.engine import Engine
from keyfold.errors import KeyfoldError
from keyfold.model import Request
from keyfold.model._batches import Batch
from keyfold.model._collections import CollectionGet
from keyfold.model._paged_reads import Count, First
from keyfold.model._requests import Mapped, SingleRequest
from keyfold.model._transactions import Transaction
from keyfold.model._updates import touches_unique
from keyfold.model._writes import CreateOrGet, Write
from keyfold.policy import UNIQUE_START, Access, Right
from keyfold.policy.accesses import read_accesses as read_of_call
from keyfold.requests import Chain
from keyfold.store import Store, StoreSettings
from keyfold.store._accesses import read_accesses as read_of_request
from tests.examples import examples
from tests.property.clinic_requests import NEXT, clinic_requests, shelf_requests, shelves
from tests.unit.policy.clinic import clinic
from tests.unit.store.store_kinds import START

QUIET = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]

USERS = st.sampled_from(["ada", "bob"])
EMAILS = st.sampled_from(["ada@x", "bob@x", "new@x"])
REQUESTS = clinic_requests(USERS, EMAILS) | shelf_requests()


class Recorder:
    """An engine that records the accesses of its calls."""

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
        for table in (clinic, shelves):
            engine.execute("CreateTable", table.to_dynamodb())
        yield Recorder(engine)


def simplify(access: Access) -> Access:
    """Keep only what roles depend on; the rest is for IAM, which sees only calls."""
    return access._replace(named=frozenset(), enclosing=None, capacity=None)


def calls_of(request: Request[Any]) -> Iterable[tuple[str, dict[str, Any]]]:
    """Return the calls of a request that are known before any response."""
    match request:
        case Count(query=inner):
            # Counting reads whole items, whatever fields were selected.
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
    """Return the access of a put whose condition does not prove that it only creates.

    An expired item counts as absent, and the condition for that could also be one that allows
    replacing any item.
    """
    if access.action != "PutItem" or access.rights is not Right.CREATE:
        return access
    return access._replace(rights=Right.CREATE | Right.UPDATE)


def accesses_of(request: Request[Any]) -> list[Access]:
    expected = [simplify(each) for each in read_of_request(request, START)]
    return [widen(each) if each.table == shelves.name else each for each in expected]


def is_unique_value(access: Access) -> bool:
    partition = access.partition
    return partition is not None and partition[0].get("S", "").startswith(UNIQUE_START)


def check_calls(recorder: Recorder, request: Request[Any]) -> None:
    """Check that the accesses of a request are those of the calls that it shows."""
    expected = accesses_of(request)
    read = [each for call in calls_of(request) for each in recorder.read(*call)]
    if isinstance(request, Batch):
        # The calls have their members in another order, and each key once.
        assert all(each in expected for each in read)
        assert all(each in read for each in expected)
    else:
        assert read == expected


def check_running(recorder: Recorder, request: Request[Any]) -> None:
    """Check that a store makes no calls for a request beyond its accesses."""
    recorder.accesses.clear()
    options = StoreSettings([clinic, shelves], cursor_key=bytes(32), clock=lambda: START)
    with suppress(KeyfoldError):  # calls were made even if the request fails
        Store(recorder, options, sleep=lambda _: None).run(request)
    expected = accesses_of(request)
    if isinstance(request, Chain):
        expected += (simplify(each) for each in read_of_request(NEXT, START))
    made = [each for each in recorder.accesses if not is_unique_value(each)]
    members = request.requests if isinstance(request, Transaction) else [request]
    guarded = [each for each in members if isinstance(each, Write) and touches_unique(each)]
    if guarded:
        # The store reads the entity first for its unique values, which become conditions.
        keys = [(each.item_key[clinic.key.partition[0]],) for each in guarded]
        made = [
            loosen(each) for each in made if each.action != "GetItem" or each.partition not in keys
        ]
        expected = [loosen(each) for each in expected]
    assert all(each in expected for each in made)


def loosen(access: Access) -> Access:
    """Return an access without the parts that depend on its condition and return values."""
    return access._replace(
        rights=Right(0), attributes=None, return_values=None, returns_on_failure=False
    )


@examples(100, 5_000, suppress_health_check=QUIET)
@given(request=REQUESTS)
def test_the_accesses_of_a_request_equal_those_of_its_calls(
    recorder: Recorder, request: Request[Any]
) -> None:
    check_calls(recorder, request)
    check_running(recorder, request)
