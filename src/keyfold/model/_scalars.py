"""Encoding of scalar values as DynamoDB attribute values, and decoding.

An encoder takes values of its type, and placeholders. It raises TypeError or ValueError for other
types, which the caller turns into an error that names the field, and ValueInvalid for values that
DynamoDB cannot store.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Context, Decimal
from math import isfinite
from typing import Any
from uuid import UUID

from keyfold.errors import ValidationException, ValueInvalid
from keyfold.model._placeholders import Placeholder
from keyfold.values import AttributeValue, is_plain_number, normalise_number

_SHOWN_CHARACTERS = 80
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_MICROSECONDS = 1_000_000
# Digits enough for any number that can be stored, whatever the caller's decimal context.
_EXACT = Context(prec=60)
# Every int of smaller magnitude has at most 38 digits, which DynamoDB can store.
_SAFE = 10**38


def show(value: object) -> str:
    """Return a value as text for a message, truncated if it is long."""
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"


def encode_text(value: Any) -> AttributeValue:
    """Encode a str."""
    if value.__class__ is str:
        return {"S": value}
    if isinstance(value, Placeholder):
        return {"S": str(value)}
    # A subclass of str, such as a typed id or a str enum, is stored as its plain text.
    return {"S": str.__str__(value)}


def encode_int(value: Any) -> AttributeValue:
    """Encode an int, or a Decimal without a fraction."""
    if value.__class__ is int and -_SAFE < value < _SAFE:
        return {"N": str(value)}
    if isinstance(value, Placeholder):
        return {"N": str(value)}
    if isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value():
        return encode_decimal(value)
    if isinstance(value, float):
        return _refuse_float(value)
    if not isinstance(value, int):
        raise TypeError(value)
    return {"N": _number_of(value)}


def encode_decimal(value: Any) -> AttributeValue:
    """Encode a Decimal, or an int."""
    if value.__class__ is Decimal:
        return {"N": _number_of(value)}
    if isinstance(value, Placeholder):
        return {"N": str(value)}
    if isinstance(value, float):
        return _refuse_float(value)
    if not isinstance(value, Decimal | int) or isinstance(value, bool):
        raise TypeError(value)
    return {"N": _number_of(value)}


def _refuse_float(value: float) -> AttributeValue:
    raise ValueInvalid(show(value), "the field takes no float", "Use Decimal or int.")


def _number_of(value: Decimal | int) -> str:
    try:
        text = str(int(value)) if isinstance(value, int) else str(value)
        return text if is_plain_number(text) else normalise_number(text)
    except (ValidationException, ValueError):
        advice = "Numbers have up to 38 digits, and a magnitude from 1E-130 to 9.99E+125."
        shown = _show_number(value)
        raise ValueInvalid(shown, "this number cannot be stored", advice) from None


def _show_number(value: Decimal | int) -> str:
    try:
        return show(value)
    except ValueError:
        # Python refuses to convert an int of thousands of digits to text.
        return f"a number of {int(value).bit_length()} bits"


def encode_float(value: Any) -> AttributeValue:
    """Encode a float by its shortest text, which is read back as the same float.

    That text has at most 17 digits, and DynamoDB stores 38.
    """
    if value.__class__ is not float:
        if not isinstance(value, float):
            return encode_decimal(value)
        value = float(value)
    if not isfinite(value):
        raise ValueInvalid(show(value), "this float cannot be stored", "Use None for no value.")
    text = repr(value)
    if is_plain_number(text):
        return {"N": text}
    # Decimal(text) is exact; normalising it removes the ".0" of a whole number.
    return {"N": _number_of(Decimal(text))}


def encode_bool(value: Any) -> AttributeValue:
    """Encode a bool."""
    if value.__class__ is bool:
        return {"BOOL": value}
    if isinstance(value, Placeholder):
        return {"S": str(value)}
    raise TypeError(value)


def encode_bytes(value: Any) -> AttributeValue:
    """Encode bytes or a bytearray."""
    if isinstance(value, Placeholder):
        return {"S": str(value)}
    if not isinstance(value, bytes | bytearray):
        raise TypeError(value)
    return {"B": bytes(value)}


def encode_none(value: Any) -> AttributeValue:  # noqa: ARG001 - an encoder takes a value
    """Encode None."""
    return {"NULL": True}


def encode_datetime(value: Any) -> AttributeValue:
    """Encode a datetime as text in UTC with a fixed width, so that text order is time order."""
    if isinstance(value, Placeholder):
        return {"S": str(value)}
    in_utc = _to_utc(value)
    return {"S": in_utc.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"}


def _to_utc(value: Any) -> datetime:
    if not isinstance(value, datetime):
        raise TypeError(value)
    if value.tzinfo is None:
        advice = "Use an aware datetime, such as one in UTC, or declare a NaiveDatetime."
        raise ValueInvalid(show(value), "it has no time zone", advice)
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise ValueInvalid(show(value), "it is out of range in UTC", "") from None


def encode_naive_datetime(value: Any) -> AttributeValue:
    """Encode a datetime without a time zone, with a fixed width: text order is time order."""
    if isinstance(value, Placeholder):
        return {"S": str(value)}
    if not isinstance(value, datetime) or value.tzinfo is not None:
        raise TypeError(value)
    return {"S": value.isoformat(timespec="microseconds")}


def encode_date(value: Any) -> AttributeValue:
    """Encode a date, or the date of a datetime in UTC."""
    if isinstance(value, Placeholder):
        return {"S": str(value)}
    if isinstance(value, datetime):
        value = _to_utc(value).date()
    if not isinstance(value, date):
        raise TypeError(value)
    return {"S": value.isoformat()}


def encode_time(value: Any) -> AttributeValue:
    """Encode a time of day."""
    if isinstance(value, Placeholder):
        return {"S": str(value)}
    if not isinstance(value, time):
        raise TypeError(value)
    return {"S": value.isoformat()}


def encode_uuid(value: Any) -> AttributeValue:
    """Encode a UUID, or the text of one, in lower case."""
    if isinstance(value, Placeholder):
        return {"S": str(value)}
    return {"S": str(value if isinstance(value, UUID) else UUID(value))}


def encode_seconds(value: Any) -> AttributeValue:
    """Encode a datetime as Unix time in seconds, with its fraction."""
    if isinstance(value, Placeholder):
        return {"N": str(value)}
    return encode_decimal(Decimal(_microseconds(value)).scaleb(-6, _EXACT))


def encode_expiry(value: Any) -> AttributeValue:
    """Encode a datetime as Unix time in whole seconds, rounded down as `int()` does."""
    if isinstance(value, Placeholder):
        return {"N": str(value)}
    return encode_int(_whole_seconds(value))


def round_expiry(value: Any) -> Any:
    """Return an expiry as it is read back, in whole seconds; what is not a datetime stays as it is."""
    if not isinstance(value, datetime):
        return value
    return _EPOCH + timedelta(seconds=_whole_seconds(value))


def _whole_seconds(value: Any) -> int:
    return _microseconds(value) // _MICROSECONDS


def _microseconds(value: Any) -> int:
    return (_to_utc(value) - _EPOCH) // _MICROSECOND


def decode_seconds(text: str) -> Any:
    """Return the datetime of a Unix time in seconds; if it is out of range, an invalid text."""
    try:
        return _EPOCH + timedelta(
            microseconds=int(Decimal(text).scaleb(6, _EXACT).to_integral_value())
        )
    except (ArithmeticError, OverflowError):
        # A bare number would not fail: pydantic may read it as milliseconds.
        return f"{text} seconds since 1970"


def encode_timedelta(value: Any) -> AttributeValue:
    """Encode a timedelta as its number of seconds, exactly."""
    if isinstance(value, Placeholder):
        return {"N": str(value)}
    if not isinstance(value, timedelta):
        raise TypeError(value)
    return encode_decimal(Decimal(value // _MICROSECOND).scaleb(-6, _EXACT))


def decode_timedelta(text: str) -> Any:
    """Return the timedelta of a number of seconds; if it is out of range, an invalid text."""
    try:
        return timedelta(microseconds=int(Decimal(text).scaleb(6, _EXACT).to_integral_value()))
    except (ArithmeticError, OverflowError):
        return f"{text} seconds"


def decode_number(text: str) -> int | Decimal:
    """Return a number as an int if its text has digits only, otherwise as a Decimal."""
    is_whole = text.isdigit() or (text[:1] == "-" and text[1:].isdigit())
    return int(text) if is_whole else Decimal(text)
