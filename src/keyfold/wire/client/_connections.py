"""Connections that are kept, for threads."""

from __future__ import annotations

import errno
import os
import select
import socket
import struct
from collections import deque
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from keyfold.errors import ClientClosed
from keyfold.wire.client._bodies import Garbled
from keyfold.wire.client._calls import NoResponse
from keyfold.wire.client._endpoints import Endpoint
from keyfold.wire.client._responses import Response, ResponseReader
from keyfold.wire.client._retries import Timeouts

if TYPE_CHECKING:
    import ssl

    from keyfold.wire.client._tls import TlsConnection

IDLE_SECONDS = 50.0
_MOST_IDLE = 64
_READ_BYTES = 64 * 1024

# How the kernel takes a duration: in seconds and microseconds.
_TIMEVAL = struct.Struct("@ll")

MakeContext = Callable[[], "ssl.SSLContext"]


class ClientConnection:
    """One connection: between calls it lies in the pool, else it is a caller's own.

    The kernel keeps its timeouts. Python's own would have it asked before each sending and each
    receiving whether the socket is ready; each time other threads take over, and this one has to
    wait for its turn again, which costs more than all else when many calls are in flight.
    """

    __slots__ = ("idle_since", "is_stale", "receive", "send", "socket", "timeout")

    def __init__(self, made: socket.socket) -> None:
        self.socket = made
        self.timeout = 0.0
        self.idle_since = 0.0
        self.send: Callable[[bytes], object] = made.sendall
        self.receive: Callable[[int], bytes] = made.recv
        poll = select.poll()
        poll.register(made, select.POLLIN)
        # Nobody talks to a client that has asked nothing: it is the end, or no good.
        self.is_stale: Callable[[int], object] = poll.poll
        made.settimeout(None)

    def wait_up_to(self, seconds: float) -> None:
        """Have what follows wait no longer; system calls that are left out if it stays the same."""
        if seconds != self.timeout:
            whole = int(seconds)
            # Nothing at all would mean that there is no limit.
            rest = max(int((seconds - whole) * 1e6), 0 if whole else 1)
            limit = _TIMEVAL.pack(whole, rest)
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
            self.timeout = seconds


