"""Server-sent events as bytes: the format `text/event-stream`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

EVENT_STREAM_TYPE = "text/event-stream"

EventKind = Literal["created", "changed", "deleted", "gap"]

# Each of these ends a line of an event stream.
_split_lines = re.compile(rb"\r\n|\r|\n").split


@dataclass(frozen=True, slots=True)
class SentEvent:
    """A server-sent event; a client that reconnects sends the `id` of the last one that it got."""

    kind: EventKind
    data: bytes
    id: str

    def to_bytes(self) -> bytes:
        r"""Return the event as it is sent.

        >>> SentEvent("changed", b'{"name":"Ada"}', "k3Yf").to_bytes()
        b'id: k3Yf\nevent: changed\ndata: {"name":"Ada"}\n\n'
        """
        lines = b"".join(b"data: %b\n" % line for line in _split_lines(self.data))
        return b"id: %b\nevent: %b\n%b\n" % (self.id.encode(), self.kind.encode(), lines)


def write_position(event_id: str, *, retry_seconds: float | None = None) -> bytes:
    r"""Return a block without data: clients keep its id, and show no event.

    It is sent at the beginning, with the time after which to reconnect, and then as a sign of life.

    >>> write_position("k3Yf")
    b': keep-alive\nid: k3Yf\n\n'
    """
    if retry_seconds is None:
        return b": keep-alive\nid: %b\n\n" % event_id.encode()
    return b"retry: %d\nid: %b\n\n" % (round(retry_seconds * 1000), event_id.encode())
