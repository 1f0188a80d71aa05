"""Codecs of lists, tuples, sets and maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keyfold.model import _scalars as scalars
from keyfold.model._any_values import Encode, check_name, decode_any, encode_list_of, encode_set_of
from keyfold.model._placeholders import Placeholder
from keyfold.model._value_codecs import SETS, TypeRefused, ValueCodec, take_placeholders
from keyfold.values import AttributeValue

_LIST, _MAP = frozenset({"L"}), frozenset({"M"})
_BOOLEANS = {"true": True, "false": False}


def list_codec(member: ValueCodec, python: type[Any]) -> ValueCodec:
    """Return the codec of a list, a tuple of any length, or a deque."""
    encode, decode = _encode_member(member), member.decode

    def decode_list(value: AttributeValue) -> Any:
        assert decode is not None  # or this function would not be used
        return [decode(each) for each in value["L"]] if "L" in value else decode_any(value)

    return ValueCodec(
        lambda value: encode_list_of(value, encode),
        None if decode is None else decode_list,
        _LIST,
        members=member,
        python=python,
    )


def tuple_codec(members: Sequence[ValueCodec]) -> ValueCodec:
    """Return the codec of a tuple with a type for each member."""
    encoders = [_encode_member(each) for each in members]

    def encode(value: Any) -> AttributeValue:
        pairs = zip(encoders, value, strict=True)
        return {"L": [encode_one(each) for encode_one, each in pairs]}

    def decode(value: AttributeValue) -> Any:
        stored = value.get("L")
        if stored is None or len(stored) != len(members):
            return decode_any(value)
        pairs = zip(members, stored, strict=True)
        return [(codec.decode or decode_any)(each) for codec, each in pairs]

    return ValueCodec(
        take_placeholders(encode), decode, _LIST, python=tuple, positions=tuple(members)
    )


def set_codec(member: ValueCodec, python: type[Any]) -> ValueCodec:
    """Return the codec of a set: a DynamoDB set of text, numbers or bytes, otherwise a list."""
    decode = member.decode
    if len(member.kinds) != 1 or not member.kinds <= {"S", "N", "B"}:
        return _listed_set_codec(member, python)
    (kind,) = member.kinds

    def decode_set(value: AttributeValue) -> Any:
        assert decode is not None  # or this function would not be used
        ((stored, data),) = value.items()
        if stored not in SETS:
            return decode_any(value)
        return {decode({stored[0]: each}) for each in data}

    return ValueCodec(
        lambda value: encode_set_of(value, member.encode),
        None if decode is None else decode_set,
        frozenset({f"{kind}S"}),
        members=member,
        python=python,
        is_secret=member.is_secret,
    )


def _listed_set_codec(member: ValueCodec, python: type[Any]) -> ValueCodec:
    listed = list_codec(member, python)
    encode_one = _encode_member(member)

    def encode(value: Any) -> AttributeValue:
        if not isinstance(value, set | frozenset):
            raise TypeError(value)
        # In a fixed order, so that equal sets are stored as equal lists.
        return {"L": sorted(map(encode_one, value), key=repr)}  # pyright: ignore[reportUnknownArgumentType] - of anything

    return ValueCodec(
        take_placeholders(encode), listed.decode, _LIST, members=member, python=python
    )


def map_codec(key: ValueCodec, member: ValueCodec, key_name: str) -> ValueCodec:
    """Return the codec of a map whose keys are stored as attribute names; raises TypeRefused."""
    encode, decode = _encode_member(member), member.decode or decode_any
    kind = _find_key_kind(key, key_name)

    def encode_name(name: Any) -> str:
        ((stored, text),) = key.encode(name).items()
        match stored:
            case "S" | "N":
                return check_name(text)
            case "BOOL" if kind == "BOOL":
                return "true" if text else "false"
            case _:
                return check_name(name)

    def decode_name(name: str) -> Any:
        if key.decode is not None:
            return key.decode({kind: name})
        if kind == "N":
            return scalars.decode_number(name)
        return _BOOLEANS.get(name, name) if kind == "BOOL" else name

    def encode_map(value: Any) -> AttributeValue:
        if isinstance(value, Placeholder):
            return {"S": str(value)}
        return {"M": {encode_name(name): encode(each) for name, each in value.items()}}

    def decode_map(value: AttributeValue) -> Any:
        if "M" not in value:
            return decode_any(value)
        return {decode_name(name): decode(each) for name, each in value["M"].items()}

    is_plain = member.decode is None and kind == "S" and key.decode is None
    return ValueCodec(
        encode_map,
        None if is_plain else decode_map,
        _MAP,
        members=member,
        python=dict,
    )


def _find_key_kind(key: ValueCodec, name: str) -> str:
    if not key.kinds:
        return "S"  # Any: checked when a map is written
    if key.is_secret:
        raise TypeRefused(
            "the keys of a map are attribute names, which are shown. Use a str, not a secret"
        )
    if len(key.kinds) != 1 or not key.kinds <= {"S", "N", "BOOL"}:
        raise TypeRefused(
            f"the keys of a map are attribute names, and {name} has no single text for each "
            "value. Use str, int, an enum or another type that is stored as text or as a number"
        )
    return next(iter(key.kinds))


def _encode_member(member: ValueCodec) -> Encode:
    """Return the encoder of a member; an empty set, which DynamoDB lacks, becomes an empty list."""
    encode = member.encode
    if not member.kinds or not member.kinds <= SETS:
        return encode

    def encode_set(value: Any) -> AttributeValue:
        is_empty = not isinstance(value, Placeholder) and value is not None and not value
        return {"L": []} if is_empty else encode(value)

    return encode_set
