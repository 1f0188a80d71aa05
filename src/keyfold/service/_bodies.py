"""The JSON of requests, within the limits of the DynamoDB server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from decimal import Decimal
from itertools import chain
from typing import Any, cast

import orjson

from keyfold.api.bodies import parse_body
from keyfold.api.large_bodies import MAX_DEPTH, parse_in_slices
from keyfold.errors import SerializationException

# A number that a float may not hold. Texts may look like it, too.
_LONG_NUMBER = re.compile(rb"[0-9][0-9.]{15,}")
# Beyond this, an integer may need more than 64 bits.
_SHORT_INTEGER = 18


def parse_json(body: bytes) -> Any:
    """Return the JSON of a body; raises SerializationException.

    Also raises it for a body that is nested deeper than 128 levels, or that has more than two million
    objects and arrays: what walks the result may do so by recursion.

    >>> parse_json(b'{"user": "ada"}')
    {'user': 'ada'}
    """
    # A body with fewer brackets than that is not nested deeper.
    if body.count(b"{") + body.count(b"[") <= MAX_DEPTH:
        parsed = parse_body(body)
    else:
        parsed = parse_in_slices(body)
        _check_depth(parsed)
    exact = read_exactly(body)
    return parsed if exact is None else exact


def read_exactly(body: bytes) -> Any:
    """Return the JSON of a body that has numbers with many digits, and none lost.

    None for any other body, also one that is not JSON or nested deeper than 128 levels.

    >>> read_exactly(b'[0.12345678901234567890, 1]'), read_exactly(b"[0.5]")
    ([Decimal('0.12345678901234567890'), 1], None)
    """
    if _LONG_NUMBER.search(body) is None:
        return None
    try:
        parsed = json.loads(
            body, parse_float=Decimal, parse_int=_read_integer, parse_constant=_refuse_constant
        )
        _check_depth([parsed])
    except (ValueError, RecursionError, SerializationException):
        return None
    return parsed


def write_exactly(value: Any) -> bytes:
    """Return the JSON of a value, which may have integers of any size, and what `read_exactly` returns.

    >>> write_exactly({"price": Decimal("0.12345678901234567890")})
    b'{"price":0.12345678901234567890}'
    """
    try:
        return orjson.dumps(value, default=_write_number)
    except TypeError:
        # It takes integers of 64 bits, and items may have larger ones.
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "surrogatepass")


def _read_integer(text: str) -> int | Decimal:
    return int(text) if len(text) <= _SHORT_INTEGER else Decimal(text)


def _refuse_constant(text: str) -> Any:
    raise ValueError(text)


def _write_number(value: Any) -> orjson.Fragment:
    if not isinstance(value, Decimal):
        raise TypeError(repr(value))
    return orjson.Fragment(str(value))


def _check_depth(value: Any) -> None:
    """Raise SerializationException if something is nested too deep. Level by level, not recursively."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        inner = chain.from_iterable(map(_list_members, level))
        level = list(filter(_is_container, inner))
        if not level:
            return
    raise SerializationException


def _list_members(value: Any) -> Iterable[Any]:
    return cast(dict[str, Any], value).values() if isinstance(value, dict) else value


def _is_container(value: Any) -> bool:
    return isinstance(value, dict | list)
