"""The connection pool of the synchronous client."""

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
from keyfold.wire.client._bodies import ResponseGarbled
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

# The kernel's `struct timeval`: seconds and microseconds.
_TIMEVAL = struct.Struct("@ll")

MakeContext = Callable[[], "ssl.SSLContext"]


class ClientConnection:
    """One connection: idle in the pool between calls, used by one call at a time.

    The kernel enforces the timeouts. With Python's own, each send and receive would first poll
    the socket; every such system call releases the GIL, and getting it back costs more than
    everything else when many calls are in flight.
    """

    __slots__ = ("idle_since", "is_stale", "receive", "send", "socket", "timeout")

    def __init__(self, connected: socket.socket) -> None:
        self.socket = connected
        self.timeout = 0.0
        self.idle_since = 0.0
        self.send: Callable[[bytes], object] = connected.sendall
        self.receive: Callable[[int], bytes] = connected.recv
        poll = select.poll()
        poll.register(connected, select.POLLIN)
        # A server sends nothing without a request: input means that the connection was closed,
        # or is out of step.
        self.is_stale: Callable[[int], object] = poll.poll
        connected.settimeout(None)

    def wait_up_to(self, seconds: float) -> None:
        """Set the timeout of the following sends and receives; no system call if unchanged."""
        if seconds != self.timeout:
            whole = int(seconds)
            # Zero would mean no timeout.
            microseconds = max(int((seconds - whole) * 1e6), 0 if whole else 1)
            limit = _TIMEVAL.pack(whole, microseconds)
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
            self.timeout = seconds


class Pool:
    """A pool of connections to one endpoint. Thread-safe; each call has a connection to itself."""

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
        """Send a request and return its response; raises NoResponse, ClientClosed."""
        now = self._monotonic()
        connection = self._take(now) or self._connect(deadline - now)
        is_complete = False
        try:
            response = self._exchange(connection, message, deadline, now)
            is_complete = True
        finally:
            # After an interrupt, too, the response may still arrive on the connection.
            if not is_complete:
                connection.socket.close()
        if response.keeps_alive and not self._is_closed and len(self._idle) < _MOST_IDLE:
            connection.idle_since = now
            self._idle.append(connection)
        else:
            connection.socket.close()
        return response

    def close(self) -> None:
        """Close idle connections now, and others when their calls end."""
        self._is_closed = True
        self._drop_idle()

    def _take(self, now: float) -> ClientConnection | TlsConnection | None:
        if self._is_closed:
            raise ClientClosed(self._endpoint.url)
        if self._process != os.getpid():
            # After a fork: the connections are the parent's, which may be using them.
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
        connected: socket.socket | None = None
        try:
            connected = socket.create_connection((endpoint.host, endpoint.port), timeout)
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if endpoint.scheme == "https":
                if self._context is None:
                    self._context = self._make_context()
                connected = self._context.wrap_socket(connected, server_hostname=endpoint.host)
                # Imported here, so that clients without TLS do not pay for loading it.
                tls = import_module("keyfold.wire.client._tls")
                return tls.TlsConnection(connected, self._monotonic)
            return ClientConnection(connected)
        except OSError as error:
            if connected is not None:
                connected.close()
            raise no_response_from(error, "connecting", timeout, may_have_arrived=False) from error

    def _exchange(
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
            # The service does not carry out a request that it has not received completely.
            raise no_response_from(
                error, "sending", connection.timeout, may_have_arrived=False
            ) from error
        reader = ResponseReader()
        receive = connection.receive
        while True:
            try:
                data = receive(_READ_BYTES)
                response = reader.feed(data) if data else reader.end()
            except OSError as error:
                raise no_response_from(
                    error, "waiting for the response", connection.timeout, may_have_arrived=True
                ) from error
            except ResponseGarbled as error:
                raise NoResponse(str(error), may_have_arrived=True) from error
            if response is not None:
                return response
            if not data:
                raise NoResponse(describe_end(reader), may_have_arrived=True)
            left = deadline - self._monotonic()
            connection.wait_up_to(_bounded(read_seconds, left, has_arrived=True))


_NO_TIME = "no time was left for another attempt"


def _bounded(seconds: float, left: float, *, has_arrived: bool) -> float:
    if left <= 0:
        raise NoResponse(_NO_TIME, may_have_arrived=has_arrived, is_timeout=True)
    return min(seconds, left)


def describe_end(reader: ResponseReader) -> str:
    """Return a description of when a connection ended, relative to its response."""
    when = "in the middle of the response" if reader.has_begun else "before the response"
    return f"the connection ended {when}"


def no_response_from(
    error: OSError, doing: str, timeout: float, *, may_have_arrived: bool
) -> NoResponse:
    """Return the NoResponse that a socket's error means; `doing` names the failed step."""
    # The kernel reports the timeout of a blocking socket as EAGAIN, hence BlockingIOError.
    if isinstance(error, TimeoutError | BlockingIOError):
        detail = f"{doing} took longer than {timeout:g} seconds"
        return NoResponse(detail, may_have_arrived=may_have_arrived, is_timeout=True)
    if _is_refusal(error):
        # The same text for both clients: asyncio words it differently.
        reason = f"{os.strerror(errno.ECONNREFUSED)}, as nothing listens there"
        return NoResponse(
            f"{doing} failed: {reason}", may_have_arrived=may_have_arrived, is_unreachable=True
        )
    reason = error.strerror or str(error) or type(error).__name__
    is_unreachable = isinstance(error, socket.gaierror) and error.errno == socket.EAI_NONAME
    return NoResponse(
        f"{doing} failed: {reason}",
        may_have_arrived=may_have_arrived,
        is_unreachable=is_unreachable,
    )


def _is_refusal(error: OSError) -> bool:
    if error.errno is None:
        # For a host with several addresses, asyncio joins the errors in one message.
        message = str(error)
        return 0 < message.count("[Errno ") == message.count(f"[Errno {errno.ECONNREFUSED}]")
    return error.errno == errno.ECONNREFUSED
