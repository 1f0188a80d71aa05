"""Accepts connections: as many as there may be. The others are told that there are too many.

asyncio's own server accepts a thousand connections before the first of them can be refused, and logs a
traceback for each one when descriptors run out.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections import deque
from contextlib import suppress
from typing import cast

from keyfold.wire.server._answers import answer_unavailable
from keyfold.wire.server._connection import ServerConnection
from keyfold.wire.server._descriptors import REFUSED_CONNECTIONS
from keyfold.wire.server._requests import HttpRequest
from keyfold.wire.server._state import ServerState

_BACKLOG = 1_024
# How many connections are accepted before others get their turn.
_ACCEPTED_PER_TURN = 8
# How many handshakes may be unfinished: then the oldest has to go. One takes a few round trips.
_MOST_HANDSHAKES = 64
# A handshake takes about a millisecond of computing, so others get a turn before the next.
_BETWEEN_HANDSHAKES_SECONDS = 0.002
# How long a refused client may take to read that.
_REFUSAL_SECONDS = 2.0
# How long a client may take to end TLS after the server has.
_SHUTDOWN_SECONDS = 1.0
_RETRY_SECONDS = 0.5
_MOST_UNSENT_BYTES = 1 << 17
_LOG_SECONDS = 60.0
_MOST_DISCARDED_BYTES = 1 << 20

_UNKNOWN = HttpRequest(b"", b"", {}, b"", keeps_alive=False, operation=None)

_logger = logging.getLogger("keyfold.server")


class _Opening:
    """A connection that was accepted, and is not open before its handshake is finished."""

    __slots__ = ("client", "is_begun", "is_dropped", "protocol", "since", "task")

    def __init__(self, client: socket.socket, protocol: asyncio.Protocol, since: float) -> None:
        self.client, self.protocol, self.since = client, protocol, since
        # None before the handshake begins.
        self.task: asyncio.Task[None] | None = None
        self.is_begun = self.is_dropped = False


class Acceptor:
    """Accepts from a listening socket, and knows the connections that are not served (yet)."""

    def __init__(
        self,
        listener: socket.socket,
        state: ServerState,
        loop: asyncio.AbstractEventLoop,
        tls: ssl.SSLContext | None,
    ) -> None:
        self._listener, self._state, self._loop, self._tls = listener, state, loop, tls
        # The connections that are not open yet, and those that are being refused, the oldest first.
        self._opening: dict[ServerConnection, _Opening] = {}
        self._refused: dict[RefusedConnection, _Opening] = {}
        # Those whose client has begun its handshake.
        self._ready: deque[_Opening] = deque()
        self._is_pacing = False
        self._logged_at: dict[str, float] = {}
        self._retrying: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Listen, and accept connections from now on."""
        self._listener.setblocking(False)  # noqa: FBT003 - its only parameter
        self._listener.listen(_BACKLOG)
        self._loop.add_reader(self._listener, self._accept)

    def close(self) -> None:
        """Accept no more connections, and drop those that are not served yet."""
        self._loop.remove_reader(self._listener)
        if self._retrying is not None:
            self._retrying.cancel()
        self._listener.close()
        for opening in list(self._opening.values()):
            self._drop(opening)
        for refused in list(self._refused):
            self._drop_refused(refused)

    def sweep(self, now: float) -> None:
        """Drop handshakes that take too long, and refused clients that do not go."""
        oldest = now - self._state.limits.handshake_seconds
        for opening in [each for each in self._opening.values() if each.since < oldest]:
            self._drop(opening)
        oldest = now - _REFUSAL_SECONDS
        for refused in [each for each, opened in self._refused.items() if opened.since < oldest]:
            self._drop_refused(refused)

    def dismiss(self, refused: RefusedConnection) -> None:
        """Unregister a refused connection that was closed."""
        self._refused.pop(refused, None)

    def _accept(self) -> None:
        for _ in range(_ACCEPTED_PER_TURN):
            try:
                client, _ = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                # There are no descriptors left, or no memory. The connection stays in the queue of the
                # socket, so trying again at once would keep the loop busy.
                self._log("cannot accept connections: %s", error.strerror)
                self._loop.remove_reader(self._listener)
                self._retrying = self._loop.call_later(_RETRY_SECONDS, self._accept_again)
                return
            client.setblocking(False)  # noqa: FBT003 - its only parameter
            _limit_unsent(client)
            self._connect(client)

    def _accept_again(self) -> None:
        self._loop.add_reader(self._listener, self._accept)

    def _connect(self, client: socket.socket) -> None:
        state = self._state
        most = state.limits.connections
        # Those that were opened in this iteration of the loop are in both.
        opening = sum(each not in state.clients for each in self._opening)
        if len(state.clients) + opening < most:
            if self._tls is not None and opening >= _MOST_HANDSHAKES:
                self._drop(next(iter(self._opening.values())))
            connection = ServerConnection(state)
            opened = self._opening[connection] = _Opening(client, connection, state.now)
        else:
            self._log("refused a connection: %d are open, which is the limit", most)
            if len(self._refused) >= REFUSED_CONNECTIONS:
                self._drop_refused(next(iter(self._refused)))
            refused = RefusedConnection(state, self)
            opened = self._refused[refused] = _Opening(client, refused, state.now)
        if self._tls is None:
            self._open(opened)
        else:
            self._loop.add_reader(client, self._get_ready, opened)

    def _get_ready(self, opening: _Opening) -> None:
        """Let a client that has begun its handshake wait for its turn."""
        self._loop.remove_reader(opening.client)
        self._ready.append(opening)
        if not self._is_pacing:
            self._begin_handshake()

    def _begin_handshake(self) -> None:
        while self._ready:
            opening = self._ready.popleft()
            if not opening.is_dropped:
                self._open(opening)
                self._is_pacing = True
                self._loop.call_later(_BETWEEN_HANDSHAKES_SECONDS, self._begin_handshake)
                return
        self._is_pacing = False

    def _open(self, opening: _Opening) -> None:
        shutdown_seconds = None if self._tls is None else _SHUTDOWN_SECONDS

        async def open_connection() -> None:
            opening.is_begun = True
            # The client may go away, or speak another protocol: that is no error of the server.
            with suppress(OSError):
                await self._loop.connect_accepted_socket(
                    lambda: opening.protocol,
                    opening.client,
                    ssl=self._tls,
                    ssl_shutdown_timeout=shutdown_seconds,
                )

        opening.task = self._loop.create_task(open_connection())
        opening.task.add_done_callback(lambda _: self._finish_opening(opening))

    def _finish_opening(self, opening: _Opening) -> None:
        if not opening.is_begun:
            # The task was cancelled. Once it has begun, it closes the socket: a transport uses it.
            opening.client.close()
        self._forget(opening)

    def _forget(self, opening: _Opening) -> None:
        protocol = opening.protocol
        if isinstance(protocol, ServerConnection):
            self._opening.pop(protocol, None)
        elif isinstance(protocol, RefusedConnection) and not protocol.is_open:
            self._refused.pop(protocol, None)

    def _drop(self, opening: _Opening) -> None:
        """Close a connection that is not open yet."""
        opening.is_dropped = True
        self._forget(opening)
        if opening.task is None:
            self._loop.remove_reader(opening.client)
            opening.client.close()
        else:
            opening.task.cancel()

    def _drop_refused(self, refused: RefusedConnection) -> None:
        if refused.is_open:
            refused.abort()
        else:
            self._drop(self._refused[refused])
        self._refused.pop(refused, None)

    def _log(self, message: str, *values: object) -> None:
        """Log a message, unless it was logged in the last minute."""
        now = self._state.now
        if now - self._logged_at.get(message, -_LOG_SECONDS) >= _LOG_SECONDS:
            self._logged_at[message] = now
            _logger.warning(message, *values)


