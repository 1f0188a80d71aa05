"""The connection pool of the asynchronous client."""

from __future__ import annotations

import asyncio
import select
import socket
import ssl
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar, cast

from keyfold.errors import ClientClosed
from keyfold.wire.client._bodies import ResponseGarbled
from keyfold.wire.client._calls import NoResponse
from keyfold.wire.client._connections import (
    IDLE_SECONDS,
    MakeContext,
    describe_end,
    no_response_from,
)
from keyfold.wire.client._endpoints import Endpoint
from keyfold.wire.client._responses import Response, ResponseReader
from keyfold.wire.client._retries import Timeouts

_QUEUED = "waiting for a connection"

V = TypeVar("V")

sleep = asyncio.sleep


async def run_in_thread(work: Callable[[], V]) -> V:
    """Run blocking work in a thread of the event loop's default executor."""
    return await asyncio.get_running_loop().run_in_executor(None, work)


class AsyncClientConnection(asyncio.Protocol):
    """One connection: idle in the pool between calls, used by one call at a time."""

    def __init__(self, loop: asyncio.AbstractEventLoop, read_seconds: float) -> None:
        self._loop, self._read_seconds = loop, read_seconds
        self._reader: ResponseReader | None = None
        self._waiter: asyncio.Future[Response] | None = None
        self._transport: asyncio.Transport | None = None
        # `_due` is when the awaited data is late. The timer may fire earlier; it is then set again.
        self._due = self._deadline = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._poll: Callable[[int], object] | None = None
        self.idle_since = 0.0
        self.is_over = False

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not asserted: the transports of uvloop are no subclass.
        self._transport = cast(asyncio.Transport, transport)
        connected = transport.get_extra_info("socket")
        if connected is not None:
            with suppress(OSError):
                connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            poll = select.poll()
            poll.register(connected.fileno(), select.POLLIN)
            self._poll = poll.poll

    def data_received(self, data: bytes) -> None:
        reader = self._reader
        if reader is None:
            # A server must not send anything without a request.
            self.abort()
            return
        try:
            response = reader.feed(data)
        except ResponseGarbled as error:
            self._fail(NoResponse(str(error), may_have_arrived=True))
            return
        if response is None:
            self._due = min(self._loop.time() + self._read_seconds, self._deadline)
            return
        self._finish(response)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_over = True
        if self._timer is not None:
            self._timer.cancel()
        reader = self._reader
        if reader is None:
            return
        response = None
        if exc is None:
            with suppress(ResponseGarbled):
                response = reader.end()
        if response is not None:
            self._finish(response)
        elif isinstance(exc, OSError):
            # The request may have been sent before the error.
            self._fail(
                no_response_from(exc, "waiting for the response", 0.0, may_have_arrived=True)
            )
        else:
            self._fail(NoResponse(describe_end(reader), may_have_arrived=True))

    # Called by the pool.

    def is_stale(self) -> bool:
        """Return whether the server has closed the connection, or sent unexpected bytes."""
        return self.is_over or (self._poll is not None and bool(self._poll(0)))

    def send(self, message: bytes, left: float) -> asyncio.Future[Response]:
        """Send a request; the future gets its response, or NoResponse as exception."""
        transport = self._transport
        assert transport is not None  # it is connected
        loop = self._loop
        self._reader = ResponseReader()
        waiter = self._waiter = loop.create_future()
        now = loop.time()
        self._deadline = now + left
        due = self._due = min(now + self._read_seconds, self._deadline)
        timer = self._timer
        if timer is None or timer.when() > due:
            if timer is not None:
                timer.cancel()
            self._timer = loop.call_at(due, self._check_timeout)
        transport.write(message)
        return waiter

    def abort(self) -> None:
        """Close the connection at once."""
        self.is_over = True
        self._reader = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._transport is not None:
            self._transport.abort()

    def _check_timeout(self) -> None:
        self._timer = None
        if self._waiter is None:
            return
        late = self._loop.time() - self._due
        if late < 0:
            self._timer = self._loop.call_at(self._due, self._check_timeout)
            return
        detail = "no response came in time"
        self._fail(NoResponse(detail, may_have_arrived=True, is_timeout=True))

    def _finish(self, response: Response) -> None:
        waiter, self._waiter, self._reader = self._waiter, None, None
        if waiter is not None and not waiter.done():
            waiter.set_result(response)

    def _fail(self, failure: NoResponse) -> None:
        waiter, self._waiter, self._reader = self._waiter, None, None
        self.abort()
        if waiter is not None and not waiter.done():
            waiter.set_exception(failure)


