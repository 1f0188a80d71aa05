"""NextToken: the position at which a page of a SELECT ended, bound to its statement."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from hashlib import blake2b
from typing import NamedTuple

import orjson

from keyfold.engine.tables.table import EngineTable
from keyfold.errors import ServiceError, ValidationException
from keyfold.values import AttributeValue, Item, normalise_item

_CHECK_BYTES = 8
_STATEMENT_BYTES = 16
INVALID_TOKEN = "Invalid NextToken"  # noqa: S105 - not a password


class ReadPosition(NamedTuple):
    """The place of the next range of keys, and the key of the last item read in it, if any."""

    place: int
    after: Item | None


def write_token(
    table: EngineTable, statement: str, parameters: list[AttributeValue], position: ReadPosition
) -> str:
    """Return the token for a position; it is valid only for this statement and parameters."""
    body = _digest_statement(table, statement, parameters) + orjson.dumps(
        [position.place, position.after]
    )
    return urlsafe_b64encode(_check(body) + body).decode()


def read_token(
    table: EngineTable, statement: str, parameters: list[AttributeValue], token: str
) -> ReadPosition:
    """Return the position that a token encodes; raises ValidationException.

    The digests protect callers from mistakes, not from attackers: a forged token gives access
    to nothing that its statement cannot read anyway.
    """
    try:
        raw = urlsafe_b64decode(token.encode())
    except (NotBase64, ValueError):
        raise ValidationException(INVALID_TOKEN) from None
    check, body = raw[:_CHECK_BYTES], raw[_CHECK_BYTES:]
    if check != _check(body) or len(body) < _STATEMENT_BYTES:
        raise ValidationException(INVALID_TOKEN)
    if body[:_STATEMENT_BYTES] != _digest_statement(table, statement, parameters):
        raise ValidationException("NextToken does not match request")
    return _read_position(body[_STATEMENT_BYTES:])


def _read_position(body: bytes) -> ReadPosition:
    """Parse a position without trusting it: the digests do not prove who wrote it."""
    try:
        place, after = orjson.loads(body)
        key = None if after is None else normalise_item(after)[0]
    except (AttributeError, TypeError, ValueError, ServiceError):
        raise ValidationException(INVALID_TOKEN) from None
    if type(place) is not int or place < 0:
        raise ValidationException(INVALID_TOKEN)
    return ReadPosition(place, key)


def _check(body: bytes) -> bytes:
    return blake2b(body, digest_size=_CHECK_BYTES, person=b"next-token").digest()


def _digest_statement(
    table: EngineTable, statement: str, parameters: list[AttributeValue]
) -> bytes:
    # The table's id, not its name: a table that is deleted and created again is another table.
    text = orjson.dumps([table.body["id"], statement, parameters], option=orjson.OPT_SORT_KEYS)
    return blake2b(text, digest_size=_STATEMENT_BYTES).digest()
