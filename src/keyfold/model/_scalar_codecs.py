"""Codecs of scalar types: text, numbers, bytes, times, ids."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from pydantic import (
    AwareDatetime,
    FutureDate,
    FutureDatetime,
    NaiveDatetime,
    PastDate,
    PastDatetime,
)

from keyfold.model import _scalars as scalars
from keyfold.model._any_values import decode_any, encode_any
from keyfold.model._value_codecs import Decode, TypeRefused, ValueCodec
from keyfold.values import AttributeValue

_TEXT, _NUMBER = frozenset({"S"}), frozenset({"N"})


def _from_number(read: Decode) -> Decode:
    def decode(value: AttributeValue) -> Any:
        return read(value["N"]) if "N" in value else decode_any(value)

    return decode


_decode_seconds = _from_number(scalars.decode_seconds)

# A subclass comes before its base: a datetime is a date.
_SCALARS: tuple[tuple[type[Any], ValueCodec], ...] = (
    (bool, ValueCodec(scalars.encode_bool, kinds=frozenset({"BOOL"}))),
    (str, ValueCodec(scalars.encode_text, kinds=_TEXT)),
    (int, ValueCodec(scalars.encode_int, kinds=_NUMBER)),
    (float, ValueCodec(scalars.encode_float, _from_number(float), _NUMBER)),
    (Decimal, ValueCodec(scalars.encode_decimal, kinds=_NUMBER)),
    (bytes, ValueCodec(scalars.encode_bytes, kinds=frozenset({"B"}))),
    (datetime, ValueCodec(scalars.encode_datetime, kinds=_TEXT)),
    (date, ValueCodec(scalars.encode_date, kinds=_TEXT)),
    (time, ValueCodec(scalars.encode_time, kinds=_TEXT)),
    (
        timedelta,
        ValueCodec(scalars.encode_timedelta, _from_number(scalars.decode_timedelta), _NUMBER),
    ),
    (UUID, ValueCodec(scalars.encode_uuid, kinds=_TEXT)),
)

SECONDS = ValueCodec(scalars.encode_seconds, _decode_seconds, _NUMBER, python=datetime)
EXPIRY = ValueCodec(
    scalars.encode_expiry,
    _decode_seconds,
    _NUMBER,
    python=datetime,
    encode_bound=scalars.encode_seconds,
)
_NAIVE = ValueCodec(scalars.encode_naive_datetime, kinds=_TEXT, python=datetime)


def _decode_json(value: AttributeValue) -> Any:
    """Decode a JSON value, whose numbers are ints or floats."""
    ((kind, data),) = value.items()
    match kind:
        case "N":
            number = scalars.decode_number(data)
            return number if isinstance(number, int) else float(number)
        case "L":
            return [_decode_json(each) for each in data]
        case "M":
            return {name: _decode_json(each) for name, each in data.items()}
        case _:
            return decode_any(value)


JSON_VALUE = ValueCodec(encode_any, _decode_json)

# Pydantic's types that are classes of their own at run time, and the classes of their values.
_PLAIN_TYPES: dict[Any, type[Any]] = {
    AwareDatetime: datetime,
    PastDatetime: datetime,
    PastDate: date,
}
_PASSING: dict[Any, str] = {FutureDate: "date", FutureDatetime: "AwareDatetime"}


def find_plain_type(annotation: Any) -> Any:
    """Return `datetime` for AwareDatetime, and the like; other annotations as they are."""
    try:
        return _PLAIN_TYPES.get(annotation, annotation)
    except TypeError:  # an annotation that cannot be hashed
        return annotation


def scalar_codec(kind: Any) -> ValueCodec | None:
    """Return the codec of a scalar type; None if it is none of ours. Raises TypeRefused."""
    if kind in _PASSING:
        raise TypeRefused(
            f"a {kind.__name__} is valid only until its time has come, and could not be read back "
            f"after that. Use {_PASSING[kind]}, and check it where the value comes in"
        )
    if kind is NaiveDatetime:
        return _NAIVE
    kind = find_plain_type(kind)
    for base, codec in _SCALARS:
        if issubclass(kind, base):
            return ValueCodec(codec.encode, codec.decode, codec.kinds, python=kind)
    return None
