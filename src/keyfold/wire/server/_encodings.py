"""Compression of response bodies, and decompression of request bodies."""

from __future__ import annotations

import zlib
from functools import lru_cache

from keyfold.wire._compression import find_most_decoded

# Like the service, the server never compresses shorter responses.
LEAST_BYTES = 4_096
# From this request size on, the server offers compression to its client.
LEAST_REQUEST_BYTES = 10 * 1024

_LEVEL = 4
_GZIP_BITS = 31
_ZLIB_BITS = 15


# A body may have this many gzip members, and one coding: what it costs to decode is proportional to
# its size, as sent and as decoded.
_MAX_MEMBERS = 16
# zlib works without the interpreter's lock, but a call that returns much holds it to copy the result.
_SLICE_BYTES = 1 << 16
_DECODED_SLICE_BYTES = 1 << 18


class BodyRefused(Exception):
    """A body is not decoded; has the status and the text of the answer."""

    status = 400
    text = ""


class EncodingInvalid(BodyRefused):
    """A body does not have the encoding that its Content-Encoding says."""

    # As the service answers, although it is the client's error.
    status = 500


class BodyTooLong(BodyRefused):
    """A decompressed body exceeds the limit for requests."""

    status, text = 413, "Request entity too large"


class TooManyMembers(BodyRefused):
    """A gzip body has more members than are decoded."""

    text = f"Request body has more than {_MAX_MEMBERS} gzip members"


class SeveralCodings(BodyRefused):
    """A body has been encoded more than once."""

    status, text = 415, "Content-Encoding has more than one coding"


def decode(body: bytes, encoding: bytes, longest: int) -> bytes:
    """Return a request's body decompressed; raises BodyRefused.

    The time it takes is proportional to the sizes of both, and the result has at most `longest`
    bytes: fewer if it is too large for the bytes that were sent.

    >>> decode(encode(b"{}", b"gzip"), b"gzip, identity", 100)
    b'{}'
    """
    names = [name.strip() for name in encoding.decode("latin-1").lower().split(",")]
    codings = [name for name in names if name != "identity"]
    if len(codings) > 1:
        raise SeveralCodings
    match codings:
        case []:
            return body
        case ["gzip"]:
            return _decompress(body, _GZIP_BITS, longest, most_members=_MAX_MEMBERS)
        case ["deflate"]:
            return _decompress(body, _ZLIB_BITS, longest, most_members=1)
        case _:
            raise EncodingInvalid(codings[0])


def _decompress(body: bytes, bits: int, longest: int, *, most_members: int) -> bytes:
    room = min(longest, find_most_decoded(len(body)))
    source = memoryview(body)
    parts: list[bytes] = []
    for _ in range(most_members):
        try:
            read = _decompress_member(source, bits, room, parts)
        except zlib.error as error:
            raise EncodingInvalid(str(error)) from None
        source = source[read:]
        if not source:
            return b"".join(parts)
    if most_members == 1:
        raise EncodingInvalid("followed by other data")
    raise TooManyMembers


def _decompress_member(source: memoryview, bits: int, room: int, parts: list[bytes]) -> int:
    """Append what one member holds to `parts`, and return the size of the member.

    Raises BodyTooLong once the parts have more than `room` bytes.
    """
    stream = zlib.decompressobj(bits)
    room -= sum(map(len, parts))
    read = 0
    while not stream.eof:
        waiting: bytes | memoryview = stream.unconsumed_tail
        if not waiting:
            waiting = source[read : read + _SLICE_BYTES]
            read += len(waiting)
        part = stream.decompress(waiting, _DECODED_SLICE_BYTES)
        if not part and not waiting and not stream.eof:
            raise EncodingInvalid("truncated")
        room -= len(part)
        if room < 0:
            raise BodyTooLong
        parts.append(part)
    return read - len(stream.unused_data)


def encode(body: bytes, encoding: bytes) -> bytes:
    """Return a response's body compressed; `encoding` is one that `choose_encoding` returned."""
    stream = zlib.compressobj(_LEVEL, wbits=_GZIP_BITS if encoding == b"gzip" else _ZLIB_BITS)
    return stream.compress(body) + stream.flush()


@lru_cache(maxsize=256)
def choose_encoding(accepted: bytes) -> bytes | None:
    """Return the encoding of a response, by the client's Accept-Encoding; None for no compression.

    >>> choose_encoding(b"deflate;q=0.5, gzip"), choose_encoding(b"br, identity")
    (b'gzip', None)

    The service's reading of the header is lenient: the first `q=` of an entry counts, one that
    is not a number means 1, and named encodings take precedence over `*`.
    """
    qualities: dict[str, float] = {}
    for entry in accepted.decode("latin-1").split(","):
        name, _, parameters = entry.partition(";")
        quality = _read_quality(parameters)
        name = name.strip().lower()
        qualities[name] = max(quality, qualities.get(name, 0.0))
    star = qualities.pop("*", 0.0)
    for name in ("gzip", "deflate"):
        qualities.setdefault(name, star)
    offered = [name for name in qualities if name in ("gzip", "deflate") and qualities[name] > 0]
    return max(offered, key=qualities.__getitem__).encode() if offered else None


def _read_quality(parameters: str) -> float:
    _, found, rest = parameters.partition("q=")
    if not found:
        return 1.0
    try:
        return min(float(rest.partition(";")[0]), 1.0)
    except ValueError:
        return 1.0
