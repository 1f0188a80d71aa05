"""A cheap test for values that are certainly valid and already normalised.

The fast paths read their values with it. They leave all other values to the ordinary path, which
normalises values, and is the only one that raises errors.
"""

from __future__ import annotations

from typing import Any

from keyfold.values import is_plain_number


def read_fast_scalar(kind: str, value: Any, max_length: int) -> str | None:
    """Return the string or number in an unchecked attribute value, or None if it may be invalid.

    >>> read_fast_scalar("S", {"S": "abc"}, 10), read_fast_scalar("N", {"N": "1e3"}, 10)
    ('abc', None)

    A string may have at most `max_length` characters.
    """
    if value.__class__ is not dict or len(value) != 1:
        return None
    data = value.get(kind)
    if data.__class__ is not str:
        return None
    if kind == "S":
        # A non-ASCII string might contain a lone surrogate.
        return data if data.isascii() and len(data) <= max_length else None
    return data if kind == "N" and is_plain_number(data) else None
