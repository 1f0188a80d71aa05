"""Whatever happens on the way: no write is lost, none is doubled, and every outcome is told truly.

Calls are made through the proxy, by both clients. What they leave behind is read from the engine
itself, and compared with what the client said of each.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass
from itertools import count
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from keyfold.engine import Engine
from keyfold.errors import (
    ConditionalCheckFailedException,
    KeyfoldError,
    OutcomeUnknown,
    TransactionCanceledException,
    Unavailable,
    Unreachable,
)
from keyfold.wire.client import AsyncClient, Client, Retries, Timeouts
from keyfold.wire.server import Server
from tests.faults.proxy import FAULTS, HARMLESS, WAITING, Fault, FaultProxy

TABLE = "Counters"
Execute = Callable[[str, dict[str, Any]], dict[str, Any]]

# A fault that waits for the client to give up costs this much of a test's time. A busy machine
# may make other calls late, too; nothing that is claimed below is wrong then.
HASTY = Timeouts(read_seconds=0.05, total_seconds=300)
# Where there is no such fault, no call is late.
PATIENT = Timeouts(read_seconds=300, total_seconds=300)
RETRIES = Retries(attempts=5, budget=1_000_000)


@dataclass(frozen=True, slots=True)
class World:
    """An engine, a proxy before its server, and clients that know only the proxy."""

    engine: Engine
    proxy: FaultProxy
    patient: Execute
    hasty: Execute

    def stored(self, key: dict[str, Any]) -> dict[str, Any] | None:
        """What is there."""
        request = {"TableName": TABLE, "Key": key, "ConsistentRead": True}
        return self.engine.execute("GetItem", request).get("Item")

    def number(self, key: dict[str, Any]) -> int:
        """What a counter has come to."""
        return int((self.stored(key) or {"n": {"N": "0"}})["n"]["N"])

    def attempt(
        self, operation: str, request: dict[str, Any], script: list[Fault]
    ) -> dict[str, Any] | KeyfoldError:
        """What the client says of a call whose tries meet these faults."""
        self.proxy.plan(script)
        execute = self.hasty if WAITING & set(script) else self.patient
        try:
            return execute(operation, request)
        except KeyfoldError as error:
            return error
        finally:
            # What is to end has ended before the next call looks for a connection.
            self.proxy.settle()
            self.proxy.plan([])


@pytest.fixture(scope="module", params=["sync", "async"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    with ExitStack() as stack:
        engine = stack.enter_context(Engine.open(":memory:", upkeep_seconds=None))
        engine.execute(
            "CreateTable",
            {
                "TableName": TABLE,
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "BillingMode": "PAY_PER_REQUEST",
            },
        )
        url = stack.enter_context(Server(engine).running())
        proxy = stack.enter_context(FaultProxy(url))
        open_one = open_sync if request.param == "sync" else open_async
        clients = [open_one(stack, proxy.url, timeouts) for timeouts in (PATIENT, HASTY)]
        yield World(engine, proxy, *clients)
        assert engine.verify() == []


def open_sync(stack: ExitStack, url: str, timeouts: Timeouts) -> Execute:
    client = Client(url, timeouts=timeouts, retries=RETRIES, sleep=lambda _: None)
    return stack.enter_context(client).execute


def open_async(stack: ExitStack, url: str, timeouts: Timeouts) -> Execute:
    runner = stack.enter_context(asyncio.Runner())

    async def sleep(seconds: float) -> None:
        await asyncio.sleep(0)

    client = AsyncClient(url, timeouts=timeouts, retries=RETRIES, sleep=sleep)
    stack.callback(lambda: runner.run(client.close()))
    return lambda operation, asked: runner.run(client.execute(operation, asked))


_numbers = count(1)


def new_key() -> dict[str, Any]:
    return {"pk": {"S": f"key {next(_numbers)}"}}


scripts = st.lists(st.sampled_from(FAULTS), max_size=7)
# Several calls, one after the other: what one leaves of its connection, the next one finds.
several = st.lists(scripts, min_size=1, max_size=4)
search = settings(
    max_examples=30,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def add_one(key: dict[str, Any]) -> dict[str, Any]:
    return {
        "TableName": TABLE,
        "Key": key,
        "UpdateExpression": "ADD n :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    }


@search
@given(several)
@example([["delay"], ["stall"], ["pass"]])
@example([["hang up"], ["pass"], ["fail late", "pass"]])
@example([["busy", "throttle", "busy", "pass"], ["busy"] * 7])
def test_a_counter_counts_what_it_is_told_to(world: World, plans: list[list[Fault]]) -> None:
    key = new_key()
    for script in plans:
        before = world.number(key)
        said = world.attempt("UpdateItem", add_one(key), script)
        counted = world.number(key) - before
        if isinstance(said, OutcomeUnknown):
            assert counted in (0, 1)
        elif isinstance(said, Unreachable | Unavailable):
            assert counted == 0
        else:
            assert said == {}
            assert counted == 1
        if all(fault in HARMLESS for fault in script):
            assert said == {}
        if set(script) <= {"busy", "throttle"}:
            # Nothing was done, whatever it is: it is made again as often as any.
            assert isinstance(said, dict if len(script) < RETRIES.attempts else Unavailable)


@search
@given(several)
@example([["forget", "pass"], ["truncate", "throttle", "pass"]])
def test_a_repeated_creation_never_claims_what_it_did_itself(
    world: World, plans: list[list[Fault]]
) -> None:
    key = new_key()
    for place, script in enumerate(plans):
        item = {**key, "by": {"N": str(place)}}
        before = world.stored(key)
        condition = {"ConditionExpression": "attribute_not_exists(pk)"}
        request = {"TableName": TABLE, "Item": item, **condition}
        said = world.attempt("PutItem", request, script)
        after = world.stored(key)
        match said:
            case ConditionalCheckFailedException():
                assert before is not None
                assert after == before
            case OutcomeUnknown():
                assert after in (before, item)
                if isinstance(said.error, ConditionalCheckFailedException):
                    assert after is not None
            case Unreachable() | Unavailable():
                assert after == before
            case _:
                assert said == {}
                assert before is None
                assert after == item


@search
@given(several, st.booleans())
@example([["forget", "delay", "fail late", "corrupt", "pass"]], False)
def test_a_transaction_is_carried_out_once(
    world: World, plans: list[list[Fault]], has_token: bool
) -> None:
    key, guard = new_key(), new_key()
    for place, script in enumerate(plans):
        before = world.number(key)
        is_impossible = place % 3 == 2
        check = {
            "TableName": TABLE,
            "Key": guard,
            "ConditionExpression": f"attribute{'' if is_impossible else '_not'}_exists(pk)",
        }
        asked: dict[str, Any] = {
            "TransactItems": [{"Update": add_one(key)}, {"ConditionCheck": check}]
        }
        if has_token:
            asked["ClientRequestToken"] = f"token {next(_numbers)}"
        said = world.attempt("TransactWriteItems", asked, script)
        counted = world.number(key) - before
        match said:
            case TransactionCanceledException():
                assert is_impossible
                assert counted == 0
            case OutcomeUnknown():
                assert counted in ((0,) if is_impossible else (0, 1))
            case Unreachable() | Unavailable():
                assert counted == 0
            case _:
                assert said == {}
                assert counted == 1


Kind = Literal["PutItem", "DeleteItem", "UpdateItem", "BatchWriteItem"]


def write(kind: Kind, key: dict[str, Any], value: int) -> tuple[dict[str, Any], Any]:
    """A write that may be repeated, and what it leaves."""
    item = {**key, "v": {"N": str(value)}}
    match kind:
        case "PutItem":
            return {"TableName": TABLE, "Item": item, "ReturnValues": "ALL_OLD"}, item
        case "DeleteItem":
            return {"TableName": TABLE, "Key": key, "ReturnValues": "ALL_OLD"}, None
        case "UpdateItem":
            return {
                "TableName": TABLE,
                "Key": key,
                "UpdateExpression": "SET v = :v",
                "ExpressionAttributeValues": {":v": {"N": str(value)}},
                "ReturnValues": "ALL_OLD",
            }, item
        case "BatchWriteItem":
            return {"RequestItems": {TABLE: [{"PutRequest": {"Item": item}}]}}, item


@search
@given(
    st.lists(
        st.tuples(
            st.sampled_from(("PutItem", "DeleteItem", "UpdateItem", "BatchWriteItem")), scripts
        ),
        min_size=1,
        max_size=4,
    )
)
@example([("PutItem", ["forget", "pass"]), ("DeleteItem", ["forget", "pass"])])
def test_what_is_answered_of_old_values_is_true(
    world: World, plans: list[tuple[Kind, list[Fault]]]
) -> None:
    key = new_key()
    for value, (kind, script) in enumerate(plans):
        before = world.stored(key)
        request, left = write(kind, key, value)
        said = world.attempt(kind, request, script)
        after = world.stored(key)
        match said:
            case OutcomeUnknown():
                assert after in (before, left)
            case Unreachable() | Unavailable():
                assert after == before
            case dict():
                assert after == left
                if kind != "BatchWriteItem":
                    assert said.get("Attributes") == before
            case _:
                pytest.fail(str(said))


@search
@given(scripts)
def test_a_read_is_right_or_fails(world: World, script: list[Fault]) -> None:
    key = new_key()
    item = {**key, "blob": {"B": b"\0\xff" * 40}}
    world.engine.execute("PutItem", {"TableName": TABLE, "Item": item})
    said = world.attempt("GetItem", {"TableName": TABLE, "Key": key}, script)
    if isinstance(said, KeyfoldError):
        assert isinstance(said, Unreachable | Unavailable)
        assert len(script) >= RETRIES.attempts or WAITING & set(script)
    else:
        assert said == {"Item": item}


def test_many_calls_at_once_through_trouble(world: World) -> None:
    """Sixteen tasks count together, while every third request comes to harm."""
    key = new_key()
    world.proxy.plan(
        [FAULTS[place // 3 % len(FAULTS)] if place % 3 == 0 else "pass" for place in range(300)]
    )

    async def count_up() -> list[dict[str, Any] | KeyfoldError]:
        async with AsyncExitStack() as stack:
            client = AsyncClient(world.proxy.url, timeouts=HASTY, retries=RETRIES, connections=16)
            stack.push_async_callback(client.close)
            calls = (client.execute("UpdateItem", add_one(key)) for _ in range(100))
            return await asyncio.gather(*calls, return_exceptions=True)  # type: ignore[return-value]

    said = asyncio.run(count_up())
    world.proxy.settle()
    world.proxy.plan([])
    done = sum(each == {} for each in said)
    unknown = sum(isinstance(each, OutcomeUnknown) for each in said)
    refused = sum(isinstance(each, Unreachable | Unavailable) for each in said)
    assert done + unknown + refused == 100
    assert done <= world.number(key) <= done + unknown
