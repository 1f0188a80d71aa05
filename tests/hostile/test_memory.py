"""What a client makes the server hold is counted, and bounded, whatever it consists of."""

from __future__ import annotations

import asyncio
import gc
import io
import random
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import orjson
import pytest

from keyfold.engine import Engine
from keyfold.wire.server import Limits, _requests
from keyfold.wire.server._access_log import AccessLog
from keyfold.wire.server._connection import ServerConnection
from keyfold.wire.server._memory import WORK_FACTOR, ConnectionMemory, ServerMemory
from keyfold.wire.server._metrics import Metrics
from keyfold.wire.server._state import ServerState
from tests.unit.wire.server.http import (
    TABLE,
    FakeTransport,
    Wire,
    ask,
    get,
    head,
    make_table,
    put,
    read_responses,
    write_request,
)

KIB, MIB = 1 << 10, 1 << 20
LIMITS = Limits(
    head_bytes=8 * KIB,
    body_bytes=MIB,
    connections=32,
    connection_bytes=4 * MIB,
    buffered_bytes=10 * MIB,
    work_bytes=64 * MIB,
    pipelined=32,
    send_seconds=20.0,
)
# What one read from a socket returns, at most.
READ_BYTES = 256 * KIB


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        make_table(engine)
        yield engine


@pytest.fixture
def wire(engine: Engine) -> Iterator[Wire]:
    wire = Wire(engine, LIMITS)
    yield wire
    wire.close()


def send(client: tuple[ServerConnection, FakeTransport], data: bytes) -> bytes:
    """Send data for as long as the server reads; return the rest."""
    connection, transport = client
    loop = connection._state.scheduler._loop
    sent = 0
    while sent < len(data) and not transport.is_paused and not transport.is_closing():
        connection.data_received(data[sent : sent + READ_BYTES])
        sent += READ_BYTES
        # After a long read, others get their turn before the next.
        loop.run_until_complete(asyncio.sleep(0))
    return data[sent:]


def statuses(transport: FakeTransport) -> list[int]:
    return [response.status for response in read_responses(transport.written)]


def chunked(*chunks: bytes, end: bytes = b"0\r\n") -> bytes:
    body = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)
    return write_request(head("ListTables", Transfer_Encoding="chunked"), body + end)


TRAILERS = {
    "many": b"".join(b"t%d: x\r\n" % number for number in range(100_000)),
    "one without end": b"t: " + b"x" * MIB,
    "one name": b"t: x\r\n" * 100_000,
    "an extension of a chunk": b"x" * MIB,
}


@pytest.mark.parametrize("kind", TRAILERS)
@pytest.mark.parametrize("piece_bytes", [100, READ_BYTES])
def test_trailers_are_bounded_like_heads(wire: Wire, kind: str, piece_bytes: int) -> None:
    connection, transport = wire.connect()
    end = b"1;" if kind.startswith("an extension") else b"0\r\n"
    connection.data_received(chunked(b"{}", end=end))
    tracemalloc.start()
    data, sent = TRAILERS[kind], 0
    while not transport.written:
        connection.data_received(data[sent : sent + piece_bytes])
        sent += piece_bytes
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert statuses(transport) == [400]
    assert sent <= LIMITS.head_bytes + 2 * max(piece_bytes, 4 * KIB)
    assert peak < 4 * max(LIMITS.head_bytes, piece_bytes)


def test_trailers_within_the_limit_are_accepted(wire: Wire) -> None:
    trailers = b"".join(b"t%d: x\r\n" % number for number in range(50))
    (response,) = wire.exchange(chunked(b"{}", end=b"0\r\n" + trailers + b"\r\n"))
    assert response.status == 200


@pytest.mark.parametrize(("count", "status"), [(90, 200), (101, 400), (1_000, 400)])
def test_the_number_of_headers_is_bounded(wire: Wire, count: int, status: int) -> None:
    more = {f"h{number}": "" for number in range(count)}
    (response,) = wire.exchange(write_request(head("ListTables") | more))
    assert response.status == status


