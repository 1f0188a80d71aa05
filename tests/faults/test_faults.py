"""Network faults: no write is lost or doubled, and every reported outcome is true.

Both clients make calls through the proxy. The tests compare the stored items, read from the engine
itself, with the outcome that the client reported for each call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass
from itertools import count
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, example, given
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
from tests.examples import examples
from tests.faults.proxy import FAULTS, HARMLESS, WAITING, Fault, FaultProxy

TABLE = "Counters"
Execute = Callable[[str, dict[str, Any]], dict[str, Any]]

# A fault that waits for the client's timeout takes this long. On a busy machine other calls may
# time out too; the assertions below still hold.
SHORT_TIMEOUT = Timeouts(read_seconds=0.05, total_seconds=300)
# Without such a fault, no call times out.
LONG_TIMEOUT = Timeouts(read_seconds=300, total_seconds=300)
RETRIES = Retries(attempts=5, budget=1_000_000)


@dataclass(frozen=True, slots=True)
class FaultHarness:
    """An engine, a fault proxy before its server, and clients that connect to the proxy."""

    engine: Engine
    proxy: FaultProxy
    with_long_timeout: Execute
    with_short_timeout: Execute

    def stored(self, key: dict[str, Any]) -> dict[str, Any] | None:
        """Return the stored item."""
        request = {"TableName": TABLE, "Key": key, "ConsistentRead": True}
        return self.engine.execute("GetItem", request).get("Item")

    def number(self, key: dict[str, Any]) -> int:
        """Return the value of a counter."""
        return int((self.stored(key) or {"n": {"N": "0"}})["n"]["N"])

    def attempt(
        self, operation: str, request: dict[str, Any], script: list[Fault]
    ) -> dict[str, Any] | KeyfoldError:
        """Return the outcome that the client reports for a call with these faults."""
        self.proxy.plan(script)
        execute = self.with_short_timeout if WAITING & set(script) else self.with_long_timeout
        try:
            return execute(operation, request)
        except KeyfoldError as error:
            return error
        finally:
            # Scripted closes must happen before the next call picks a connection.
            self.proxy.settle()
            self.proxy.plan([])


@pytest.fixture(scope="module", params=["sync", "async"])
def harness(request: pytest.FixtureRequest) -> Iterator[FaultHarness]:
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
        clients = [
            open_one(stack, proxy.url, timeouts) for timeouts in (LONG_TIMEOUT, SHORT_TIMEOUT)
        ]
        yield FaultHarness(engine, proxy, *clients)
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
# Several calls in a row: each finds the connections as the previous one left them.
several = st.lists(scripts, min_size=1, max_size=4)
search = examples(
    20,
    2_000,
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
def test_a_counter_matches_the_reported_outcomes(
    harness: FaultHarness, plans: list[list[Fault]]
) -> None:
    key = new_key()
    for script in plans:
        before = harness.number(key)
        outcome = harness.attempt("UpdateItem", add_one(key), script)
        counted = harness.number(key) - before
        if isinstance(outcome, OutcomeUnknown):
            assert counted in (0, 1)
        elif isinstance(outcome, Unreachable | Unavailable):
            assert counted == 0
        else:
            assert outcome == {}
            assert counted == 1
        if all(fault in HARMLESS for fault in script):
            assert outcome == {}
        if set(script) <= {"busy", "throttle"}:
            # The server did nothing, so the call is retried although it is not idempotent.
            assert isinstance(outcome, dict if len(script) < RETRIES.attempts else Unavailable)


@search
@given(several)
@example([["forget", "pass"], ["truncate", "throttle", "pass"]])
def test_a_retried_creation_never_reports_its_own_item_as_existing(
    harness: FaultHarness, plans: list[list[Fault]]
) -> None:
    key = new_key()
    for place, script in enumerate(plans):
        item = {**key, "by": {"N": str(place)}}
        before = harness.stored(key)
        condition = {"ConditionExpression": "attribute_not_exists(pk)"}
        request = {"TableName": TABLE, "Item": item, **condition}
        outcome = harness.attempt("PutItem", request, script)
        after = harness.stored(key)
        match outcome:
            case ConditionalCheckFailedException():
                assert before is not None
                assert after == before
            case OutcomeUnknown():
                assert after in (before, item)
                if isinstance(outcome.error, ConditionalCheckFailedException):
                    assert after is not None
            case Unreachable() | Unavailable():
                assert after == before
            case _:
                assert outcome == {}
                assert before is None
                assert after == item


@search
@given(several, st.booleans())
@example([["forget", "delay", "fail late", "corrupt", "pass"]], False)
def test_a_transaction_is_executed_once(
    harness: FaultHarness, plans: list[list[Fault]], has_token: bool
) -> None:
    key, guard = new_key(), new_key()
    for place, script in enumerate(plans):
        before = harness.number(key)
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
        outcome = harness.attempt("TransactWriteItems", asked, script)
        counted = harness.number(key) - before
        match outcome:
            case TransactionCanceledException():
                assert is_impossible
                assert counted == 0
            case OutcomeUnknown():
                assert counted in ((0,) if is_impossible else (0, 1))
            case Unreachable() | Unavailable():
                assert counted == 0
            case _:
                assert outcome == {}
                assert counted == 1


Kind = Literal["PutItem", "DeleteItem", "UpdateItem", "BatchWriteItem"]


def write(kind: Kind, key: dict[str, Any], value: int) -> tuple[dict[str, Any], Any]:
    """Return an idempotent write, and the item it leaves."""
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
def test_returned_old_values_are_right(
    harness: FaultHarness, plans: list[tuple[Kind, list[Fault]]]
) -> None:
    key = new_key()
    for value, (kind, script) in enumerate(plans):
        before = harness.stored(key)
        request, left = write(kind, key, value)
        outcome = harness.attempt(kind, request, script)
        after = harness.stored(key)
        match outcome:
            case OutcomeUnknown():
                assert after in (before, left)
            case Unreachable() | Unavailable():
                assert after == before
            case dict():
                assert after == left
                if kind != "BatchWriteItem":
                    assert outcome.get("Attributes") == before
            case _:
                pytest.fail(str(outcome))


@search
@given(scripts)
def test_a_read_returns_the_right_item_or_fails(harness: FaultHarness, script: list[Fault]) -> None:
    key = new_key()
    item = {**key, "blob": {"B": b"\0\xff" * 40}}
    harness.engine.execute("PutItem", {"TableName": TABLE, "Item": item})
    outcome = harness.attempt("GetItem", {"TableName": TABLE, "Key": key}, script)
    if isinstance(outcome, KeyfoldError):
        assert isinstance(outcome, Unreachable | Unavailable)
        assert len(script) >= RETRIES.attempts or WAITING & set(script)
    else:
        assert outcome == {"Item": item}


def test_concurrent_calls_survive_faults(harness: FaultHarness) -> None:
    """A hundred calls on sixteen connections count up; every third request has a fault."""
    key = new_key()
    harness.proxy.plan(
        [FAULTS[place // 3 % len(FAULTS)] if place % 3 == 0 else "pass" for place in range(300)]
    )

    async def count_up() -> list[dict[str, Any] | KeyfoldError]:
        async with AsyncExitStack() as stack:
            client = AsyncClient(
                harness.proxy.url, timeouts=SHORT_TIMEOUT, retries=RETRIES, connections=16
            )
            stack.push_async_callback(client.close)
            calls = (client.execute("UpdateItem", add_one(key)) for _ in range(100))
            return await asyncio.gather(*calls, return_exceptions=True)  # type: ignore[return-value]

    outcome = asyncio.run(count_up())
    harness.proxy.settle()
    harness.proxy.plan([])
    done = sum(each == {} for each in outcome)
    unknown = sum(isinstance(each, OutcomeUnknown) for each in outcome)
    refused = sum(isinstance(each, Unreachable | Unavailable) for each in outcome)
    assert done + unknown + refused == 100
    assert done <= harness.number(key) <= done + unknown