class AsyncPool:
    """A bounded pool of connections to one endpoint; calls wait while all are in use."""

    def __init__(
        self, endpoint: Endpoint, timeouts: Timeouts, make_context: MakeContext, size: int
    ) -> None:
        self._endpoint, self._timeouts = endpoint, timeouts
        self._make_context = make_context
        self._context: ssl.SSLContext | None = None
        self._size = size
        self._loop: asyncio.AbstractEventLoop | None = None
        self._idle: deque[AsyncClientConnection] = deque()
        self._free = size
        self._queue: deque[asyncio.Future[None]] = deque()
        self._is_closed = False

    async def exchange(self, message: bytes, left: float) -> Response:
        """Send a request and return its response; raises NoResponse, ClientClosed."""
        if self._is_closed:
            raise ClientClosed(self._endpoint.url)
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._move_to(loop)
        started = loop.time()
        if self._free:
            self._free -= 1
        else:
            await self._wait_for_turn(left)
        try:
            now = loop.time()
            connection = self._take(now) or await self._connect(left - (now - started))
            try:
                response = await connection.send(message, left - (loop.time() - started))
            except BaseException:
                # After a cancelled call, too, its response may still arrive on the connection.
                connection.abort()
                raise
            if response.keeps_alive and not self._is_closed and not connection.is_over:
                connection.idle_since = now
                self._idle.append(connection)
            else:
                connection.abort()
            return response
        finally:
            self._release()

    async def close(self) -> None:
        """Close idle connections now, and others when their calls end."""
        self._is_closed = True
        while self._idle:
            self._idle.pop().abort()
        # The event loop closes the sockets in its next iteration, which may be its last.
        await asyncio.sleep(0)

    def _move_to(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start again on another event loop; connections belong to the loop that opened them."""
        for connection in self._idle:
            with suppress(RuntimeError):  # the loop is closed
                connection.abort()
        self._loop = loop
        self._idle, self._free, self._queue = deque(), self._size, deque()

    def _take(self, now: float) -> AsyncClientConnection | None:
        while self._idle:
            connection = self._idle.pop()
            if now - connection.idle_since < IDLE_SECONDS and not connection.is_stale():
                return connection
            connection.abort()
        return None

    async def _wait_for_turn(self, left: float) -> None:
        assert self._loop is not None  # set by `exchange`
        turn: asyncio.Future[None] = self._loop.create_future()
        self._queue.append(turn)
        try:
            async with asyncio.timeout(left):
                await turn
        except TimeoutError as error:
            self._pass_on(turn)
            raise no_response_from(error, _QUEUED, left, may_have_arrived=False) from error
        except BaseException:
            self._pass_on(turn)
            raise

    def _pass_on(self, turn: asyncio.Future[None]) -> None:
        if turn.done() and not turn.cancelled():
            self._release()

    def _release(self) -> None:
        """Give a free place in the pool to the next call that waits."""
        while self._queue:
            turn = self._queue.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1

    async def _connect(self, left: float) -> AsyncClientConnection:
        assert self._loop is not None  # set by `exchange`
        loop, endpoint = self._loop, self._endpoint
        timeout = min(self._timeouts.connect_seconds, left)
        is_tls = endpoint.scheme == "https"
        if is_tls and self._context is None:
            # In a thread, since it reads files.
            self._context = await run_in_thread(self._make_context)
        read_seconds = self._timeouts.read_seconds
        try:
            async with asyncio.timeout(timeout):
                _, connection = await loop.create_connection(
                    lambda: AsyncClientConnection(loop, read_seconds),
                    endpoint.host,
                    endpoint.port,
                    ssl=self._context if is_tls else None,
                )
        except OSError as error:
            raise no_response_from(error, "connecting", timeout, may_have_arrived=False) from error
        return connection