def test_a_body_in_short_chunks_takes_its_bytes(wire: Wire) -> None:
    connection, transport = wire.connect()
    connection.data_received(chunked(b"[", end=b""))
    data = b"2\r\n1,\r\n" * (128 * KIB)
    tracemalloc.start()
    left = send((connection, transport), data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert left == b""
    # The body, a read of the same size as a transport's, and the parser's slices.
    assert peak < 2 * (256 * KIB + READ_BYTES)


def test_whole_bodies_that_wait_are_counted_and_back_pressure_ends(wire: Wire) -> None:
    client = wire.connect()
    body = ask("PutItem", {"Text": "x" * (LIMITS.body_bytes - KIB)})
    left, held = send(client, body * 20), 0
    rounds = 0
    while left:
        # Nothing is answered while the loop does not run.
        assert client[1].is_paused
        held = max(held, wire.state.memory.pooled_bytes)
        wire.run_until_idle()
        assert not client[1].is_paused
        left = send(client, left)
        rounds += 1
    wire.run_until_idle()
    assert statuses(client[1]) == [400] * 20
    assert 2 * MIB < held <= LIMITS.connection_bytes + READ_BYTES
    assert rounds >= 3
    assert wire.state.memory.pooled_bytes == 0


def test_short_requests_that_wait_are_counted(wire: Wire) -> None:
    client = wire.connect()
    client[0].data_received(put("a"))
    tiny = b"GET / HTTP/1.1\r\n\r\n"
    count = READ_BYTES // len(tiny)
    client[0].data_received(tiny * count)
    # The rest of what was read has not even been parsed.
    assert client[1].is_paused
    assert len(client[0]._backlog) < 300
    assert wire.state.memory.pooled_bytes < MIB
    wire.run_until_idle()
    assert statuses(client[1]) == [200] * (1 + count)
    assert wire.state.memory.pooled_bytes == 0
    assert not client[1].is_paused


def test_parsing_gives_other_connections_their_turn(wire: Wire) -> None:
    # Time passes whenever somebody looks.
    clock = wire.clock
    wire.state.monotonic = lambda: setattr(clock, "now", clock.now + 0.001) or clock.now
    client = wire.connect()
    data = chunked(b"[", end=b"") + b"2\r\n1,\r\n" * 30_000
    client[0].data_received(data)
    assert client[1].is_paused
    assert len(client[0]._body) < 10_000
    wire.run_until_idle()
    assert not client[1].is_paused
    assert len(client[0]._body) == 60_001


def test_a_request_that_fits_nowhere_is_refused(engine: Engine) -> None:
    wire = Wire(engine, replace(LIMITS, connection_bytes=100 * KIB))
    client = wire.connect()
    send(client, ask("PutItem", {"Text": "x" * (MIB - KIB)}))
    assert statuses(client[1]) == [413]
    wire.close()


def test_all_connections_together_are_bounded_and_small_requests_are_served(wire: Wire) -> None:
    wire.exchange(put("a"))
    body = ask("PutItem", {"Text": "x" * (LIMITS.body_bytes - KIB)})
    hostile = [wire.connect() for _ in range(3)]
    for client in hostile:
        # The first is being carried out; the others wait, and the last is incomplete.
        send(client, body * 4 + body[:-1])
        assert wire.state.memory.pooled_bytes <= LIMITS.buffered_bytes
    (polite,) = wire.exchange(get("a"))
    assert polite.status == 200
    assert 503 not in statuses(hostile[0][1])
    assert statuses(hostile[2][1])[-1:] == [503]
    for connection, _ in hostile:
        connection.connection_lost(None)
    wire.run_until_idle()
    assert (wire.state.memory.pooled_bytes, wire.state.memory.work_bytes) == (0, 0)


def scan(**more: Any) -> bytes:
    return ask("Scan", {"TableName": "Things", **more})


def test_answers_that_are_not_read_are_counted(wire: Wire) -> None:
    for number in range(4):
        wire.exchange(put(str(number), t={"S": "x" * 300_000}))
    clients = [wire.connect() for _ in range(4)]
    for connection, transport in clients:
        transport.is_read = False
        connection.data_received(scan() * 3)
        wire.run_until_idle()
        # One answer, of which the transport has a piece; nothing more is begun.
        assert len(transport.unread) <= transport.high_water + READ_BYTES
        assert len(connection._backlog) == 2
    assert 3 * MIB < wire.state.memory.pooled_bytes <= LIMITS.buffered_bytes
    for _, transport in clients:
        transport.is_read = True
        transport.read()
    wire.run_until_idle()
    for _, transport in clients:
        transport.read()
        assert statuses(transport) == [200] * 3
    assert wire.state.memory.pooled_bytes == 0


def test_no_more_answers_are_made_than_may_be_held(engine: Engine) -> None:
    wire = Wire(engine, replace(LIMITS, buffered_bytes=2 * MIB, connections=40))
    for number in range(4):
        wire.exchange(put(str(number), t={"S": "x" * 300_000}))
    clients = [wire.connect() for _ in range(10)]
    for connection, transport in clients:
        transport.is_read = False
        connection.data_received(scan())
        wire.run_until_idle()
    answers = [bytes(transport.unread) for _, transport in clients]
    refused = [answer for answer in answers if answer.startswith(b"HTTP/1.1 503")]
    assert len(refused) >= 6
    assert all(b"X-Keyfold-Undone: true" in answer for answer in refused)
    # A write that returns an item is not carried out; others are.
    returning = ask(
        "PutItem",
        {"TableName": "Things", "Item": {"pk": {"S": "0"}}, "ReturnValues": "ALL_OLD"},
    )
    assert [each.status for each in wire.exchange(returning)] == [503]
    assert [each.status for each in wire.exchange(put("b"))] == [200]
    assert [each.status for each in wire.exchange(get("b"))] == [200]
    for connection, _ in clients:
        connection.connection_lost(None)
    assert [each.status for each in wire.exchange(returning)] == [200]
    wire.close()


def test_a_long_answer_has_to_be_read_in_time_as_a_whole(wire: Wire) -> None:
    for number in range(4):
        wire.exchange(put(str(number), t={"S": "x" * 300_000}))
    connection, transport = wire.connect()
    transport.is_read = False
    connection.data_received(scan())
    wire.run_until_idle()
    wire.wait(15.0)
    # The client reads what it got; the transport gets the next piece, and that is not read.
    transport.unread.clear()
    transport.is_full = False
    connection.resume_writing()
    wire.wait(6.0)
    assert transport.is_aborted


def test_closing_waits_for_a_long_answer(wire: Wire) -> None:
    for number in range(4):
        wire.exchange(put(str(number), t={"S": "x" * 300_000}))
    connection, transport = wire.connect()
    transport.is_read = False
    request = {"TableName": "Things"}
    connection.data_received(ask("Scan", request, Connection="close"))
    wire.run_until_idle()
    assert not transport.is_closed
    transport.read()
    assert transport.is_closed
    (response,) = read_responses(transport.written)
    assert response.json["Count"] == 4


def test_an_interim_answer_does_not_come_between_others(wire: Wire) -> None:
    wire.exchange(put("a", t={"S": "x" * 390_000}))
    connection, transport = wire.connect()
    transport.is_read = False
    connection.data_received(get("a"))
    wire.run_until_idle()
    connection.data_received(get("b", Expect="100-continue"))
    transport.read()
    wire.run_until_idle()
    transport.read()
    assert statuses(transport) == [200, 200]


def test_large_requests_wait_for_room_and_smaller_ones_pass(engine: Engine) -> None:
    wire = Wire(engine, replace(LIMITS, work_bytes=40 * MIB))
    large = ask("PutItem", {"Text": "x" * (LIMITS.body_bytes - KIB)})
    clients = [wire.connect() for _ in range(3)]
    for connection, _ in clients:
        connection.data_received(large)
    assert 31 * MIB < wire.state.memory.work_bytes < 32 * MIB
    clients[1][0].connection_lost(None)
    wire.exchange(put("a", t={"S": "x" * 11 * KIB}))
    assert [statuses(transport) for _, transport in clients] == [[400], [], [400]]
    assert (wire.state.memory.pooled_bytes, wire.state.memory.work_bytes) == (0, 0)
    wire.close()


def test_an_idle_connection_keeps_nothing_of_its_last_request(wire: Wire) -> None:
    connection, _ = wire.connect()
    connection.data_received(put("a", t={"S": "x" * 300_000}))
    wire.run_until_idle()
    assert (connection._request, connection._call, connection._body) == (None, None, b"")


@pytest.mark.parametrize("operation", ["PutItem", "BatchWriteItem", "Query"])
def test_large_requests_are_freed_in_a_thread(
    wire: Wire, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    freed: list[tuple[int, str]] = []

    def note(values: list[Any]) -> None:
        # Two references: the list, and the argument. So nobody else keeps it.
        freed.append((sys.getrefcount(values[0]), threading.current_thread().name))

    monkeypatch.setattr(_requests, "free_in_parts", note)
    wire.exchange(put("a", t={"S": "x" * 300_000}))
    assert freed == [(2, "keyfold-answers-0")]
    # One that fails is not kept by its error.
    wire.exchange(ask(operation, {"TableName": "Missing", "Text": "x" * 300_000}))
    assert freed == [(2, "keyfold-answers-0")] * 2
    assert wire.state.memory.work_bytes == 0


def test_work_that_ends_at_once_does_not_pile_up() -> None:
    memory = ServerMemory(replace(LIMITS, work_bytes=100), 4)
    begun: list[int] = []

    def begin(number: int) -> None:
        begun.append(number)
        memory.end_work(60)

    memory.begin_work(None, 60, lambda: None)
    for number in range(5_000):
        memory.begin_work(None, 60, lambda number=number: begin(number))
    assert begun == []
    memory.end_work(60)
    assert begun == list(range(5_000))
    assert memory.work_bytes == 0


def test_work_beyond_the_limit_runs_alone() -> None:
    memory = ServerMemory(replace(LIMITS, work_bytes=100), 4)
    begun: list[str] = []
    assert memory.begin_work(None, 50, lambda: begun.append("first"))
    assert not memory.begin_work(None, 1_000, lambda: begun.append("large"))
    assert not memory.begin_work(None, 50, lambda: begun.append("late")), "others do not overtake"
    memory.end_work(50)
    assert begun == ["first", "large"]
    memory.end_work(1_000)
    assert begun == ["first", "large", "late"]


def test_what_is_parsed_takes_no_more_than_is_counted() -> None:
    for unit in (b'{"N":"1"},', b'"a",', b"1,", b"[],", b'{"a":1},', b"0.5,"):
        body = b"[" + unit * (200_000 // len(unit)) + b"0]"
        tracemalloc.start()
        parsed = orjson.loads(body)
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert parsed
        assert held <= WORK_FACTOR * len(body)


def test_the_pool_is_the_sum_of_what_accounts_hold() -> None:
    generator = random.Random(17)
    server = ServerMemory(LIMITS, LIMITS.connections)
    accounts = [ConnectionMemory(server) for _ in range(LIMITS.connections)]
    pool = LIMITS.buffered_bytes - server.own_bytes * LIMITS.connections
    for _ in range(5_000):
        account = generator.choice(accounts)
        before = account.held_bytes
        size = generator.randrange(600 * KIB)
        if generator.random() < 0.5:
            account.release(min(size, before))
        elif not account.hold(size):
            assert account.held_bytes == before
        pooled = sum(max(0, each.held_bytes - server.own_bytes) for each in accounts)
        assert server.pooled_bytes == pooled <= pool
        assert sum(each.held_bytes for each in accounts) <= LIMITS.buffered_bytes
    for account in accounts:
        account.close()
        account.hold_anyway(100)
    assert server.pooled_bytes == 0


REFUSED = {
    "not HTTP": (b"garbage\r\n\r\n", 400, "Bad Request"),
    "a long head": (write_request(head(Extra="x" * 9_000)), 400, "Bad Request"),
    "a long body": (write_request(head(Content_Length="2000000"), b""), 413, None),
    "a coding": (write_request(head(Transfer_Encoding="gzip, chunked"), b""), 501, None),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refusals_are_logged_and_counted(engine: Engine, kind: str) -> None:
    wire, log, metrics = Wire(engine, LIMITS), io.StringIO(), Metrics()
    wire.state = ServerState(
        wire.scheduler,
        LIMITS,
        metrics=metrics,
        access_log=AccessLog(log, lambda: 0.0),
        browsers=wire.state.browsers,
        monotonic=wire.clock,
    )
    sent, status, error = REFUSED[kind]
    (response,) = wire.exchange(sent)
    assert response.status == status
    entry = orjson.loads(log.getvalue())
    assert (entry["status"], entry["client"]) == (status, "192.0.2.1:4711")
    assert entry["request_id"] == response.headers["x-amzn-requestid"]
    assert metrics.errors["none", error or entry["error"]] == 1
    wire.close()


def test_a_refused_transaction_leaves_nothing_for_the_garbage_collector(wire: Wire) -> None:
    """What 100 refused keys hold would stay until a full collection, which is rare."""
    member = {"Get": {"TableName": TABLE, "Key": {"pk": {"S": "x" * 8 * KIB}}}}
    request = ask("TransactGetItems", {"TransactItems": [member] * 100})
    assert [response.status for response in wire.exchange(request)] == [400]
    gc.collect()
    gc.disable()
    try:
        wire.exchange(request)
        tracemalloc.start()
        for _ in range(3):
            wire.exchange(request)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        gc.enable()
    assert held < 100 * 8 * KIB
