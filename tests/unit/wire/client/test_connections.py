"""Connections: reused, found stale, timed out, limited in number, returned to the pool."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from keyfold.errors import ClientClosed, OptionInvalid, OutcomeUnknown, Unreachable
from keyfold.wire.client import AsyncClient, Client, Retries, Timeouts
from keyfold.wire.client._async_connections import AsyncPool
from keyfold.wire.client._calls import NoResponse
from keyfold.wire.client._connections import no_response_from
from keyfold.wire.client._endpoints import parse_endpoint
from tests.unit.wire.client.client_kinds import AnyClient, Kind, ScriptedServer, ok

ONCE = Retries(attempts=1)
ADD = {
    "TableName": "Music",
    "UpdateExpression": "ADD n :n",
    "ExpressionAttributeValues": {":n": {"N": "1"}},
}


@pytest.fixture(params=["sync", "async"])
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


def test_a_connection_is_reused(kind: Kind) -> None:
    with ScriptedServer([ok()] * 3) as server, AnyClient(kind, server.url) as client:
        for _ in range(3):
            assert client.execute("GetItem", {}) == {}
        assert server.connections == 1


@pytest.mark.parametrize(
    "answer",
    [
        ok(b"{}", b"Connection: close"),
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        ok() + b"x",
    ],
)
def test_a_connection_in_doubt_is_not_reused(kind: Kind, answer: bytes) -> None:
    with ScriptedServer([answer] * 2) as server, AnyClient(kind, server.url) as client:
        for _ in range(2):
            assert client.execute("GetItem", {}) == {}
        assert server.connections == 2


def test_a_stale_connection_is_noticed_before_anything_is_sent(kind: Kind) -> None:
    """Otherwise a request that is not idempotent would have to fail."""
    ended = threading.Event()

    def end(client: socket.socket) -> None:
        client.shutdown(socket.SHUT_RDWR)
        ended.set()

    with ScriptedServer([ok()] * 2) as server, AnyClient(kind, server.url, retries=ONCE) as client:
        server.after = end
        assert client.execute("UpdateItem", ADD) == {}
        assert ended.wait(60)
        assert client.execute("UpdateItem", ADD) == {}
        assert server.connections == 2


def test_an_old_connection_is_not_reused() -> None:
    now = [0.0]
    with ScriptedServer([ok()] * 3) as server:
        with Client(server.url, monotonic=lambda: now[0]) as client:
            for passed in (0.0, 49.0, 51.0):
                now[0] += passed
                client.execute("GetItem", {})
        assert server.connections == 2


@pytest.mark.parametrize(
    ("answer", "fact"),
    [
        (None, "the connection ended before the response"),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 9\r\n\r\n{", "in the middle"),
        (b"SSH-2.0\r\n\r\n", "is not HTTP"),
        (ok(b"nonsense"), "is not JSON"),
        (ok(b"{}", b"x-amz-crc32: 1"), "the checksum of the response is wrong"),
        (ok(b"{}", b"Content-Encoding: br"), "the content encoding of the response is b'br'"),
    ],
)
def test_a_lost_response_is_outcome_unknown_for_writes_and_unreachable_for_reads(
    kind: Kind, answer: bytes | None, fact: str
) -> None:
    with (
        ScriptedServer([answer] * 2) as server,
        AnyClient(kind, server.url, retries=ONCE) as client,
    ):
        with pytest.raises(OutcomeUnknown, match=fact):
            client.execute("UpdateItem", ADD)
        with pytest.raises(Unreachable, match=fact):
            client.execute("GetItem", {})


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_refused_connection_is_reported_after_three_attempts(kind: Kind, host: str) -> None:
    """A name may have several addresses, none of which accepts connections."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with AnyClient(kind, f"http://{host}:{port}", jitter=lambda: 1.0) as client:
        with pytest.raises(
            Unreachable,
            match="tried 3 times; connecting failed: Connection refused, as nothing listens there",
        ):
            client.execute("UpdateItem", ADD)
        assert client.pauses == [0.05, 0.1]


@pytest.mark.parametrize(
    ("error", "is_unreachable"),
    [
        (ConnectionRefusedError(errno.ECONNREFUSED, "no"), True),
        (OSError("Multiple exceptions: [Errno 111] Connect call, [Errno 111] Connect call"), True),
        (OSError("Multiple exceptions: [Errno 111] Connect call, [Errno 101] Network is"), False),
        (socket.gaierror(socket.EAI_NONAME, "no such name"), True),
        (socket.gaierror(socket.EAI_AGAIN, "ask again"), False),
        (ConnectionResetError(errno.ECONNRESET, "gone"), False),
        (OSError("something else"), False),
    ],
)
def test_permanent_connection_errors_are_unreachable_and_transient_ones_are_not(
    error: OSError, is_unreachable: bool
) -> None:
    if error.errno is None:
        error = OSError(str(error).replace("Errno 111", f"Errno {errno.ECONNREFUSED}"))
    assert (
        no_response_from(error, "connecting", 1, may_have_arrived=False).is_unreachable
        is is_unreachable
    )


def test_a_response_that_is_too_late_times_out(kind: Kind) -> None:
    timeouts = Timeouts(read_seconds=0.02)
    half = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"
    with (
        ScriptedServer([b"", half, ok()]) as server,
        AnyClient(kind, server.url, timeouts=timeouts, retries=ONCE) as client,
    ):
        for _ in range(2):
            with pytest.raises(OutcomeUnknown, match=r"took longer|in time"):
                client.execute("UpdateItem", ADD)
            # Wait for the server: if it lagged, the next call would get this call's response.
            assert server.received.acquire(timeout=60)
        # A late response goes to no other call: the next one uses a new connection.
        with AnyClient(kind, server.url, retries=ONCE) as second:
            assert second.execute("GetItem", {}) == {}


