"""How attribute values compare: equality, order, containment, size.

All functions take normalised values. Equal numbers are then equal strings, and equal binaries are
equal base64, so that most values can be compared with `==` on their dicts.
"""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from keyfold.values import AttributeValue, value_size_bytes

SET_TYPES = frozenset({"SS", "NS", "BS"})
_ELEMENT_TYPE = {"SS": "S", "NS": "N", "BS": "B"}

# Python orders strings by code point, which is also the order of their UTF-8 bytes.
_TO_ORDERED: dict[str, Callable[[Any], Any]] = {"S": str, "N": Decimal, "B": a2b_base64}

ORDERED_TYPES = frozenset(_TO_ORDERED)
TEXT_TYPES = frozenset({"S", "B"})


def type_name(value: AttributeValue) -> str:
    """Return the type of a value, such as `S` or `NS`."""
    for name in value:
        return name
    raise AssertionError


def ordering_of(kind: str) -> Callable[[str], Any]:
    """Return the function that converts the data of an S, N or B into a sortable object."""
    return _TO_ORDERED[kind]


def to_ordered(kind: str, data: str) -> str | Decimal | bytes:
    """Return the data of an S, N or B as an object that sorts in DynamoDB's order."""
    return _TO_ORDERED[kind](data)


def contains_set(value: AttributeValue) -> bool:
    """Return whether `value` is or contains a set, which `==` cannot compare."""
    for kind, data in value.items():
        if kind in SET_TYPES:
            return True
        if kind == "L":
            return any(map(contains_set, data))
        if kind == "M":
            return any(map(contains_set, data.values()))
    return False


def are_equal(left: AttributeValue, right: AttributeValue) -> bool:
    """Return whether two values are equal, ignoring the order of sets' members.

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
    """Return whether `contains(container, element)` holds.

    A string contains its substrings, a binary its subsequences of bytes, a set its members, and
    a list its elements of any type.
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
    """Return whether `begins_with(value, prefix)` holds; both must be strings, or binaries."""
    for kind, data in value.items():
        start = prefix.get(kind)
        if start is None:
            return False
        if kind == "S":
            return data.startswith(start)
        return kind == "B" and a2b_base64(data).startswith(a2b_base64(start))
    return False


def size_of(value: AttributeValue | None) -> int | None:
    """Return the result of `size` for a value; None if its type has no size.

    The size of a string is its number of UTF-16 code units, as in the service.

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
    """Return a value in the format of the service's messages."""
    for kind, data in value.items():
        if kind == "B":
            length = len(a2b_base64(data))
            return f"AttributeValue: {{B:java.nio.HeapByteBuffer[pos=0 lim={length} cap={length}]}}"
        return f"AttributeValue: {{{kind}:{data}}}"
    raise AssertionError
