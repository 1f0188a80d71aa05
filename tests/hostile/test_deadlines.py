"""What takes long ends: at its deadline, when its client is gone, and when the server stops."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from keyfold.engine import NO_DEADLINE, Deadline, Engine
from keyfold.engine.items import deadlines, reads
from keyfold.engine.jobs import SECONDS_AT_ONCE, Jobs
from keyfold.engine.operations import search_vectors
from keyfold.errors import FileBusy, InternalServerError
from keyfold.wire.server import Limits, Server, _scheduler, _server
from tests.hostile.clocks import Ticks
from tests.unit.engine.row_tables import ROWS
from tests.unit.engine.vectors import INDEX, create, numbers
from tests.unit.engine.vectors import put as put_product
from tests.unit.wire.server.http import TABLE, ask, make_table, read_responses

SEARCH: dict[str, Any] = {
    "TableName": "Products",
    "IndexName": "ByLook",
    "SearchVector": numbers([1.0, 0.0, 0.0]),
    "TopK": 3,
}
COUNT = 30


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """An engine with rows and products, which reads both in small slices."""
    for module in (deadlines, reads):
        monkeypatch.setattr(module, "SLICE_WORK", 1_000)
    monkeypatch.setattr(reads, "LITTLE_WORK", 0)
    monkeypatch.setattr(search_vectors, "_BATCH_BYTES", 20)
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        engine.execute("CreateTable", ROWS)
        engine.execute("CreateTable", create(INDEX))
        for number in range(COUNT):
            item = {"pk": {"S": "a"}, "sk": {"N": str(number)}, "t": {"S": "x" * 1_000}}
            engine.execute("PutItem", {"TableName": "Rows", "Item": item})
            put_product(engine, f"p{number:02}", float(number), 1.0, 0.0)
        yield engine


QUERY: dict[str, Any] = {
    "TableName": "Rows",
    "KeyConditionExpression": "pk = :p",
    "ExpressionAttributeValues": {":p": {"S": "a"}, ":x": {"S": "y"}},
}
PAGES: dict[str, tuple[str, dict[str, Any]]] = {
    "Query": ("Query", {**QUERY, "FilterExpression": "contains(t, :x) OR t <> :x"}),
    "Query with a projection": (
        "Query",
        {**QUERY, "FilterExpression": "t <> :x", "ProjectionExpression": "sk"},
    ),
    "Query of an index": (
        "Query",
        {**QUERY, "ExpressionAttributeValues": {":p": {"S": "a"}}, "IndexName": "keys"},
    ),
    "Scan": (
        "Scan",
        {
            "TableName": "Rows",
            "FilterExpression": "contains(t, :x) OR t <> :x",
            "ExpressionAttributeValues": {":x": {"S": "y"}},
        },
    ),
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_ends_at_its_deadline_and_the_next_one_continues(engine: Engine, name: str) -> None:
    operation, request = PAGES[name]
    counts: list[int] = []
    start: dict[str, Any] = {}
    while True:
        page = engine.execute_parsed(operation, request | start, Deadline(3.0, monotonic=Ticks()))
        counts.append(page["Count"])
        if "LastEvaluatedKey" not in page:
            break
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
    assert sum(counts) == COUNT, "no item is lost, and none is returned twice"
    assert counts[0] < 10
    assert all(counts[:-1]), "every page makes progress"


def test_a_page_of_a_statement_ends_at_its_deadline(engine: Engine) -> None:
    request = {"Statement": "SELECT * FROM \"Rows\" WHERE pk = 'a' AND t <> 'b'"}
    deadline = Deadline(3.0, monotonic=Ticks())
    page = engine.execute_parsed("ExecuteStatement", request, deadline)
    assert "NextToken" in page


def test_a_vector_search_that_takes_too_long_is_refused(engine: Engine) -> None:
    found = engine.execute_parsed("SearchVectors", SEARCH, Deadline(1_000.0, monotonic=Ticks()))
    assert len(found["SearchResults"]) == 3
    with pytest.raises(InternalServerError, match="cancelled after 3 seconds"):
        engine.execute_parsed("SearchVectors", SEARCH, Deadline(3.0, monotonic=Ticks()))


def test_a_cancelled_search_ends_at_the_next_slice(engine: Engine) -> None:
    looks: list[int] = []

    def is_cancelled() -> bool:
        looks.append(1)
        return len(looks) > 2

    with pytest.raises(InternalServerError, match="was cancelled"):
        engine.execute_parsed("SearchVectors", SEARCH, Deadline(60.0, is_cancelled=is_cancelled))
    assert len(looks) == 3


def test_a_search_excludes_nobody(engine: Engine) -> None:
    """In memory there is one connection: whoever held its lock would stop the event loop."""
    storage = engine._storage
    held: list[bool] = []

    def look() -> bool:
        held.append(storage._mutex.locked())
        return False

    engine.execute_parsed("SearchVectors", SEARCH, Deadline(60.0, is_cancelled=look))
    assert len(held) > 5
    assert not any(held)


def test_the_first_batches_of_a_job_end_in_time() -> None:
    now = 0.0

    def batch(_: str) -> bool:
        nonlocal now
        now += 0.5
        return False

    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        context = engine._context
        jobs = Jobs(context.storage, context.clock, context.buckets, {}, monotonic=lambda: now)
        jobs._batches["slow"] = batch
        assert not jobs.begin("slow", "job")
    assert now == SECONDS_AT_ONCE


def test_a_table_of_long_items_is_described_by_a_short_sample() -> None:
    read: list[int] = []
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        engine.execute("CreateTable", ROWS)
        for number in range(20):
            item = {"pk": {"S": "a"}, "sk": {"N": str(number)}, "t": {"S": "x" * 300_000}}
            engine.execute("PutItem", {"TableName": "Rows", "Item": item})
        view = engine._storage._view
        read_span = type(view).read_span

        def counted(self: Any, rows: Any, span: Any, *, limit: int, max_bytes: int) -> Any:
            page = read_span(self, rows, span, limit=limit, max_bytes=max_bytes)
            read.append(sum(page[1]))
            return page

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(view), "read_span", counted)
            described = engine.execute("DescribeTable", {"TableName": "Rows"})["Table"]
    assert described["GlobalSecondaryIndexes"][0]["ItemCount"] == 20
    assert sum(read) < 1_000_000


class EndlessEngine(Engine):
    """An engine whose scans last until their deadline is over."""

    begun: threading.Event
    ended: threading.Event
    operations: list[str]

    def execute_parsed(
        self, operation: str, request: Any, deadline: Deadline = NO_DEADLINE
    ) -> dict[str, Any]:
        self.operations.append(operation)
        if operation == "Scan":
            self.begun.set()
            while not deadline.is_over:
                time.sleep(0.001)
            self.ended.set()
        return super().execute_parsed(operation, request, deadline)


@pytest.fixture
def endless() -> Iterator[EndlessEngine]:
    with EndlessEngine.open(":memory:", upkeep_seconds=None) as engine:
        engine.begun, engine.ended, engine.operations = threading.Event(), threading.Event(), []
        make_table(engine)
        yield engine


def connect(url: str) -> socket.socket:
    host, _, port = url.partition("://")[2].rpartition(":")
    return socket.create_connection((host, int(port)))


def test_an_operation_in_a_lane_has_a_deadline(endless: EndlessEngine) -> None:
    with Server(endless, limits=Limits(run_seconds=0.0)).running() as url, connect(url) as client:
        client.sendall(ask("Scan", {"TableName": TABLE}))
        assert client.recv(65_536).startswith(b"HTTP/1.1 500"), "it ended before it began"


def test_a_stop_ends_the_pages_that_are_being_read(endless: EndlessEngine) -> None:
    limits = Limits(stop_seconds=0.01, run_seconds=float("inf"))
    with Server(endless, limits=limits).running() as url:
        client = connect(url)
        client.sendall(ask("Scan", {"TableName": TABLE}))
        endless.begun.wait()
    with client:
        received = b"".join(iter(lambda: client.recv(65_536), b""))
    assert read_responses(received)[0].json["Count"] == 0, "it is answered with a page"


def test_a_stop_forgets_what_has_not_begun(endless: EndlessEngine) -> None:
    limits = Limits(stop_seconds=0.01, run_seconds=float("inf"))
    with Server(endless, limits=limits).running() as url:
        clients = [connect(url) for _ in range(12)]
        for client in clients:
            client.sendall(ask("Scan", {"TableName": TABLE}))
        endless.begun.wait()
    for client in clients:
        client.close()
    assert len(endless.operations) <= 5


def test_a_search_ends_when_its_client_is_gone(endless: EndlessEngine) -> None:
    with Server(endless, limits=Limits(run_seconds=float("inf"))).running() as url:
        with connect(url) as client:
            # Closing resets the connection. One that is half closed still waits for its answers.
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.sendall(ask("Scan", {"TableName": TABLE}))
            endless.begun.wait()
        assert endless.ended.wait(timeout=60)


def test_a_stop_does_not_wait_for_what_cannot_be_cancelled(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name in ((_server, "_LAST_SECONDS"), (_scheduler, "_JOIN_SECONDS")):
        monkeypatch.setattr(module, name, 0.01)
    begun, released, ended = threading.Event(), threading.Event(), threading.Event()

    class Stuck:
        def execute_parsed(self, operation: str, request: Any) -> dict[str, Any]:
            begun.set()
            released.wait()
            try:
                return engine.execute_parsed(operation, request)
            finally:
                ended.set()

    with Server(Stuck(), limits=Limits(stop_seconds=0.01)).running() as url:
        client = connect(url)
        client.sendall(ask("Scan", {"TableName": TABLE}))
        begun.wait()
    assert not ended.is_set()
    client.close()
    released.set()
    ended.wait()


def test_closing_ends_the_wait_for_another_process(tmp_path: Path) -> None:
    path = tmp_path / "things.db"
    with Engine.open(path, upkeep_seconds=None, busy_seconds=3_600.0) as engine:
        make_table(engine)
        other: Any = apsw.Connection(str(path))
        other.execute("BEGIN IMMEDIATE")
        errors: list[Exception] = []
        waiting = threading.Event()
        handler = engine._storage._busy_wait

        def write() -> None:
            try:
                engine.execute("PutItem", {"TableName": TABLE, "Item": {"pk": {"S": "a"}}})
            except FileBusy as error:
                errors.append(error)

        def note(attempt: int) -> bool:
            waiting.set()
            return handler(attempt)

        engine._storage._connection.set_busy_handler(note)
        thread = threading.Thread(target=write)
        thread.start()
        waiting.wait()
        engine.close()
        thread.join()
        other.close()
    assert len(errors) == 1


def test_operations_that_share_a_turn_compute_one_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turn, done = threading.Lock(), list[str]()
    first, second = Deadline(10.0, turn=turn), Deadline(10.0, turn=turn)

    def pause(_: Deadline) -> None:
        assert not turn.locked()
        with second.computing():
            assert turn.locked()
            done.append("second")

    monkeypatch.setattr(Deadline, "pause", pause)
    with first.computing():
        assert turn.locked()
        first.pass_turn()
        assert turn.locked()
        done.append("first")
    assert not turn.locked()
    assert done == ["second", "first"]


def test_an_operation_without_a_turn_does_not_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Deadline) -> None:
        raise AssertionError("it paused")

    monkeypatch.setattr(Deadline, "pause", fail)
    for deadline in (NO_DEADLINE, Deadline(10.0)):
        with deadline.computing():
            deadline.pass_turn()


def test_a_filter_passes_its_turn_after_each_slice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turn, passed = threading.Lock(), list[bool]()

    def pause(_: Deadline) -> None:
        passed.append(turn.locked())

    monkeypatch.setattr(Deadline, "pause", pause)
    words = [f"contains(t, :v{number})" for number in range(90)]
    query = {
        "TableName": TABLE,
        "FilterExpression": " OR ".join(words),
        "ExpressionAttributeValues": {f":v{number}": {"S": "no"} for number in range(90)},
    }
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        make_table(engine)
        for number in range(10):
            item = {"pk": {"S": str(number)}, "t": {"S": "x" * 50_000}}
            engine.execute("PutItem", {"TableName": TABLE, "Item": item})
        page = engine.execute_parsed("Scan", query, Deadline(10.0, turn=turn))
    assert page["ScannedCount"] == 10
    # Each item is more than a slice: 50 KB times 90 operands.
    assert passed == [False] * 10
    assert not turn.locked()
