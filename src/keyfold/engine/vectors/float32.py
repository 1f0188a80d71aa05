"""Numbers as a vector index keeps them: as 32-bit floats."""

from __future__ import annotations

from array import array
from decimal import Decimal

from keyfold.values import AttributeValue

# A decimal of so many significant digits survives as a 32-bit float, and so many digits tell any two
# 32-bit floats apart.
_KEPT_DIGITS, _MAX_DIGITS = 6, 9


def as_float32(number: float) -> float:
    """Return the 32-bit float that is nearest to a number."""
    return array("f", [number])[0]


def float32_text(number: str) -> str:
    """Return a number as an index returns it: the shortest decimal of the nearest 32-bit float.

    >>> float32_text("0.1"), float32_text("16777217"), float32_text("1")
    ('0.1', '16777216.0', '1.0')
    """
    kept = as_float32(float(number))
    for digits in range(_KEPT_DIGITS, _MAX_DIGITS + 1):
        text = f"{kept:.{digits}g}"
        if as_float32(float(text)) == kept:
            break
    else:
        raise AssertionError(f"{_MAX_DIGITS} digits identify every 32-bit float, but not {kept}")
    # The service writes the number 1 as 1.0.
    plain = f"{Decimal(text):f}"
    return plain if "." in plain else f"{plain}.0"


def float32_vector(value: AttributeValue) -> AttributeValue:
    """Return the vector that an index keeps of a list of numbers."""
    return {"L": [{"N": float32_text(element["N"])} for element in value["L"]]}
