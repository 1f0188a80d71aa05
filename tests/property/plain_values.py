"""Attribute values in plain Python: the reference that the engine is compared with.

Nothing here comes from Keyfold. Numbers are Decimals, order is Python's, sizes are computed
from the documented rules.
"""

from __future__ import annotations

from decimal import Context, Decimal
from typing import Any

Value = dict[str, Any]
Item = dict[str, Value]

# Adding any two numbers that DynamoDB accepts is exact with this many digits.
WIDE = Context(prec=500, Emax=9_999, Emin=-9_999)


def number_of(text: str) -> Decimal:
    """Return the value of a number's text."""
    return Decimal(text)


def print_number(number: Decimal) -> str:
    """Return the canonical text of a number: no exponent, no needless zeros, no minus zero."""
    if not number:
        return "0"
    text = format(number, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text


def is_in_range(number: Decimal) -> bool:
    """Return whether a number has at most 38 digits and lies in DynamoDB's range."""
    if not number:
        return True
    digits = "".join(map(str, number.as_tuple().digits)).strip("0")
    return len(digits) <= 38 and -130 <= number.adjusted() <= 125


def in_stored_form(value: Value) -> Value:
    """Return a value as it is stored: numbers in canonical form, and sets sorted."""
    ((kind, data),) = value.items()
    match kind:
        case "N":
            return {"N": print_number(number_of(data))}
        case "NS":
            return {"NS": [print_number(each) for each in sorted(map(number_of, data))]}
        case "SS":
            return {"SS": sorted(data, key=str.encode)}
        case "BS":
            return {"BS": sorted(data)}
        case "L":
            return {"L": [in_stored_form(each) for each in data]}
        case "M":
            return {"M": {name: in_stored_form(each) for name, each in data.items()}}
        case _:
            return value


def comparable(value: Value) -> object:
    """Return an object that compares equal exactly for equal values; sets have no order."""
    ((kind, data),) = value.items()
    match kind:
        case "L":
            return ("L", tuple(comparable(each) for each in data))
        case "M":
            return ("M", frozenset((name, comparable(each)) for name, each in data.items()))
        case "SS" | "NS" | "BS":
            assert len(set(data)) == len(data)
            return (kind, frozenset(data))
        case _:
            return (kind, data)


def comparable_item(item: Item) -> object:
    """Return the same for a whole item."""
    return comparable({"M": item})


def sort_form(value: Value) -> Any:
    """Return an object that sorts as the value of a key attribute does."""
    ((kind, data),) = value.items()
    match kind:
        case "S":
            return data.encode("utf-8")
        case "N":
            return number_of(data)
        case "B":
            return bytes(data)
        case _:
            raise AssertionError(kind)


def number_size(text: str) -> int:
    """Return the size of a number: a byte per pair of digits, before and after the point."""
    number = number_of(text)
    if not number:
        return 1
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    figures = list(digits)
    while figures[-1] == 0:
        figures.pop()
        exponent += 1
    behind = min(max(-exponent, 0), len(figures))
    before = len(figures) - behind
    return 1 + -(-before // 2) + -(-behind // 2) + sign


def value_size(value: Value) -> int:
    """Return the size of one value."""
    ((kind, data),) = value.items()
    match kind:
        case "S":
            return len(data.encode("utf-8"))
        case "B":
            return len(data)
        case "N":
            return number_size(data)
        case "SS":
            return sum(len(each.encode("utf-8")) for each in data)
        case "BS":
            return sum(len(each) for each in data)
        case "NS":
            return sum(number_size(each) for each in data)
        case "L":
            return 3 + sum(1 + value_size(each) for each in data)
        case "M":
            return 3 + len(data) + item_size(data)
        case _:
            return 1


def item_size(item: Item) -> int:
    """Return the size of an item: its names and its values."""
    return sum(len(name.encode("utf-8")) + value_size(value) for name, value in item.items())
