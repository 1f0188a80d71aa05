"""Detection of ambiguous unions, whose members cannot be told apart once stored.

For example, `UUID | str` stores both as text, which is read back as a str. Each member is checked
by encoding and decoding samples. DynamoDB has a single number type, so a Decimal without a
fraction may be read back as an equal int; any other value must be read back with its own type.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Sequence
from contextlib import suppress
from enum import Enum
from itertools import combinations
from numbers import Number
from typing import Annotated, Any, Literal, NewType, Union, get_args, get_origin

from pydantic import JsonValue, TypeAdapter, ValidationError

from keyfold.errors import KeyfoldError
from keyfold.model._any_values import decode_any
from keyfold.model._codecs import ModelCodec, annotate
from keyfold.model._field_codecs import CodecRules, codec_for
from keyfold.model._own_codecs import find_own_codec
from keyfold.model._records import is_alias, read_alias, read_record
from keyfold.model._samples import guess_samples, samples_of
from keyfold.model._serialised_codecs import find_custom_codec, is_custom, make_adapter
from keyfold.model._type_names import name_type
from keyfold.model._value_codecs import TypeRefused


def find_ambiguities(annotation: Any, metadata: Sequence[Any], rules: CodecRules) -> Iterator[str]:
    """Yield the problems of every union in an annotation, including nested ones."""
    with suppress(TypeRefused):  # that is reported with the field
        yield from _find(annotation, metadata, rules, set())


def _find(
    annotation: Any, metadata: Sequence[Any], rules: CodecRules, seen: set[Any]
) -> Iterator[str]:
    if find_own_codec(metadata) is not None or (
        is_custom(metadata) and find_custom_codec(annotate(annotation, metadata)) is not None
    ):
        return  # the user says how it is stored
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        yield from _find(arguments[0], [*arguments[1:], *metadata], rules, seen)
    elif isinstance(annotation, NewType):
        yield from _find(annotation.__supertype__, metadata, rules, seen)
    elif is_alias(annotation):
        if annotation is not JsonValue and annotation not in seen:
            seen.add(annotation)
            yield from _find(read_alias(annotation), metadata, rules, seen)
    elif (record := read_record(annotation)) is not None:
        if annotation not in seen:
            seen.add(annotation)
            for info in record.fields.values():
                yield from _find(info.annotation, info.metadata, rules, seen)
    elif origin is not Literal:
        for each in arguments:
            yield from _find(each, (), rules, seen)
        if origin in (Union, types.UnionType):
            yield from _find_in_union(annotation, metadata, rules)


def _find_in_union(annotation: Any, metadata: Sequence[Any], rules: CodecRules) -> Iterator[str]:
    options = [each for each in get_args(annotation) if each is not types.NoneType]
    if len(options) == 1:
        return
    codec = codec_for(annotation, metadata, rules)
    samples = [(option, each) for option in options for each in _samples_of_member(option, rules)]
    try:
        adapter = make_adapter(annotate(annotation, metadata))
        encoded = [(option, each, codec.encode(each)) for option, each in samples]
    except KeyfoldError:
        # DynamoDB does not take the samples, though it may take other values.
        return
    if str in options:
        # A str that looks like a value of another member must still be read back as a str.
        texts = [value["S"] for _, _, value in encoded if "S" in value]
        encoded += [(str, text, {"S": text}) for text in texts]
    for option, each, value in encoded:
        found = _validate(adapter, (codec.decode or decode_any)(value))
        if found is not None and not _is_same(each, found):
            yield (
                f"the members of {name_type(annotation)} cannot be told apart once stored: "
                f"{name_type(option)} could be read back as {type(found).__name__}. Use only one of "
                "them."
            )
            return
    codecs = [codec_for(option, rules=rules) for option in options]
    models = [each.model for each in codecs if each.model is not None]
    for one, other in combinations(models, 2):
        if not _are_distinguishable(one, other):
            yield (
                f"{one.model.__name__} and {other.model.__name__} cannot be told apart once "
                "stored. Give each a Literal field that says which one it is."
            )
            return


def _samples_of_member(option: Any, rules: CodecRules) -> list[Any]:
    found = samples_of(option)
    if found or codec_for(option, rules=rules).kinds != frozenset({"S"}):
        return found
    return guess_samples(make_adapter(option))


def _validate(adapter: TypeAdapter[Any], raw: Any) -> Any:
    try:
        return adapter.validate_python(raw, strict=False)
    except ValidationError:
        # The field's constraints exclude the sample, so it proves nothing.
        return None


def _is_same(one: Any, other: Any) -> bool:
    are_numbers = all(isinstance(each, Number) for each in (one, other))
    is_like = type(one) is type(other) or (are_numbers and not isinstance(one, bool | Enum))
    return is_like and one == other


def _are_distinguishable(one: ModelCodec, other: ModelCodec) -> bool:
    """Return whether no map fits both models.

    That is so if one requires a field that the other does not have, or if they store a field of
    the same name with different types or literals.
    """
    for mine, theirs in ((one, other), (other, one)):
        if any(
            each.is_needed and stored not in theirs.by_stored
            for stored, each in mine.by_stored.items()
        ):
            return True
    for stored, each in one.by_stored.items():
        counterpart = other.by_stored.get(stored)
        if counterpart is None or not (each.is_always_stored and counterpart.is_always_stored):
            continue
        kinds = each.codec.kinds, counterpart.codec.kinds
        if all(kinds) and not kinds[0] & kinds[1]:
            return True
        literals = _literals_of(each.annotation), _literals_of(counterpart.annotation)
        if all(literals) and not literals[0] & literals[1]:
            return True
    return False


def _literals_of(annotation: Any) -> set[Any]:
    return set(get_args(annotation)) if get_origin(annotation) is Literal else set()
