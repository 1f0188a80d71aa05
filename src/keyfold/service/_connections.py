"""Connections of uvicorn within limits: slow clients, and heads that are too large, are not waited for.

By itself, uvicorn waits for ever for a request that never ends, and for a client that never reads.
"""

from __future__ import annotations

import asyncio
from typing import Any

from keyfold.service._problems import PROBLEM_TYPE, HttpProblem
from keyfold.wire.server import Limits

_INVALID = HttpProblem(400, "request-malformed", "This is not HTTP, or its head is too large.")


def make_protocol(limits: Limits) -> type[asyncio.Protocol]:
    """Return a class of connections for `uvicorn.Config(http=…)`.

    A request has to arrive within `receive_seconds`, with a head of up to `head_bytes`; a client has
    to read what waits for it within `send_seconds`. Otherwise, the connection is ended.
    """
    most = limits.head_bytes + limits.body_bytes
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol  # noqa: PLC0415 - of an extra

    class BoundedConnection(HttpToolsProtocol):
        """A connection that ends if its client is too slow."""

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self._head_bytes = 0
            self._sending: asyncio.TimerHandle | None = None
            self._receiving: asyncio.TimerHandle | None = self._limit(limits.receive_seconds)

        def connection_lost(self, exc: Exception | None) -> None:
            self._receiving = self._forget(self._receiving)
            self._sending = self._forget(self._sending)
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            self._head_bytes += len(data)
            super().data_received(data)
            cycle: Any = self.cycle  # None before the first request
            if self.transport.is_closing():
                return
            if cycle is not None and not cycle.more_body and not cycle.response_complete:
                # A whole request has arrived.
                self._head_bytes = 0
                if self._receiving is not None:
                    self._receiving = self._forget(self._receiving)
                return
            if self._receiving is None:
                self._receiving = self._limit(limits.receive_seconds)
            if cycle is None and self._head_bytes > limits.head_bytes:
                self.send_400_response("")
            elif self._head_bytes > most and cycle is not None and cycle.response_complete:
                # The rest of a body that was refused, or another head.
                self.transport.close()

        def on_headers_complete(self) -> None:
            if self._head_bytes > limits.head_bytes:
                fields = sum(len(name) + len(value) + 4 for name, value in self.headers)
                size = len(self.url) + fields
                if size > limits.head_bytes:
                    # The parser fails, and the request is answered as invalid.
                    raise ValueError(size)
            super().on_headers_complete()

        def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - as uvicorn calls it
            body = _INVALID.to_bytes()
            head = (
                f"HTTP/1.1 400 Bad Request\r\ncontent-type: {PROBLEM_TYPE}\r\n"
                f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
            self.transport.close()

        def pause_writing(self) -> None:
            super().pause_writing()
            if self._sending is None:
                self._sending = self._limit(limits.send_seconds)

        def resume_writing(self) -> None:
            self._sending = self._forget(self._sending)
            super().resume_writing()

        def shutdown(self) -> None:
            cycle: Any = self.cycle
            if cycle is not None and cycle.more_body and not cycle.response_complete:
                # The request has not arrived, and the server stops now.
                self.transport.abort()
            else:
                super().shutdown()

        def _limit(self, seconds: float) -> asyncio.TimerHandle:
            return self.loop.call_later(seconds, self.transport.abort)

        def _forget(self, timer: asyncio.TimerHandle | None) -> None:
            if timer is not None:
                timer.cancel()

    return BoundedConnection