def test_the_total_timeout_ends_a_call_whose_response_trickles_in(kind: Kind) -> None:
    stop = threading.Event()

    def trickle(client: socket.socket) -> None:
        with suppress(OSError):
            while not stop.wait(0.002):
                client.sendall(b"x")

    try:
        with ScriptedServer([b"HTTP/1.1 200 OK\r\nX: "] * 4) as server:
            server.after = trickle
            for seconds in (0.05, 0.5, 5, 50):
                timeouts = Timeouts(read_seconds=300, total_seconds=seconds)
                with (
                    AnyClient(kind, server.url, timeouts=timeouts) as client,
                    pytest.raises((OutcomeUnknown, Unreachable), match="tried") as raised,
                ):
                    client.execute("UpdateItem", ADD)
                # On a busy machine the timeout may expire before anything is sent.
                if isinstance(raised.value, OutcomeUnknown):
                    break
            else:
                pytest.fail("it was never sent")
            stop.set()
    finally:
        stop.set()


def test_a_closed_client_raises_client_closed(kind: Kind) -> None:
    with ScriptedServer([ok()]) as server, AnyClient(kind, server.url) as client:
        client.execute("GetItem", {})
        client.close()
        client.close()
        with pytest.raises(ClientClosed, match="it is closed"):
            client.execute("GetItem", {})


def test_threads_share_a_client() -> None:
    with ScriptedServer([ok()] * 400) as server, Client(server.url) as client:
        failed: list[BaseException] = []

        def work() -> None:
            try:
                for _ in range(50):
                    client.execute("GetItem", {})
            except BaseException as error:  # noqa: BLE001 - asserted on below
                failed.append(error)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        assert len(server.requests) == 400
        assert server.connections <= 8


def test_a_forked_child_makes_its_own_connections() -> None:
    with ScriptedServer([ok()] * 3) as server, Client(server.url) as client:
        client.execute("GetItem", {})
        # Simulates a child process: pytest does not allow a fork while threads run.
        for pool in client._pools:
            pool._process = os.getpid() + 1
        client.execute("GetItem", {})
        client.execute("GetItem", {})
        assert server.connections == 2


def run(main: Callable[[], Any]) -> None:
    asyncio.run(main())


def test_calls_beyond_the_connection_limit_wait() -> None:
    async def main() -> None:
        with ScriptedServer([ok()] * 40) as server:
            async with AsyncClient(server.url, connections=3) as client:
                await asyncio.gather(*(client.execute("GetItem", {}) for _ in range(40)))
            assert server.connections <= 3
            assert len(server.requests) == 40

    run(main)


def test_a_call_that_waits_too_long_for_a_connection_has_not_arrived() -> None:
    async def main() -> None:
        with ScriptedServer([b"", ok()]) as server:
            pool = AsyncPool(parse_endpoint(server.url), Timeouts(), ssl.create_default_context, 1)
            message = b"POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n"
            first = asyncio.create_task(pool.exchange(message, 300))
            # Cancelled before it was sent, it would leave its response to the last request.
            assert await asyncio.to_thread(server.received.acquire, timeout=60)
            with pytest.raises(NoResponse, match="waiting for a connection took longer") as caught:
                await pool.exchange(message, 0.001)
            assert not caught.value.may_have_arrived
            first.cancel()
            with pytest.raises(asyncio.CancelledError):
                await first
            assert (await pool.exchange(message, 300)).status == 200
            await pool.close()

    run(main)


def test_a_cancelled_call_closes_its_connection() -> None:
    async def main() -> None:
        received = threading.Event()
        with ScriptedServer([b"", ok(), ok()]) as server:
            server.after = lambda _: received.set()
            async with AsyncClient(server.url, connections=1) as client:
                task = asyncio.create_task(client.execute("GetItem", {}))
                await asyncio.to_thread(received.wait, 60)
                waiting = asyncio.create_task(client.execute("GetItem", {}))
                await asyncio.sleep(0)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                assert await waiting == {}
                # The slot of the cancelled call is free for others.
                assert await client.execute("GetItem", {}) == {}
            assert server.connections == 2

    run(main)


def test_a_client_may_move_to_another_event_loop() -> None:
    with ScriptedServer([ok(b"{}", b"Connection: close")] * 2) as server:
        client = AsyncClient(server.url)
        for _ in range(2):
            assert asyncio.run(client.execute("GetItem", {})) == {}
        asyncio.run(client.close())


def test_a_client_runs_on_uvloop() -> None:
    """Its transports are no subclass of asyncio's."""
    uvloop = pytest.importorskip("uvloop")
    with ScriptedServer([ok(b"{}", b"Connection: close")]) as server:

        async def main() -> None:
            async with AsyncClient(server.url) as client:
                assert await client.execute("GetItem", {}) == {}

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(main())


def test_bad_options_are_refused(kind: Kind) -> None:
    for options in ({"timeouts": 3}, {"retries": 5}):
        with pytest.raises(OptionInvalid, match=r"Give keyfold\.wire\.client\."):
            AnyClient(kind, "http://localhost:1", **options)
    with pytest.raises(OptionInvalid, match="connections"):
        AsyncClient("http://localhost:1", connections=0)
