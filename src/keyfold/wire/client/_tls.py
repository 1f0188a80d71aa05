"""Connections by TLS, for threads; loaded with the first of them."""

from __future__ import annotations

import math
import select
import ssl
from collections.abc import Callable
from typing import Any, TypeVar

V = TypeVar("V")


class TlsConnection:
    """What Connection is, by TLS, for which the kernel can keep no timeouts.

    OpenSSL would read again and again. So the socket never blocks, and is waited for here, an answer before it is first read. To send,
    it is ready nearly always.
    """

    __slots__ = ("_monotonic", "idle_since", "is_stale", "socket", "timeout")

    def __init__(self, made: ssl.SSLSocket, monotonic: Callable[[], float]) -> None:
        self.socket = made
        self.timeout = self.idle_since = 0.0
        self._monotonic = monotonic
        poll = select.poll()
        poll.register(made, select.POLLIN)
        self.is_stale: Callable[[int], object] = poll.poll
        made.settimeout(0.0)

    def wait_up_to(self, seconds: float) -> None:
        """Have what follows wait no longer."""
        self.timeout = seconds

    def send(self, message: bytes) -> None:
        """Send all of it; raises OSError."""
        sent = self._attempt(self.socket.send, message)
        while sent < len(message):
            sent += self._attempt(self.socket.send, memoryview(message)[sent:])

    def receive(self, most: int) -> bytes:
        """Return what comes next, nothing at the end; raises OSError."""
        if not self.is_stale(_milliseconds(self.timeout)):
            raise TimeoutError
        return self._attempt(self.socket.recv, most)

    def _attempt(self, act: Callable[[Any], V], given: object) -> V:
        """Do something with the socket as soon as it can be done; raises TimeoutError."""
        until = 0.0
        while True:
            try:
                return act(given)
            except ssl.SSLWantReadError:
                # Of a record, only a part has come.
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
