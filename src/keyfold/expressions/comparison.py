"""How attribute values compare: equality, order, containment, size.

All functions take values in the engine's form, where equal numbers are equal strings and
equal binaries equal base64, so most of equality is the equality of dicts.
"""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from keyfold.values import AttributeValue, value_size_bytes

SET_TYPES = frozenset({"SS", "NS", "BS"})
_ELEMENT_TYPE = {"SS": "S", "NS": "N", "BS": "B"}

# Python orders text by code point, which is the order of its UTF-8 bytes.
_TO_ORDERED: dict[str, Callable[[Any], Any]] = {"S": str, "N": Decimal, "B": a2b_base64}

ORDERED_TYPES = frozenset(_TO_ORDERED)
TEXT_TYPES = frozenset({"S", "B"})


def type_name(value: AttributeValue) -> str:
    """Return the type of a value, such as `S` or `NS`."""
    for name in value:
        return name
    raise AssertionError


def ordering_of(kind: str) -> Callable[[str], Any]:
    """Return the function that makes the data of S, N or B comparable."""
    return _TO_ORDERED[kind]


def to_ordered(kind: str, data: str) -> str | Decimal | bytes:
    """Return the data of an S, N or B as an object that orders as DynamoDB does."""
    return _TO_ORDERED[kind](data)


def contains_set(value: AttributeValue) -> bool:
    """Say whether `value` is a set or has one inside, which makes equality more than `==`."""
    for kind, data in value.items():
        if kind in SET_TYPES:
            return True
        if kind == "L":
            return any(map(contains_set, data))
        if kind == "M":
            return any(map(contains_set, data.values()))
    return False


def are_equal(left: AttributeValue, right: AttributeValue) -> bool:
    """Say whether two values are equal; the order of a set's members does not count.

    >>> are_equal({"L": [{"SS": ["a", "b"]}]}, {"L": [{"SS": ["b", "a"]}]})
    True
    """
    if left == right:
        return True
    for kind, mine in left.items():
        theirs = right.get(kind)
        if theirs is None:
            return False
        if kind in SET_TYPES:
            return len(mine) == len(theirs) and set(mine) == set(theirs)
        if kind == "L":
            return len(mine) == len(theirs) and all(map(are_equal, mine, theirs))
        if kind == "M":
            return mine.keys() == theirs.keys() and all(
                are_equal(member, theirs[name]) for name, member in mine.items()
            )
    return False


def has_element(container: AttributeValue, element: AttributeValue) -> bool:
    """Say whether `contains(container, element)` holds.

    A string contains its substrings, a binary its runs of bytes, a set its members, and a
    list its elements of any type.
    """
    for kind, data in container.items():
        if kind == "L":
            return any(are_equal(member, element) for member in data)
        sought = element.get(_ELEMENT_TYPE.get(kind, kind))
        if sought is None:
            return False
        if kind == "S" or kind in SET_TYPES:
            return sought in data
        return kind == "B" and a2b_base64(sought) in a2b_base64(data)
    return False


def starts_with(value: AttributeValue, prefix: AttributeValue) -> bool:
    """Say whether `begins_with(value, prefix)` holds: both strings, or both binaries."""
    for kind, data in value.items():
        start = prefix.get(kind)
        if start is None:
            return False
        if kind == "S":
            return data.startswith(start)
        return kind == "B" and a2b_base64(data).startswith(a2b_base64(start))
    return False


def size_of(value: AttributeValue | None) -> int | None:
    """Return what `size` gives for a value; None where the type has no size.

    A string counts UTF-16 units, as the service does.

    >>> size_of({"S": "hé"}), size_of({"B": "AAEC"}), size_of({"N": "12"})
    (2, 3, None)
    """
    if value is None:
        return None
    for kind, data in value.items():
        if kind == "S":
            return len(data) if data.isascii() else len(data.encode("utf-16-le")) // 2
        if kind == "B":
            return value_size_bytes(value)
        if kind in SIZED_TYPES:
            return len(data)
    return None


SIZED_TYPES = frozenset({"S", "B", "L", "M", "SS", "NS", "BS"})


def show_value(value: AttributeValue) -> str:
    """Write a value as the service's messages do."""
    for kind, data in value.items():
        if kind == "B":
            length = len(a2b_base64(data))
            return f"AttributeValue: {{B:java.nio.HeapByteBuffer[pos=0 lim={length} cap={length}]}}"
        return f"AttributeValue: {{{kind}:{data}}}"
    raise AssertionError
