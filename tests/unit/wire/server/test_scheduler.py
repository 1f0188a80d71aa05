"""Which thread runs an operation; nothing is answered before it is committed."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import apsw
import pytest

from keyfold.engine import Engine
from keyfold.errors import FileBusy
from keyfold.wire.server import _state
from keyfold.wire.server._requests import WireCall
from keyfold.wire.server._scheduler import Outcome, Scheduler
from tests.unit.wire.server.http import (
    TABLE,
    FakeTransport,
    Wire,
    ask,
    get,
    make_table,
    put,
    read_responses,
)


class SchedulerHarness:
    """A scheduler on an engine, and the outcomes it has reported."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.loop = asyncio.new_event_loop()
        # No time passes, so that a group is as large as it can be.
        self.scheduler = Scheduler(engine, self.loop, waiting=1_000, monotonic=lambda: 0.0)
        self.outcomes: list[Outcome] = []

    def put(self, name: str, **more: Any) -> None:
        body = {"TableName": TABLE, "Item": {"pk": {"S": name}}, **more}
        call = WireCall("PutItem", json.dumps(body).encode(), b"application/x-amz-json-1.0")
        self.scheduler.run(call, self.outcomes.append)

    def run(self) -> None:
        self.loop.run_until_complete(self.scheduler.drain())

    def names(self) -> set[str]:
        items = self.engine.execute("Scan", {"TableName": TABLE})["Items"]
        return {item["pk"]["S"] for item in items}


@pytest.fixture(params=["process", "durable"])
def harness(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SchedulerHarness]:
    path = tmp_path / "things.db"
    with Engine.open(path, durability=request.param, upkeep_seconds=None) as engine:
        make_table(engine)
        harness = SchedulerHarness(engine)
        harness.put("first")
        harness.run()
        harness.outcomes.clear()
        yield harness
        harness.scheduler.close()
        harness.loop.close()
        assert engine.verify() == []


def test_writes_of_one_loop_iteration_share_a_commit(harness: SchedulerHarness) -> None:
    view = type(harness.engine._storage._view)
    with mock.patch.object(view, "commit", autospec=True, side_effect=view.commit) as commit:
        for number in range(50):
            harness.put(str(number))
        assert harness.outcomes == [], "nothing is answered before the commit"
        harness.run()
    assert harness.outcomes == [b"{}"] * 50
    assert commit.call_count == 1
    assert harness.names() == {"first", *map(str, range(50))}


def test_reads_and_writes_of_one_loop_iteration_are_all_answered(tmp_path: Path) -> None:
    """Reads share a view, and a write in the same iteration must neither meet it nor leave it stale."""
    path = tmp_path / "things.db"
    with (
        Engine.open(path, durability="process", upkeep_seconds=None) as engine,
        Engine.open(path, durability="process", upkeep_seconds=None) as other,
    ):
        make_table(engine)
        wire = Wire(engine)

        def ask_all(*requests: bytes) -> list[str]:
            """Send requests in one iteration of the loop; return the items that were read."""
            wire.scheduler._unshared_reads = 0
            transports: list[FakeTransport] = []
            for each in requests:
                connection, transport = wire.connect()
                connection.data_received(each)
                transports.append(transport)
            wire.run_until_idle()
            responses = [one for each in transports for one in read_responses(each.written)]
            assert [each.status for each in responses] == [200] * len(requests)
            return [each.json["Item"]["pk"]["S"] for each in responses if "Item" in each.json]

        delete = ask("DeleteItem", {"TableName": TABLE, "Key": {"pk": {"S": "nobody's"}}})
        for number in range(20):
            mine, theirs = f"mine {number}", f"theirs {number}"
            # The writes are carried out at the end of the iteration, or, if one comes first, before
            # the view is released.
            requests = [get(mine), put(mine), put(f"{mine} too"), get(theirs)]
            assert ask_all(*requests[number % 4 :], *requests[: number % 4]) == []
            assert ask_all(get(theirs), get(mine), get(f"{mine} too")) == [mine, f"{mine} too"]
            # A write that is alone shares no commit.
            assert ask_all(delete, get(theirs), get(mine)) == [mine]
            item = {"pk": {"S": theirs}}
            other.execute("PutItem", {"TableName": TABLE, "Item": item})
            # It was answered before these reads were sent.
            assert ask_all(get(theirs), get(mine)) == [theirs, mine]
        wire.close()


