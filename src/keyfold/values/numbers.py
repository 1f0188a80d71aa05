"""DynamoDB's numbers: 38 significant digits, 1E-130 to 9.99…E+125, exact.

Numbers are sent and stored as text. `normalise_number` returns the text that DynamoDB
prints for a value (its canonical form), so that equal numbers are equal strings.
"""

from __future__ import annotations

import re
from decimal import Context, Decimal

from keyfold.errors import ValidationException

MAX_DIGITS = 38
MAX_EXPONENT = 125
MIN_EXPONENT = -130

_OVERFLOW = (
    "Number overflow. Attempting to store a number with magnitude larger than supported range"
)
_UNDERFLOW = (
    "Number underflow. Attempting to store a number with magnitude smaller than supported range"
)
_NOT_NUMERIC = "The parameter cannot be converted to a numeric value"
_TOO_PRECISE = "Attempting to store more than 38 significant digits in a Number"

# Matches canonical text: integers of up to 38 digits, and decimals of up to 36. Other text may
# be canonical too; `_normalise` decides.
is_plain_number = re.compile(
    r"(?:0|-?[1-9][0-9]{0,37}|-?(?:0|[1-9][0-9]{0,17})\.[0-9]{0,17}[1-9])\Z"
).match

_NUMBER = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?\Z")

# Wide enough that adding any two valid numbers is exact: exponents span 255 decades.
_EXACT = Context(prec=400, Emax=999_999, Emin=-999_999)


def normalise_number(text: str) -> str:
    """Return the canonical form of a number: the text that DynamoDB prints for it.

    >>> normalise_number("+1.50e1")
    '15'
    >>> normalise_number("-0.0")
    '0'

    Raises ValidationException for text that is not a number or is out of range.
    """
    if is_plain_number(text):
        return text
    return _normalise(text, _TOO_PRECISE)


def _normalise(text: str, too_precise: str) -> str:
    match = _NUMBER.match(text)
    if match is None or not (match[2] or match[3]):
        received = f"{_NOT_NUMERIC}: {text}"
        raise ValidationException(received if text else _NOT_NUMERIC, current_message=received)
    sign, whole, fraction, exponent_text = match.groups(default="")
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return "0"
    # An exponent this long is out of range whatever the digits are; do not convert it to int.
    if len(exponent_text) > MAX_DIGITS:
        raise ValidationException(_UNDERFLOW if exponent_text[0] == "-" else _OVERFLOW)
    scale = int(exponent_text or 0) - len(fraction)
    stripped = digits.rstrip("0")
    scale += len(digits) - len(stripped)
    magnitude = len(stripped) + scale - 1
    if magnitude > MAX_EXPONENT:
        raise ValidationException(_OVERFLOW)
    if magnitude < MIN_EXPONENT:
        raise ValidationException(_UNDERFLOW)
    if len(stripped) > MAX_DIGITS:
        raise ValidationException(too_precise)
    return ("-" if sign == "-" else "") + _plain(stripped, scale)


def _plain(digits: str, scale: int) -> str:
    """Return digits x 10^scale, written without an exponent."""
    if scale >= 0:
        return digits + "0" * scale
    point = len(digits) + scale
    if point > 0:
        return f"{digits[:point]}.{digits[point:]}"
    return f"0.{'0' * -point}{digits}"


def add_numbers(left: str, right: str) -> str:
    """Add two canonical numbers exactly.

    >>> add_numbers("0.1", "0.2")
    '0.3'

    Raises ValidationException when the sum has too many digits or is out of range.
    """
    return _to_canonical(_EXACT.add(Decimal(left), Decimal(right)))


def subtract_numbers(left: str, right: str) -> str:
    """Subtract two canonical numbers exactly; raises like `add_numbers`."""
    return _to_canonical(_EXACT.subtract(Decimal(left), Decimal(right)))


def _to_canonical(value: Decimal) -> str:
    # The service reports a sum of more than 38 digits as an overflow, not as too precise.
    text = format(value, "f")
    return text if is_plain_number(text) else _normalise(text, too_precise=_OVERFLOW)


def compare_numbers(left: str, right: str) -> int:
    """Return -1, 0 or 1 if canonical `left` is less than, equal to or greater than `right`."""
    if left == right:
        return 0
    return -1 if Decimal(left) < Decimal(right) else 1


def number_size_bytes(text: str) -> int:
    """Return how many bytes a canonical number adds to an item's size.

    The service stores two decimal digits per byte, without leading and trailing zeros; digits
    before and after the point are packed separately. It adds one byte, and another for a minus
    sign.

    >>> number_size_bytes("7"), number_size_bytes("-123.4"), number_size_bytes("0")
    (2, 5, 1)
    """
    if text.isdigit():
        return 1 + (len(text.rstrip("0")) + 1 >> 1)
    negative = text[0] == "-"
    whole, _, fraction = (text[1:] if negative else text).partition(".")
    if not fraction:
        return 1 + (len(whole.rstrip("0")) + 1) // 2 + negative
    if whole == "0":
        return 1 + (len(fraction.lstrip("0")) + 1) // 2 + negative
    return 1 + (len(whole) + 1) // 2 + (len(fraction) + 1) // 2 + negative
