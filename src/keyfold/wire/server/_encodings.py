"""Compression of response bodies, and decompression of request bodies."""

from __future__ import annotations

import zlib
from functools import lru_cache

# Like the service, the server never compresses shorter responses.
LEAST_BYTES = 4_096
# From this request size on, the server offers compression to its client.
LEAST_REQUEST_BYTES = 10 * 1024

_LEVEL = 4
_GZIP_BITS = 31
_ZLIB_BITS = 15


class EncodingInvalid(Exception):
    """A body does not have the encoding that its Content-Encoding says."""


class BodyTooLong(Exception):
    """A decompressed body exceeds the limit for requests."""


def decode(body: bytes, encoding: bytes, longest: int) -> bytes:
    """Return a request's body decompressed; raises EncodingInvalid, BodyTooLong."""
    for name in reversed(encoding.decode("latin-1").lower().split(",")):
        match name.strip():
            case "gzip":
                body = _decompress(body, _GZIP_BITS, longest, several=True)
            case "deflate":
                body = _decompress(body, _ZLIB_BITS, longest, several=False)
            case "identity":
                pass
            case _:
                raise EncodingInvalid(name)
    return body


def _decompress(body: bytes, bits: int, longest: int, *, several: bool) -> bytes:
    parts: list[bytes] = []
    while True:
        stream = zlib.decompressobj(bits)
        try:
            parts.append(stream.decompress(body, longest + 1))
        except zlib.error as error:
            raise EncodingInvalid(str(error)) from None
        longest -= len(parts[-1])
        if longest < 0:
            raise BodyTooLong
        if not stream.eof or (stream.unused_data and not several):
            raise EncodingInvalid("truncated, or followed by other data")
        body = stream.unused_data
        if not body:
            return b"".join(parts)


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