def test_each_request_gets_its_own_outcome(harness: SchedulerHarness) -> None:
    harness.put("new", ConditionExpression="attribute_not_exists(pk)")
    harness.put("new", ConditionExpression="attribute_not_exists(pk)")
    harness.put("first", ReturnValues="ALL_OLD")
    harness.put("")
    harness.run()
    first, second, third, fourth = harness.outcomes
    assert first == b"{}"
    assert type(second).__name__ == "ConditionalCheckFailedException"
    assert json.loads(third if isinstance(third, bytes) else b"null") == {
        "Attributes": {"pk": {"S": "first"}}
    }
    assert type(fourth).__name__ == "ValidationException"
    assert harness.names() == {"first", "new"}


def test_a_write_that_fails_does_not_affect_the_others(harness: SchedulerHarness) -> None:
    view = type(harness.engine._storage._view)
    original = view.put

    def put(self: Any, rows: Any, key: bytes, *rest: Any) -> None:
        original(self, rows, key, *rest)
        if b"bad" in key:
            raise apsw.FullError("injected")

    with mock.patch.object(view, "put", put):
        for name in ("a", "bad", "b"):
            harness.put(name)
        harness.run()
    first, second, third = harness.outcomes
    assert (first, third) == (b"{}", b"{}")
    assert type(second).__name__ == "FileFailed"
    assert harness.names() >= {"first", "a", "b"}


def test_a_failed_commit_fails_every_request_in_it(harness: SchedulerHarness) -> None:
    view = type(harness.engine._storage._view)
    with mock.patch.object(view, "commit", side_effect=apsw.FullError("injected")):
        harness.put("a", ReturnValues="ALL_OLD")
        harness.put("b", ReturnValues="ALL_OLD")
        harness.run()
    assert [type(outcome).__name__ for outcome in harness.outcomes] == ["FileFailed"] * 2
    assert harness.names() == {"first"}


def test_a_lock_held_by_another_process_does_not_block_the_loop(tmp_path: Path) -> None:
    path = tmp_path / "things.db"
    with Engine.open(path, durability="process", upkeep_seconds=None) as engine:
        make_table(engine)
        wire = Wire(engine)
        wire.exchange(put("a"))
        other: Any = apsw.Connection(str(path))
        other.execute("BEGIN IMMEDIATE")
        connection, transport = wire.connect()
        connection.data_received(put("b"))
        # The write waits in another thread; reads are answered meanwhile.
        wire.loop.run_until_complete(asyncio.sleep(0))
        assert transport.written == b""
        reader, read = wire.connect()
        reader.data_received(get("a"))
        assert b"200 OK" in read.written
        other.execute("ROLLBACK")
        wire.run_until_idle()
        assert b"200 OK" in transport.written
        other.close()
        wire.close()


def test_a_call_that_may_not_wait_fails_at_once(tmp_path: Path) -> None:
    path = tmp_path / "things.db"
    request = {"TableName": TABLE, "Item": {"pk": {"S": "a"}}}
    with Engine.open(path, durability="process", upkeep_seconds=None, busy_seconds=60.0) as engine:
        make_table(engine)
        other: Any = apsw.Connection(str(path))
        other.execute("BEGIN IMMEDIATE")
        for calls in ([("PutItem", request)], [("PutItem", request)] * 2):
            with pytest.raises(FileBusy):
                engine.execute_together(calls, may_wait=False)
        other.close()
        assert engine.execute_together([("PutItem", request)] * 2) == [{}, {}]


class Broken:
    """A service with a bug."""

    def execute_parsed(self, operation: str, request: Any) -> dict[str, Any]:
        raise ZeroDivisionError(operation)


def test_a_bug_is_answered_with_500_and_logged(capsys: pytest.CaptureFixture[str]) -> None:
    wire = Wire(Broken())
    (response,) = wire.exchange(get("a"))
    assert response.status == 500
    assert response.json["__type"] == "com.amazonaws.dynamodb.v20120810#InternalServerError"
    found = re.fullmatch(r"Internal server error (\(reference \w+\))", response.json["message"])
    assert found is not None
    shown = capsys.readouterr().err
    assert f"GetItem failed unexpectedly {found[1]}" in shown
    assert "ZeroDivisionError" in shown
    wire.close()


def test_a_bug_in_reading_a_request_is_answered_with_500(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(_state, "read_call", fail)
    wire = Wire(Broken())
    (response,) = wire.exchange(get("a"))
    assert response.status == 500
    assert "a request failed unexpectedly" in capsys.readouterr().err
    wire.close()


def test_a_service_that_is_not_an_engine_runs_outside_the_loop() -> None:
    threads: list[str] = []

    class Slow:
        def execute_parsed(self, operation: str, request: Any) -> dict[str, Any]:
            threads.append(threading.current_thread().name)
            return {}

    wire = Wire(Slow())
    assert [response.status for response in wire.exchange(get("a") + put("a"))] == [200, 200]
    assert all(name.startswith("keyfold-operations") for name in threads)
    wire.close()
