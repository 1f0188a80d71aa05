"""A response that goes on: events, until the client leaves or they end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from keyfold.service._changes import ChangeEvents
from keyfold.service._events import EVENT_STREAM_TYPE
from keyfold.service._http import Send, ServiceRequest

_HEADERS = {
    "content-type": EVENT_STREAM_TYPE,
    "cache-control": "no-store",
    # Proxies such as nginx would wait for more.
    "x-accel-buffering": "no",
}


@dataclass(frozen=True, slots=True)
class EventStreamResponse:
    """A response of server-sent events."""

    request: ServiceRequest
    events: ChangeEvents
    status: int = 200
    # Called when no more is sent.
    on_end: Callable[[], None] = lambda: None
    headers: Mapping[str, str] = field(default_factory=lambda: dict(_HEADERS))

    async def send(self, send: Send, *, has_body: bool = True) -> None:
        """Send events until there are no more, or the client has hung up."""
        try:
            await self._send(send, has_body=has_body)
        finally:
            self.on_end()

    async def _send(self, send: Send, *, has_body: bool) -> None:
        async with self.events:
            headers = [
                (name.encode("latin-1"), value.encode("latin-1"))
                for name, value in self.headers.items()
            ]
            await send({"type": "http.response.start", "status": self.status, "headers": headers})
            if has_body:
                await self._send_events(send)
            await send({"type": "http.response.body", "body": b""})

    async def _send_events(self, send: Send) -> None:
        gone = asyncio.create_task(self.request.wait_until_gone())
        sending = asyncio.create_task(self._send_each(send))
        try:
            await asyncio.wait((gone, sending), return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            sending.cancel()
            await asyncio.gather(gone, sending, return_exceptions=True)

    async def _send_each(self, send: Send) -> None:
        async for block in self.events:
            await send({"type": "http.response.body", "body": block, "more_body": True})
