"""Encoding of values by their own type as DynamoDB attribute values, and decoding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

from pydantic import BaseModel, Secret, SecretBytes, SecretStr
from pydantic_core import PydanticSerializationError, to_jsonable_python

from keyfold.errors import ValueInvalid
from keyfold.model import _scalars as scalars
from keyfold.model._placeholders import Placeholder
from keyfold.model._secrets import MASKED, mask
from keyfold.values import AttributeValue

Encode = Callable[[Any], AttributeValue]


def encode_list_of(members: Any, encode: Encode) -> AttributeValue:
    """Encode a list or tuple, with an encoder for its members; raises TypeError for others."""
    if isinstance(members, Placeholder):
        return {"S": str(members)}
    if not isinstance(members, Sequence) or isinstance(members, str | bytes):
        raise TypeError(members)
    return {"L": [encode(each) for each in members]}  # pyright: ignore[reportUnknownVariableType] - of anything


def encode_set_of(members: Any, encode: Encode) -> AttributeValue:
    """Encode a set, with an encoder for its members; raises ValueInvalid if it is empty or mixed."""
    if isinstance(members, Placeholder):
        return {"S": str(members)}
    if not isinstance(members, set | frozenset):
        raise TypeError(members)
    if encode is scalars.encode_text and members and "" not in members:
        return {"SS": sorted(map(str.__str__, members))}  # pyright: ignore[reportUnknownArgumentType] - of text
    encoded = [encode(each) for each in members]  # pyright: ignore[reportUnknownVariableType] - of anything
    kinds = {kind for member in encoded for kind in member}
    fact = None
    if not encoded:
        fact = "an empty set cannot be stored"
    elif len(kinds) > 1:
        fact = "its members are of several types"
    elif not kinds <= {"S", "N", "B"} or {"S": ""} in encoded or {"B": b""} in encoded:
        fact = "a set can only hold numbers, non-empty text or non-empty bytes"
    if fact is not None:
        raise ValueInvalid(scalars.show(members), fact, "Use None for no members, or a list.")  # pyright: ignore[reportUnknownArgumentType] - of anything
    (kind,) = kinds
    return {f"{kind}S": sorted(member[kind] for member in encoded)}


def encode_any(value: Any) -> AttributeValue:
    """Encode a value by its own type: for fields of type Any and free-form attributes.

    Raises ValueInvalid for a value that cannot be stored.
    """
    found = _BY_TYPE.get(value.__class__)
    if found is None:
        found = next(
            (each for kind, each in _BY_TYPE.items() if isinstance(value, kind)), _encode_other
        )
    return found(value)


def _encode_other(value: Any) -> AttributeValue:
    """Encode a value as pydantic does in JSON: a URL, an IP address or a path as its text."""
    try:
        plain = to_jsonable_python(value)
    except PydanticSerializationError:
        fact = f"a value of type {type(value).__name__} cannot be stored"
        raise ValueInvalid(scalars.show(value), fact, "") from None
    return encode_any(plain)


def encode_secret(value: Any, encode: Encode = encode_any) -> AttributeValue:
    """Encode what a pydantic secret hides, or such a value itself; its `repr` is masked."""
    is_hidden = isinstance(value, Secret | SecretBytes | SecretStr)
    try:
        return mask(encode(value.get_secret_value() if is_hidden else value))
    except ValueInvalid as error:
        raise ValueInvalid(MASKED, error.fact, error.advice) from None


def _encode_list(members: Any) -> AttributeValue:
    return encode_list_of(members, encode_any)


def _encode_set(members: Any) -> AttributeValue:
    return encode_set_of(members, encode_any)


_BY_TYPE: dict[type[Any], Encode] = {
    str: scalars.encode_text,
    bool: scalars.encode_bool,
    int: scalars.encode_int,
    Decimal: scalars.encode_decimal,
    float: scalars.encode_float,
    bytes: scalars.encode_bytes,
    bytearray: scalars.encode_bytes,
    type(None): scalars.encode_none,
    datetime: scalars.encode_datetime,
    date: scalars.encode_date,
    time: scalars.encode_time,
    timedelta: scalars.encode_timedelta,
    UUID: scalars.encode_uuid,
    Enum: lambda value: encode_any(value.value),
    list: _encode_list,
    tuple: _encode_list,
    set: _encode_set,
    frozenset: _encode_set,
    dict: lambda value: {"M": {check_name(name): encode_any(each) for name, each in value.items()}},
    SecretStr: encode_secret,
    SecretBytes: encode_secret,
    Secret: encode_secret,
    BaseModel: lambda value: encode_any(value.model_dump()),
    Placeholder: lambda value: {"S": str(value)},
}


def check_name(name: Any) -> str:
    """Return the name of a map member; raises ValueInvalid unless it is a non-empty str."""
    if not isinstance(name, str) or not name:
        raise ValueInvalid(scalars.show(name), "the keys of a map must be non-empty text", "")
    return str.__str__(name)


def decode_any(value: AttributeValue) -> Any:
    """Return the Python value of an attribute value, by its stored type."""
    ((kind, data),) = value.items()
    match kind:
        case "S" | "B" | "BOOL":
            return data
        case "N":
            return scalars.decode_number(data)
        case "NULL":
            return None
        case "L":
            return [decode_any(each) for each in data]
        case "M":
            return {name: decode_any(each) for name, each in data.items()}
        case "NS":
            return {scalars.decode_number(each) for each in data}
        case _:
            return set(data)
