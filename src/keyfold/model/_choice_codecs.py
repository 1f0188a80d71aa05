"""Codecs of enums, literals and unions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import SchemaValidator

from keyfold.errors import ValueInvalid
from keyfold.model._any_values import decode_any, encode_any
from keyfold.model._placeholders import Placeholder
from keyfold.model._undeclared import keep_in_model
from keyfold.model._value_codecs import Decode, TypeRefused, ValueCodec, take_placeholders
from keyfold.values import AttributeValue, Item

if TYPE_CHECKING:
    from keyfold.model._codecs import ModelCodec


def enum_codec(kind: type[Enum]) -> ValueCodec:
    """Return the codec of an enum, whose members are stored as their values; raises TypeRefused."""
    stored = [(_encode_option(member.value, str(member)), member) for member in kind]
    kinds = frozenset(each for value, _ in stored for each in value)
    # The usual case, and the fast path: a member of an enum of texts.
    is_text = all(member.value.__class__ is str for member in kind)

    def encode(value: Any) -> AttributeValue:
        if is_text and value.__class__ is kind:
            return {"S": value._value_}
        if isinstance(value, Placeholder):
            return {"S": str(value)}
        return encode_any((value if isinstance(value, kind) else kind(value)).value)

    return ValueCodec(encode, _decode_options(stored, find_values=True), kinds, python=kind)


def literal_codec(options: tuple[Any, ...]) -> ValueCodec:
    """Return the codec of a Literal; raises TypeRefused."""
    is_text = all(each.__class__ is str for each in options)

    def encode(value: Any) -> AttributeValue:
        if is_text and value.__class__ is str and value in options:
            return {"S": value}
        if isinstance(value, Placeholder):
            return {"S": str(value)}
        is_bool = isinstance(value, bool)  # True equals 1
        for each in options:
            if each == value and isinstance(each, bool) is is_bool:
                return encode_any(each)
        raise ValueError(value)

    stored = [(_encode_option(each, repr(each)), each) for each in options if each is not None]
    kinds = frozenset(kind for value, _ in stored for kind in value)
    return ValueCodec(encode, _decode_options(stored), kinds)


def _encode_option(value: Any, shown: str) -> AttributeValue:
    try:
        return encode_any(value)
    except ValueInvalid as error:
        raise TypeRefused(f"{shown} cannot be stored: {error.fact}") from None


def _decode_options(
    options: Sequence[tuple[AttributeValue, Any]], *, find_values: bool = False
) -> Decode | None:
    """Return a decoder that finds the option; None if pydantic finds it by its plain value.

    With `find_values`, the options are members of an enum, which pydantic finds by their values.
    Raises TypeRefused if two options are stored alike.
    """
    plain = [each.value if find_values else each for _, each in options]
    if all(each.__class__ in (str, int) for each in plain):
        return None
    known: dict[str, Any] = {}
    for stored, each in options:
        other = known.setdefault(repr(stored), each)
        if other is not each:
            raise TypeRefused(f"{each!r} and {other!r} cannot be told apart once stored")

    def decode(value: AttributeValue) -> Any:
        found = known.get(repr(value), known)
        return decode_any(value) if found is known else found

    return decode


# Unions.


def optional_codec(codec: ValueCodec) -> ValueCodec:
    """Return the codec of `X | None`."""
    encode, decode = codec.encode, codec.decode

    def encode_optional(value: Any) -> AttributeValue:
        return {"NULL": True} if value is None else encode(value)

    def decode_optional(value: AttributeValue) -> Any:
        assert decode is not None  # or this function would not be used
        return None if "NULL" in value else decode(value)

    return replace(
        codec, encode=encode_optional, decode=None if decode is None else decode_optional
    )


def union_codec(codecs: Sequence[ValueCodec]) -> ValueCodec:
    """Return the codec of a union.

    A value is encoded by the member of its class. A map is decoded as the model with most of its
    fields, and any other value by the only member that is stored as its type.
    """
    models = [codec.model for codec in codecs if codec.model is not None]
    others = [codec for codec in codecs if codec.model is None]
    if any(each.is_mapping for each in models) and sum("M" in each.kinds for each in codecs) > 1:
        raise TypeRefused(
            "a TypedDict cannot be told apart from another map. Use models or dataclasses instead"
        )
    decoders = _decoders_by_kind(others)

    def encode(value: Any) -> AttributeValue:
        for find in (_has_class, _is_instance):
            found = [codec for codec in codecs if find(codec, value)]
            if found:
                return _encode_by(found, value)
        return encode_any(value)

    def decode(value: AttributeValue) -> Any:
        ((kind, data),) = value.items()
        if kind == "M":
            made = _decode_model(models, data)
            if made is not None:
                return made
        return decoders.get(kind, decode_any)(value)

    is_open = any(not codec.kinds for codec in codecs)
    kinds = frozenset(kind for codec in codecs for kind in codec.kinds)
    return ValueCodec(
        take_placeholders(encode),
        decode if models or decoders else None,
        frozenset() if is_open else kinds,
        is_secret=any(codec.is_secret for codec in codecs),
        options=tuple(codecs),
    )


def _has_class(codec: ValueCodec, value: Any) -> bool:
    return codec.python is value.__class__


def _is_instance(codec: ValueCodec, value: Any) -> bool:
    return codec.python is not None and isinstance(value, codec.python)


def _encode_by(codecs: Sequence[ValueCodec], value: Any) -> AttributeValue:
    """Encode a value by the first codec that takes it, such as one of two lists."""
    *most, last = codecs
    for codec in most:
        try:
            return codec.encode(value)
        except (AttributeError, TypeError, ValueError):
            continue
    return last.encode(value)


def _decoders_by_kind(codecs: Sequence[ValueCodec]) -> dict[str, Decode]:
    if any(not codec.kinds for codec in codecs):
        return {}
    found: dict[str, list[Decode | None]] = {}
    for codec in codecs:
        for kind in codec.kinds:
            found.setdefault(kind, []).append(codec.decode)
    return {
        kind: decoders[0]
        for kind, decoders in found.items()
        if len(decoders) == 1 and decoders[0] is not None
    }


def _decode_model(models: Sequence[ModelCodec], item: Item) -> Any:
    found: list[tuple[int, Any]] = []
    for codec in models:
        try:
            made = _validator_of(codec.annotation).validate_python(
                codec.decode(item), strict=False, by_alias=False, by_name=True
            )
        except ValidationError:
            continue
        named = codec.with_current_names(item).keys() & codec.by_stored.keys()
        if codec.keeps_undeclared:
            keep_in_model(codec, item, made)
        found.append((len(named), made))
    return max(found, key=lambda each: each[0])[1] if found else None


@cache
def _validator_of(annotation: Any) -> SchemaValidator:
    found = getattr(annotation, "__pydantic_validator__", None)
    return found if isinstance(found, SchemaValidator) else TypeAdapter(annotation).validator  # pyright: ignore[reportReturnType] - of anything
