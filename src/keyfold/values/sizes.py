"""Sizes of values in bytes, by DynamoDB's rules.

These sizes decide the 400 KB item limit, the 1 MB page and the capacity consumed. They are
not the length of any text: a number counts half a byte per digit, and a list has an overhead
of three bytes plus one per element.
"""

from __future__ import annotations

from keyfold.values._types import AttributeValue, Item
from keyfold.values.numbers import number_size_bytes

MAX_ITEM_BYTES = 409_600
CONTAINER_BYTES = 3
ELEMENT_BYTES = 1


def text_size_bytes(text: str) -> int:
    """Return the length of `text` in UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


def base64_size_bytes(text: str) -> int:
    """Return how many bytes canonical base64 `text` decodes to."""
    return len(text) // 4 * 3 - text.count("=", -2)


def _binary_size_bytes(data: str | bytes) -> int:
    return base64_size_bytes(data) if isinstance(data, str) else len(data)


def value_size_bytes(value: AttributeValue) -> int:
    """Return the size of a normalised value, without its attribute name.

    A binary may be base64, as inside the engine, or bytes.

    >>> value_size_bytes({"L": [{"S": "ab"}, {"BOOL": True}]})
    8
    """
    for kind, data in value.items():
        match kind:
            case "S":
                return text_size_bytes(data)
            case "N":
                return number_size_bytes(data)
            case "B":
                return _binary_size_bytes(data)
            case "M":
                return CONTAINER_BYTES + item_size_bytes(data) + ELEMENT_BYTES * len(data)
            case "L":
                return CONTAINER_BYTES + sum(
                    ELEMENT_BYTES + value_size_bytes(each) for each in data
                )
            case "SS":
                return sum(map(text_size_bytes, data))
            case "NS":
                return sum(map(number_size_bytes, data))
            case "BS":
                return sum(map(_binary_size_bytes, data))
            case _:
                return 1
    return 0


def item_size_bytes(item: Item) -> int:
    """Return the size of an item: its attribute names and its values.

    >>> item_size_bytes({"pk": {"S": "a"}, "n": {"N": "100"}})
    6
    """
    return sum(text_size_bytes(name) + value_size_bytes(value) for name, value in item.items())
