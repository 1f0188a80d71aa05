"""An incremental parser of HTTP/1.1 responses."""

from __future__ import annotations

import re
from typing import NamedTuple

from keyfold.wire.client._bodies import ResponseGarbled

MOST_HEAD_BYTES = 64 * 1024
# BatchGetItem returns up to 16 MB, which can be more as JSON.
MOST_BODY_BYTES = 64 << 20

_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) (\d{3})(?![^ \r])").match
# Only the headers that the client uses: parsing all of them would dominate the cost of a response.
_HEADERS = re.compile(
    rb"\r\n(accept-encoding|connection|content-encoding|content-length|date|transfer-encoding"
    rb"|x-amz-crc32|x-amzn-errortype|x-keyfold-undone):[ \t]*([^\r\n]*)",
    re.IGNORECASE,
).findall
_SIZE_LINE = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;.*)?").fullmatch
_LONGEST_SIZE_LINE = 1_024
_NO_CONTENT = 204
_FINAL = 200


class Response(NamedTuple):
    """One response, with the headers that the client uses; their names are in lower case."""

    status: int
    headers: dict[bytes, bytes]
    body: bytes
    keeps_alive: bool


class ResponseReader:
    """Parses one response. Raises ResponseGarbled if it is not valid HTTP, or too large."""

    __slots__ = ("_buffer", "_chunks", "_headers", "_keeps_alive", "_length", "_status")

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._headers: dict[bytes, bytes] | None = None
        self._status = 0
        self._keeps_alive = True
        # Of the body; None if it is chunked, or ends with the connection.
        self._length: int | None = None
        self._chunks: _Chunks | None = None

    @property
    def has_begun(self) -> bool:
        """Whether anything has arrived."""
        return bool(self._buffer) or self._headers is not None

    def feed(self, data: bytes) -> Response | None:
        """Take the bytes that have arrived; return the response once it is complete."""
        while self._headers is None:
            if self._buffer:
                self._buffer += data
                data = bytes(self._buffer)
            end = data.find(b"\r\n\r\n")
            if end < 0:
                if len(data) > MOST_HEAD_BYTES:
                    raise ResponseGarbled(f"the head has more than {MOST_HEAD_BYTES} bytes")
                self._buffer[:] = data
                return None
            self._buffer.clear()
            self._read_head(data[:end])
            data = data[end + 4 :]
        return self._feed_body(data)

    def end(self) -> Response | None:
        """Handle the end of the connection; return the response if that completes it."""
        if self._headers is None or self._length is not None or self._chunks is not None:
            return None
        return self._finish(bytes(self._buffer), keeps_alive=False)

    def _read_head(self, head: bytes) -> None:
        found = _STATUS_LINE(head)
        if found is None:
            raise ResponseGarbled(f"the response is not HTTP: {head[:80]!r}")
        minor, code = found.groups()
        status = int(code)
        if status < _FINAL:
            # An interim response, such as 100 Continue; the final one follows.
            return
        listed = _HEADERS(head)
        headers = {name.lower(): value.rstrip() for name, value in listed}
        if len(headers) != len(listed):
            _check_lengths(listed)
        self._status, self._headers = status, headers
        self._keeps_alive = minor == b"1" and headers.get(b"connection", b"").lower() != b"close"
        self._read_framing(headers)

    def _read_framing(self, headers: dict[bytes, bytes]) -> None:
        encoding = headers.get(b"transfer-encoding")
        if encoding is not None:
            if encoding.lower() != b"chunked":
                raise ResponseGarbled(f"the transfer encoding is {encoding[:80]!r}")
            if b"content-length" in headers:
                # They contradict each other, so the connection is not reused.
                self._keeps_alive = False
            self._chunks = _Chunks()
            return
        length = headers.get(b"content-length")
        if length is not None:
            if not length.isdigit() or int(length[:12]) > MOST_BODY_BYTES:
                raise ResponseGarbled(f"the content length is {length[:80]!r}")
            self._length = int(length)
        elif self._status == _NO_CONTENT:
            self._length = 0

    def _feed_body(self, data: bytes) -> Response | None:
        buffer = self._buffer
        if self._chunks is not None:
            if not self._chunks.feed(data):
                return None
            surplus = bool(self._chunks.rest)
            return self._finish(bytes(self._chunks.body), keeps_alive=not surplus)
        length = self._length
        if length == len(data) and not buffer:
            return self._finish(data, keeps_alive=True)
        buffer += data
        if length is None:
            if len(buffer) > MOST_BODY_BYTES:
                raise ResponseGarbled(f"the body has more than {MOST_BODY_BYTES} bytes")
            return None
        if len(buffer) < length:
            return None
        # After surplus bytes, which belong to no request, the connection is not reused.
        return self._finish(bytes(buffer[:length]), keeps_alive=len(buffer) == length)

    def _finish(self, body: bytes, *, keeps_alive: bool) -> Response:
        assert self._headers is not None  # the body comes after the head
        return Response(self._status, self._headers, body, self._keeps_alive and keeps_alive)


def _check_lengths(listed: list[tuple[bytes, bytes]]) -> None:
    """Raise ResponseGarbled if two Content-Length headers contradict each other."""
    if len({value.rstrip() for name, value in listed if name.lower() == b"content-length"}) > 1:
        raise ResponseGarbled("the response has two different content lengths")


class _Chunks:
    """A parser of a chunked body."""

    __slots__ = ("_in_trailer", "_left", "body", "rest")

    def __init__(self) -> None:
        self.body = bytearray()
        self.rest = bytearray()
        # Bytes of the chunk, and of the line end after it, that are still missing.
        self._left = 0
        self._in_trailer = False

    def feed(self, data: bytes) -> bool:
        """Take the bytes that have arrived; return whether the body is complete."""
        self.rest += data
        while True:
            if self._left:
                if not self._take_chunk():
                    return False
                continue
            end = self.rest.find(b"\r\n")
            if end < 0:
                if len(self.rest) > _LONGEST_SIZE_LINE:
                    raise ResponseGarbled("the size line of a chunk is too long")
                return False
            line = bytes(self.rest[:end])
            del self.rest[: end + 2]
            if self._in_trailer:
                if not line:
                    return True
                continue
            self._begin_chunk(line)

    def _begin_chunk(self, line: bytes) -> None:
        found = _SIZE_LINE(line)
        if found is None:
            raise ResponseGarbled(f"the size of a chunk is {line[:80]!r}")
        size = int(found[1], 16)
        if len(self.body) + size > MOST_BODY_BYTES:
            raise ResponseGarbled(f"the body has more than {MOST_BODY_BYTES} bytes")
        if size:
            self._left = size + 2
        else:
            self._in_trailer = True

    def _take_chunk(self) -> bool:
        """Move what has arrived of a chunk to the body; return whether the chunk is complete."""
        if self._left > 2:  # noqa: PLR2004 - the line end
            part = self.rest[: self._left - 2]
            self.body += part
            del self.rest[: len(part)]
            self._left -= len(part)
        if self._left > 2 or len(self.rest) < self._left:  # noqa: PLR2004 - as above
            return False
        if not self.rest.startswith(b"\r\n"):
            raise ResponseGarbled("a chunk is longer than its size line says")
        del self.rest[:2]
        self._left = 0
        return True