def _limit_unsent(client: socket.socket) -> None:
    """Let the system buffer little of what a client does not read; it would be some megabytes."""
    with suppress(OSError, AttributeError):
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _MOST_UNSENT_BYTES)


class RefusedConnection(asyncio.Protocol):
    """Answers 503 before there is a request, and waits until the client has read it."""

    def __init__(self, state: ServerState, acceptor: Acceptor) -> None:
        self._state, self._acceptor = state, acceptor
        self._transport: asyncio.Transport | None = None
        self._discarded = 0

    @property
    def is_open(self) -> bool:
        """Whether the handshake is finished."""
        return self._transport is not None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport = self._transport = cast(asyncio.Transport, transport)
        answer = answer_unavailable("Too many connections are open")
        transport.write(self._state.writer.write(answer, keeps_alive=False))
        peer = transport.get_extra_info("peername")
        name = f"{peer[0]}:{peer[1]}" if isinstance(peer, tuple) else ""
        self._state.note(name, "", _UNKNOWN, answer, 0.0)
        if transport.can_write_eof():
            # A connection that is closed with unread input is reset, and the answer is lost.
            transport.write_eof()
        else:
            transport.close()

    def data_received(self, data: bytes) -> None:
        self._discarded += len(data)
        if self._discarded > _MOST_DISCARDED_BYTES:
            self.abort()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self._acceptor.dismiss(self)

    def abort(self) -> None:
        """Close the connection now."""
        if self._transport is not None:
            self._transport.abort()
