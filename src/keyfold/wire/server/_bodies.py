"""Bodies of requests while they are received: in parts, which a thread puts together if they are large."""

from __future__ import annotations

# Parts of at least this size are kept as they are. Shorter ones are gathered up to it: each by itself would
# take more than its bytes.
_PART_BYTES = 1 << 16


class ReceivedBody:
    """A body of which more than one part has arrived.

    Appending copies at most a part, however large the body is. `take` copies all of it, without the
    interpreter's lock if it has more than a megabyte: that is how bytes are joined.

    >>> body = ReceivedBody(b"some")
    >>> body.append(b" bytes")
    >>> len(body), body.take(), len(body)
    (10, b'some bytes', 10)
    """

    __slots__ = ("_gathered", "_parts", "_size_bytes")

    def __init__(self, first: bytes) -> None:
        self._parts: list[bytes] = []
        self._gathered = bytearray()
        self._size_bytes = 0
        self.append(first)

    def __len__(self) -> int:
        return self._size_bytes

    def append(self, data: bytes) -> None:
        """Add the part that arrived next."""
        self._size_bytes += len(data)
        if len(data) >= _PART_BYTES:
            self._end_gathering()
            self._parts.append(data)
            return
        self._gathered += data
        if len(self._gathered) >= _PART_BYTES:
            self._end_gathering()

    def _end_gathering(self) -> None:
        if self._gathered:
            self._parts.append(bytes(self._gathered))
            self._gathered = bytearray()

    def take(self) -> bytes:
        """Return the whole body, and keep nothing but its size; for a thread, if it is large."""
        self._end_gathering()
        parts, self._parts = self._parts, []
        return b"".join(parts)
