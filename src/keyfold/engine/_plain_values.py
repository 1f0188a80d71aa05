"""Values that are certainly valid and in normal form already, without a closer look.

The quick roads read their values here. What this is not sure of they leave to the ordinary
way, which normalises, and alone words errors.
"""

from __future__ import annotations

from typing import Any

from keyfold.values import is_plain_number


def read_plain_scalar(kind: str, value: Any, longest: int) -> str | None:
    """Return the text or number that an attribute value as it came holds; None if not sure.

    >>> read_plain_scalar("S", {"S": "abc"}, 10), read_plain_scalar("N", {"N": "1e3"}, 10)
    ('abc', None)

    A text may have `longest` characters.
    """
    if value.__class__ is not dict or len(value) != 1:
        return None
    data = value.get(kind)
    if data.__class__ is not str:
        return None
    if kind == "S":
        # Text outside ASCII might hold half a surrogate pair.
        return data if data.isascii() and len(data) <= longest else None
    return data if kind == "N" and is_plain_number(data) else None