class Pool:
    """Connections to one endpoint. Threads may share it; each call has one for itself."""

    def __init__(
        self,
        endpoint: Endpoint,
        timeouts: Timeouts,
        make_context: MakeContext,
        monotonic: Callable[[], float],
    ) -> None:
        self._endpoint, self._timeouts = endpoint, timeouts
        self._make_context = make_context
        self._context: ssl.SSLContext | None = None
        self._monotonic = monotonic
        self._idle: deque[ClientConnection | TlsConnection] = deque()
        self._process = os.getpid()
        self._is_closed = False

    def exchange(self, message: bytes, deadline: float) -> Response:
        """Send a request and return its response; raises Lost, ClientClosed."""
        now = self._monotonic()
        connection = self._take(now) or self._connect(deadline - now)
        is_whole = False
        try:
            response = self._talk(connection, message, deadline, now)
            is_whole = True
        finally:
            # An interrupt, too, leaves a connection on which an answer may still come.
            if not is_whole:
                connection.socket.close()
        if response.keeps_alive and not self._is_closed and len(self._idle) < _MOST_IDLE:
            connection.idle_since = now
            self._idle.append(connection)
        else:
            connection.socket.close()
        return response

    def close(self) -> None:
        """Close what is idle, and whatever comes back."""
        self._is_closed = True
        self._drop_idle()

    def _take(self, now: float) -> ClientConnection | TlsConnection | None:
        if self._is_closed:
            raise ClientClosed(self._endpoint.url)
        if self._process != os.getpid():
            # The connections are the parent's, and it may be in the middle of a call.
            self._process = os.getpid()
            self._drop_idle()
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return None
            if now - connection.idle_since < IDLE_SECONDS and not connection.is_stale(0):
                return connection
            connection.socket.close()

    def _drop_idle(self) -> None:
        while self._idle:
            self._idle.pop().socket.close()

    def _connect(self, left: float) -> ClientConnection | TlsConnection:
        timeout = min(self._timeouts.connect_seconds, left)
        if timeout <= 0:
            raise NoResponse(_NO_TIME, may_have_arrived=False, is_timeout=True)
        endpoint = self._endpoint
        made: socket.socket | None = None
        try:
            made = socket.create_connection((endpoint.host, endpoint.port), timeout)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if endpoint.scheme == "https":
                if self._context is None:
                    self._context = self._make_context()
                made = self._context.wrap_socket(made, server_hostname=endpoint.host)
                # Those who speak in the clear need not wait until it is loaded.
                tls = import_module("keyfold.wire.client._tls")
                return tls.TlsConnection(made, self._monotonic)
            return ClientConnection(made)
        except OSError as error:
            if made is not None:
                made.close()
            raise lost_by(error, "connecting", timeout, may_have_arrived=False) from error

    def _talk(
        self,
        connection: ClientConnection | TlsConnection,
        message: bytes,
        deadline: float,
        now: float,
    ) -> Response:
        read_seconds = self._timeouts.read_seconds
        try:
            connection.wait_up_to(_bounded(read_seconds, deadline - now, has_arrived=False))
            connection.send(message)
        except OSError as error:
            # The service carries out no request that it has not got the end of.
            raise lost_by(error, "sending", connection.timeout, may_have_arrived=False) from error
        reader = ResponseReader()
        receive = connection.receive
        while True:
            try:
                data = receive(_READ_BYTES)
                response = reader.feed(data) if data else reader.end()
            except OSError as error:
                raise lost_by(
                    error, "waiting for the answer", connection.timeout, may_have_arrived=True
                ) from error
            except Garbled as garbled:
                raise NoResponse(str(garbled), may_have_arrived=True) from garbled
            if response is not None:
                return response
            if not data:
                raise NoResponse(describe_end(reader), may_have_arrived=True)
            left = deadline - self._monotonic()
            connection.wait_up_to(_bounded(read_seconds, left, has_arrived=True))


_NO_TIME = "there was no time left for another try"


def _bounded(seconds: float, left: float, *, has_arrived: bool) -> float:
    if left <= 0:
        raise NoResponse(_NO_TIME, may_have_arrived=has_arrived, is_timeout=True)
    return min(seconds, left)


def describe_end(reader: ResponseReader) -> str:
    """Say at which point a connection has ended."""
    where = "in the middle of the answer" if reader.has_begun else "before it was answered"
    return f"the connection ended {where}"


def lost_by(error: OSError, doing: str, timeout: float, *, may_have_arrived: bool) -> NoResponse:
    """Return what an error of a socket means for a try."""
    # A socket that waits, and then would have to wait, has waited as long as it was to.
    if isinstance(error, TimeoutError | BlockingIOError):
        detail = f"{doing} took longer than {timeout:g} seconds"
        return NoResponse(detail, may_have_arrived=may_have_arrived, is_timeout=True)
    if _is_refusal(error):
        # asyncio has words of its own for it.
        said = f"{os.strerror(errno.ECONNREFUSED)}, as nobody listens there"
        return NoResponse(
            f"{doing} failed: {said}", may_have_arrived=may_have_arrived, is_nowhere=True
        )
    said = error.strerror or str(error) or type(error).__name__
    is_nowhere = isinstance(error, socket.gaierror) and error.errno == socket.EAI_NONAME
    return NoResponse(
        f"{doing} failed: {said}", may_have_arrived=may_have_arrived, is_nowhere=is_nowhere
    )


def _is_refusal(error: OSError) -> bool:
    if error.errno is None:
        # Of a host with several addresses, asyncio tells the errors in one text.
        told = str(error)
        return 0 < told.count("[Errno ") == told.count(f"[Errno {errno.ECONNREFUSED}]")
    return error.errno == errno.ECONNREFUSED
