"""TLS connections of the synchronous client; imported when the first one is opened."""

from __future__ import annotations

import math
import select
import ssl
from collections.abc import Callable
from typing import Any, TypeVar

V = TypeVar("V")


class TlsConnection:
    """A `ClientConnection` over TLS, for which the kernel's socket timeouts do not work.

    OpenSSL would restart a read that timed out. So the socket is non-blocking, and this class
    waits for it: before each read, and otherwise only when OpenSSL asks to. Sending seldom has
    to wait.
    """

    __slots__ = ("_monotonic", "idle_since", "is_stale", "socket", "timeout")

    def __init__(self, connected: ssl.SSLSocket, monotonic: Callable[[], float]) -> None:
        self.socket = connected
        self.timeout = self.idle_since = 0.0
        self._monotonic = monotonic
        poll = select.poll()
        poll.register(connected, select.POLLIN)
        self.is_stale: Callable[[int], object] = poll.poll
        connected.settimeout(0.0)

    def wait_up_to(self, seconds: float) -> None:
        """Set the timeout of the following sends and receives."""
        self.timeout = seconds

    def send(self, message: bytes) -> None:
        """Send the whole message; raises OSError."""
        sent = self._attempt(self.socket.send, message)
        while sent < len(message):
            sent += self._attempt(self.socket.send, memoryview(message)[sent:])

    def receive(self, most: int) -> bytes:
        """Return the next bytes, none at the end of the stream; raises OSError."""
        if not self.is_stale(_milliseconds(self.timeout)):
            raise TimeoutError
        return self._attempt(self.socket.recv, most)

    def _attempt(self, operation: Callable[[Any], V], argument: object) -> V:
        """Call a method of the socket, waiting until it is ready; raises TimeoutError."""
        until = 0.0
        while True:
            try:
                return operation(argument)
            except ssl.SSLWantReadError:
                # Only a part of a TLS record has arrived.
                wanted = select.POLLIN
            except ssl.SSLWantWriteError:
                wanted = select.POLLOUT
            now = self._monotonic()
            until = until or now + self.timeout
            poll = select.poll()
            poll.register(self.socket, wanted)
            if until <= now or not poll.poll(_milliseconds(until - now)):
                raise TimeoutError


def _milliseconds(seconds: float) -> int:
    return math.ceil(seconds * 1_000)
