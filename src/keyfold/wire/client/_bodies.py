"""Requests as JSON, and answers from it; binaries are bytes on this side."""

from __future__ import annotations

import re
import zlib
from base64 import b64decode, b64encode
from typing import Any, cast

import orjson

from keyfold.errors import SerializationException

# Whether there may be a binary at all; a field that is named so deceives it, at no harm.
_MAY_HOLD_BINARY = re.compile(rb'"BS?"\s*:').search
_GZIP_BITS = 31
# More than this takes twice the time for a tenth less to send.
_GZIP_LEVEL = 1


# As AWS's own clients have it, for the services that they compress requests for.
LEAST_GZIP_BYTES = 10 * 1024


class Garbled(Exception):
    """An answer is not what it says it is; the text says how."""


def encode_request(request: dict[str, Any]) -> bytes:
    """Return a request as JSON; raises SerializationException."""
    try:
        return orjson.dumps(request, _encode_binary)
    except TypeError:
        pass
    try:
        # Names of a type derived from str, such as a StrEnum's members.
        return orjson.dumps(request, _encode_binary, orjson.OPT_NON_STR_KEYS)
    except TypeError as error:
        raise SerializationException(str(error.__cause__ or error)) from None


def _encode_binary(value: object) -> str:
    if isinstance(value, bytes | bytearray | memoryview):
        return b64encode(value).decode()  # pyright: ignore[reportUnknownArgumentType] - of any memoryview
    raise TypeError(f"a {type(value).__name__} is no value of DynamoDB's JSON")


def decode_answer(body: bytes) -> dict[str, Any]:
    """Return what an answer says; raises Garbled."""
    if not body:
        # Some operations answer nothing.
        return {}
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Garbled(f"what came back is no JSON: {error}") from None
    if not isinstance(answer, dict):
        raise Garbled("what came back is no JSON object")
    if _MAY_HOLD_BINARY(body):
        _restore_binaries(answer)
    return cast("dict[str, Any]", answer)


def _restore_binaries(value: Any) -> None:
    """Make bytes of every binary inside, in place.

    Nothing else in an answer is an object whose one member is text and called B.
    """
    if isinstance(value, list):
        for member in cast("list[Any]", value):
            _restore_binaries(member)
        return
    if not isinstance(value, dict):
        return
    members = cast("dict[str, Any]", value)
    if len(members) == 1:
        match members:
            case {"B": str(text)}:
                members["B"] = _decode_base64(text)
                return
            case {"BS": [str(), *_] as texts}:
                members["BS"] = [_decode_base64(text) for text in texts]
                return
            case _:
                pass
    for member in members.values():
        _restore_binaries(member)


def _decode_base64(text: Any) -> bytes:
    try:
        return b64decode(text, validate=True)
    except (TypeError, ValueError):
        raise Garbled("a binary in what came back is no Base64") from None


def compress(body: bytes) -> bytes:
    """Return a body as gzip."""
    stream = zlib.compressobj(_GZIP_LEVEL, wbits=_GZIP_BITS)
    return stream.compress(body) + stream.flush()


def decompress(body: bytes, longest: int) -> bytes:
    """Return what a gzip body holds; raises Garbled."""
    stream = zlib.decompressobj(_GZIP_BITS)
    try:
        whole = stream.decompress(body, longest + 1)
    except zlib.error as error:
        raise Garbled(f"what came back is no gzip: {error}") from None
    if len(whole) > longest:
        raise Garbled(f"what came back has more than {longest} bytes")
    if not stream.eof or stream.unused_data:
        raise Garbled("what came back is cut short, or followed by something else")
    return whole
