"""The sending half of a connection: answers go out as fast as the client reads them."""

from __future__ import annotations

import asyncio
from typing import cast

from keyfold.wire.server._memory import ConnectionMemory

# A transport buffers what it cannot send at once, and does not tell how much, if it encrypts. So it gets
# a long answer in pieces, and only while it can send: what it holds is bounded by these two.
_PIECE_BYTES = 1 << 18
_HIGH_WATER_BYTES = 1 << 16


class ConnectionOutput:
    """Writes to a transport, keeps what the client has not read yet, and counts it."""

    __slots__ = (
        "_held_bytes",
        "_memory",
        "_transport",
        "_unsent",
        "is_stalled",
        "stalled_since",
    )

    def __init__(self, memory: ConnectionMemory) -> None:
        self._memory = memory
        self._transport = cast(asyncio.Transport, None)
        self._unsent = memoryview(b"")
        self._held_bytes = 0
        # Whether the client has not read its answers, and since when.
        self.is_stalled = False
        self.stalled_since = 0.0

    @property
    def has_unsent(self) -> bool:
        """Whether part of an answer has not been passed to the transport."""
        return bool(self._unsent)

    def connect(self, transport: asyncio.Transport) -> None:
        """Write to a transport from now on."""
        self._transport = transport
        transport.set_write_buffer_limits(high=_HIGH_WATER_BYTES)

    def write(self, data: bytes, now: float, large_body: bytes = b"") -> None:
        """Send an answer; the caller sends no other one while there is unsent data.

        A large body is given by itself, since putting the two together would copy it.
        """
        self._transport.write(data)
        if not large_body:
            return
        self._unsent = memoryview(large_body)
        self._held_bytes = len(large_body)
        self._memory.hold_anyway(self._held_bytes)
        # The client has to read the whole answer in time, not each of its pieces.
        self.stalled_since = now
        self._write_pieces()

    def pause(self, now: float) -> None:
        """Write nothing more until `resume` is called."""
        self.is_stalled = True
        if not self._unsent:
            self.stalled_since = now

    def resume(self) -> None:
        """Continue with what has not been sent."""
        self.is_stalled = False
        self._write_pieces()

    def forget(self) -> None:
        """Drop what has not been sent: the client is gone."""
        self._unsent = memoryview(b"")

    def _write_pieces(self) -> None:
        while self._unsent and not self.is_stalled:
            # A copy: a transport that keeps a view of it would keep the whole answer.
            piece = bytes(self._unsent[:_PIECE_BYTES])
            self._unsent = self._unsent[_PIECE_BYTES:]
            self._transport.write(piece)
        if not self._unsent and self._held_bytes:
            self._memory.release(self._held_bytes)
            self._held_bytes = 0
