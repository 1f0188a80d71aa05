"""Detection of ambiguous unions, whose members cannot be told apart once stored.

For example, `UUID | str` stores both as text, which is read back as a str. Each member is checked
by encoding and decoding samples. DynamoDB has a single number type, so a Decimal without a
fraction may be read back as an equal int; any other value must be read back with its own type.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import Enum
from itertools import combinations
from numbers import Number
from typing import Annotated, Any, Literal, NewType, Union, get_args, get_origin
from uuid import UUID

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError

from keyfold.errors import KeyfoldError
from keyfold.keys import Ulid
from keyfold.model._any_values import decode_any
from keyfold.model._codecs import CodecRules, ModelCodec, annotate, codec_for

_SAMPLES: tuple[tuple[type[Any], tuple[Any, ...]], ...] = (
    (bool, (True,)),
    (int, (5,)),
    (float, (0.5,)),
    (Decimal, (Decimal(5), Decimal("0.5"))),
    (str, ("text",)),
    (bytes, (b"bytes",)),
    (datetime, (datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, 1, 2, 3, 4, tzinfo=UTC))),
    (date, (date(2024, 1, 1),)),
    (time, (time(1, 2, 3),)),
    (UUID, (UUID(int=1),)),
)


def find_ambiguities(
    annotation: Any, metadata: Sequence[Any], rules: CodecRules, seen: set[type[Any]] | None = None
) -> Iterator[str]:
    """Yield the problems of every union in an annotation, including nested ones."""
    seen = set() if seen is None else seen
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        yield from find_ambiguities(arguments[0], [*metadata, *arguments[1:]], rules, seen)
    elif isinstance(annotation, NewType):
        yield from find_ambiguities(annotation.__supertype__, metadata, rules, seen)
    elif not isinstance(annotation, type) and hasattr(annotation, "__value__"):
        yield from find_ambiguities(annotation.__value__, metadata, rules, seen)
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if annotation not in seen:
            seen.add(annotation)
            for info in annotation.__pydantic_fields__.values():
                yield from find_ambiguities(info.annotation, info.metadata, rules, seen)
    elif origin is not Literal:
        for each in arguments:
            yield from find_ambiguities(each, (), rules, seen)
        if origin in (Union, types.UnionType):
            yield from _find_in_union(annotation, metadata, rules)


def _find_in_union(annotation: Any, metadata: Sequence[Any], rules: CodecRules) -> Iterator[str]:
    options = [each for each in get_args(annotation) if each is not types.NoneType]
    if len(options) == 1:
        return
    codec = codec_for(annotation, metadata, rules)
    samples = [(option, each) for option in options for each in _samples_of(option)]
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(annotate(annotation, metadata))
        encoded = [(option, each, codec.encode(each)) for option, each in samples]
    except (KeyfoldError, PydanticSchemaGenerationError):
        # Pydantic or DynamoDB does not take the samples, though it may take other values.
        return
    if str in options:
        # A str that looks like a value of another member must still be read back as a str.
        texts = [value["S"] for _, _, value in encoded if "S" in value]
        encoded += [(str, text, {"S": text}) for text in texts]
    for option, each, value in encoded:
        found = _validate(adapter, (codec.decode or decode_any)(value))
        if found is not None and not _is_same(each, found):
            yield (
                f"the members of {_name(annotation)} cannot be told apart once stored: "
                f"{_name(option)} could be read back as {type(found).__name__}. Use only one of "
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


def _samples_of(option: Any) -> list[Any]:
    origin, arguments = get_origin(option), get_args(option)
    if origin is Annotated:
        return _samples_of(arguments[0])
    if isinstance(option, NewType):
        return _samples_of(option.__supertype__)
    if origin is Literal:
        return [*arguments]
    if origin is not None:
        return _collections_of(origin, arguments)
    if not isinstance(option, type):
        return []
    if issubclass(option, Enum):
        return [*option]
    if issubclass(option, Ulid):
        return [option.at(datetime(2024, 1, 1, tzinfo=UTC))]
    for kind, samples in _SAMPLES:
        if option is kind:
            return [*samples]
    return []


def _collections_of(origin: Any, arguments: tuple[Any, ...]) -> list[Any]:
    members = _samples_of(arguments[0]) if arguments else []
    if not members:
        return []
    if origin in (list, Sequence):
        return [members]
    if origin is tuple:
        return [tuple(members)] if arguments[-1] is Ellipsis else []
    if origin in (set, frozenset):
        return [origin(members)]
    if origin in (dict, Mapping):
        values = _samples_of(arguments[1])
        return [{members[0]: values[0]}] if values else []
    return []


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


def _name(annotation: Any) -> str:
    if annotation is types.NoneType:
        return "None"
    if isinstance(annotation, type) and get_origin(annotation) is None:
        return annotation.__name__
    if get_origin(annotation) in (Union, types.UnionType):
        return " | ".join(map(_name, get_args(annotation)))
    return str(annotation).replace("typing.", "")
