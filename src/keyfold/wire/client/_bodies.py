"""JSON encoding of requests and decoding of responses; binaries are bytes in Python."""

from __future__ import annotations

import re
import zlib
from base64 import b64decode, b64encode
from typing import Any, cast

import orjson

from keyfold.errors import SerializationException

# Whether there may be a binary at all. An attribute named B or BS is a harmless false positive.
_MAY_HOLD_BINARY = re.compile(rb'"BS?"\s*:').search
_GZIP_BITS = 31
# Higher levels take twice the time to save a tenth of the bytes.
_GZIP_LEVEL = 1
# In orjson's message.
_SURROGATES = "surrogates not allowed"

# The threshold of AWS's own clients, for the services whose requests they compress.
LEAST_GZIP_BYTES = 10 * 1024


class ResponseGarbled(Exception):
    """A response cannot be parsed; the text says why."""


def encode_request(request: dict[str, Any]) -> bytes:
    """Return a request as JSON; raises SerializationException."""
    try:
        return orjson.dumps(request, _encode_binary)
    except TypeError:
        pass
    try:
        # Keys may be of a subclass of str, such as the members of a StrEnum.
        return orjson.dumps(request, _encode_binary, orjson.OPT_NON_STR_KEYS)
    except TypeError as error:
        reason = str(error.__cause__ or error)
        if _SURROGATES in reason:
            reason = "a text has an unpaired surrogate, which is not valid Unicode"
        raise SerializationException(reason) from None


def _encode_binary(value: object) -> str:
    if isinstance(value, bytes | bytearray | memoryview):
        return b64encode(value).decode()  # pyright: ignore[reportUnknownArgumentType] - of any memoryview
    raise TypeError(f"a {type(value).__name__} is not a value of DynamoDB's JSON")


def decode_response(body: bytes) -> dict[str, Any]:
    """Return the content of a response's body; raises ResponseGarbled."""
    if not body:
        # Some operations have an empty response.
        return {}
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise ResponseGarbled(f"the response is not JSON: {error}") from None
    if not isinstance(content, dict):
        raise ResponseGarbled("the response is not a JSON object")
    if _MAY_HOLD_BINARY(body):
        _restore_binaries(content)
    return cast("dict[str, Any]", content)


def _restore_binaries(value: Any) -> None:
    """Decode every binary inside to bytes, in place.

    Only a binary is an object whose single member is named B and is a string.
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
        raise ResponseGarbled("a binary in the response is not Base64") from None


def compress(body: bytes) -> bytes:
    """Return a body compressed with gzip."""
    stream = zlib.compressobj(_GZIP_LEVEL, wbits=_GZIP_BITS)
    return stream.compress(body) + stream.flush()


def decompress(body: bytes, longest: int) -> bytes:
    """Return a gzip body decompressed; raises ResponseGarbled, also for more than `longest` bytes."""
    stream = zlib.decompressobj(_GZIP_BITS)
    try:
        decompressed = stream.decompress(body, longest + 1)
    except zlib.error as error:
        raise ResponseGarbled(f"the response is not gzip: {error}") from None
    if len(decompressed) > longest:
        raise ResponseGarbled(f"the response has more than {longest} bytes")
    if not stream.eof or stream.unused_data:
        raise ResponseGarbled("the response is truncated, or followed by other data")
    return decompressed
