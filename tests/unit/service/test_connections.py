"""Connections of a service, on a loop whose timers a test fires: slow clients are not waited for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from keyfold.service._connections import make_protocol
from keyfold.wire.server import Limits

LIMITS = Limits(head_bytes=1_000, body_bytes=5_000, receive_seconds=60.0, send_seconds=30.0)
GET = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n"


class Timer:
    """A timer that a test fires."""

    def __init__(self, seconds: float, run: Callable[[], None]) -> None:
        self.seconds, self.run, self.is_cancelled = seconds, run, False

    def cancel(self) -> None:
        self.is_cancelled = True


class FakeLoop:
    """A loop that runs nothing by itself."""

    def __init__(self) -> None:
        self.timers: list[Timer] = []
        self.tasks: list[Coroutine[Any, Any, None]] = []

    def call_later(self, seconds: float, run: Callable[[], None]) -> Timer:
        self.timers.append(Timer(seconds, run))
        return self.timers[-1]

    def create_task(self, task: Coroutine[Any, Any, None]) -> asyncio.Future[None]:
        self.tasks.append(task)
        return asyncio.get_running_loop().create_future()

    @property
    def waiting(self) -> list[float]:
        """After how many seconds the connection would be ended."""
        return [each.seconds for each in self.timers if not each.is_cancelled]


class FakeTransport(asyncio.Transport):
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written, self.is_closed, self.is_aborted = b"", False, False

    def write(self, data: Any) -> None:
        self.written += bytes(data)

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_aborted = True

    def is_closing(self) -> bool:
        return self.is_closed or self.is_aborted

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


async def no_app(scope: Any, receive: Any, send: Any) -> None:
    raise AssertionError("it is not run")


def run(use: Callable[[Any, FakeTransport, FakeLoop], None]) -> None:
    async def main() -> None:
        loop, transport = FakeLoop(), FakeTransport()
        kind: Any = make_protocol(LIMITS)
        config = uvicorn.Config(no_app, http=kind, ws="none", log_config=None)
        connection = kind(config=config, server_state=ServerState(), app_state={}, _loop=loop)
        connection.connection_made(transport)
        use(connection, transport, loop)
        connection.connection_lost(None)
        assert loop.waiting == []
        for task in loop.tasks:
            task.close()

    asyncio.run(main())


def test_a_request_has_to_arrive_in_time() -> None:
    def use(connection: Any, transport: FakeTransport, loop: FakeLoop) -> None:
        assert loop.waiting == [60.0]
        # A byte now and then does not prolong it.
        for byte in GET[:-1]:
            connection.data_received(bytes([byte]))
        assert [each.seconds for each in loop.timers] == [60.0]
        loop.timers[0].run()
        assert transport.is_aborted

    run(use)


def test_a_request_that_has_arrived_may_take_its_time() -> None:
    def use(connection: Any, transport: FakeTransport, loop: FakeLoop) -> None:
        connection.data_received(GET)
        assert (loop.waiting, len(loop.tasks)) == ([], 1)
        assert not transport.is_closing()

    run(use)


def test_a_body_has_to_arrive_in_time() -> None:
    def use(connection: Any, transport: FakeTransport, loop: FakeLoop) -> None:
        connection.data_received(POST)
        for _ in range(99):
            connection.data_received(b"x")
            assert loop.waiting == [60.0]
        connection.data_received(b"x")
        assert loop.waiting == []

    run(use)


@pytest.mark.parametrize(("sent", "ends"), [(POST, True), (POST + b"x" * 100, False)])
def test_a_server_that_stops_finishes_requests_that_have_arrived(sent: bytes, ends: bool) -> None:
    def use(connection: Any, transport: FakeTransport, loop: FakeLoop) -> None:
        connection.data_received(sent)
        connection.shutdown()
        assert transport.is_aborted is ends
        assert not transport.is_closed

    run(use)


def test_a_client_has_to_read() -> None:
    def use(connection: Any, transport: FakeTransport, loop: FakeLoop) -> None:
        connection.data_received(GET)
        connection.pause_writing()
        assert loop.waiting == [30.0]
        connection.resume_writing()
        assert loop.waiting == []
        connection.pause_writing()
        loop.timers[-1].run()
        assert transport.is_aborted

    run(use)


@pytest.mark.parametrize("ends", [True, False])
@pytest.mark.parametrize("pieces", [1, 7])
def test_a_large_head_is_refused(pieces: int, ends: bool) -> None:
    head = b"GET /%b HTTP/1.1\r\nhost: localhost\r\nx: %b" % (b"p" * 600, b"v" * 600)
    sent = head + (b"\r\n\r\n" if ends else b"")

    def use(connection: Any, transport: FakeTransport, loop: FakeLoop) -> None:
        size = -(-len(sent) // pieces)
        for start in range(0, len(sent), size):
            if not transport.is_closing():
                connection.data_received(sent[start : start + size])
        assert (transport.is_closed, loop.tasks) == (True, [])
        head, _, body = transport.written.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400 ")
        assert json.loads(body)["code"] == "request-malformed"

    run(use)


def test_a_large_body_is_no_large_head() -> None:
    def use(connection: Any, transport: FakeTransport, loop: FakeLoop) -> None:
        head = b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4000\r\n\r\n"
        connection.data_received(head + b"x" * 4000)
        connection.cycle.response_complete = True
        connection.data_received(GET + GET)
        assert not transport.is_closing()

    run(use)


def test_the_rest_of_a_refused_body_is_read_within_limits() -> None:
    def use(connection: Any, transport: FakeTransport, loop: FakeLoop) -> None:
        head = b"POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
        connection.data_received(head)
        connection.cycle.response_complete = True
        pieces = 0
        while not transport.is_closing():
            connection.data_received(b"64\r\n" + b"x" * 100 + b"\r\n")
            pieces += 1
        assert 40 < pieces < 70

    run(use)


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x00\xa5\x01",
        b"GET / HTTP/1.1\r\nhost: a\r\nx\x00y: 1\r\n\r\n",
        b"GET / HTTP/1.1\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
        b"GET / HTTP/1.1\r\ncontent-length: -1\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nhost: a\r\n\r\n",
    ],
)
def test_what_is_not_http_gets_a_problem(sent: bytes) -> None:
    def use(connection: Any, transport: FakeTransport, loop: FakeLoop) -> None:
        connection.data_received(sent)
        assert transport.written.startswith(b"HTTP/1.1 400 ")
        assert (transport.is_closed, loop.tasks) == (True, [])

    run(use)
