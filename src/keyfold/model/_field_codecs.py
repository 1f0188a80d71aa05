"""Codecs by annotation: how the values of a field are converted to attribute values, and back.

Encoding depends on the field's type and is compiled once. Decoding depends on the stored type,
since pydantic validates the result anyway. Only the field names of nested models, and values that
pydantic would read as another type, need a decoder for the field's type.
"""

from __future__ import annotations

import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import (
    Callable,
    Mapping,
    MutableMapping,
    MutableSequence,
    MutableSet,
    Sequence,
)
from collections.abc import Set as AbstractSet
from contextvars import ContextVar
from dataclasses import dataclass, replace
from enum import Enum
from re import Pattern
from typing import (
    Annotated,
    Any,
    ForwardRef,
    Literal,
    NewType,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
)

from pydantic import BaseModel, InstanceOf, JsonValue, RootModel, Secret, SecretBytes, SecretStr
from pydantic.fields import FieldInfo
from pydantic.types import PathType

from keyfold.keys._annotations import find_type
from keyfold.model._any_values import decode_any, encode_any, encode_secret
from keyfold.model._choice_codecs import enum_codec, literal_codec, optional_codec, union_codec
from keyfold.model._codecs import ModelCodec, StoredField, accepts_none, annotate
from keyfold.model._collection_codecs import list_codec, map_codec, set_codec, tuple_codec
from keyfold.model._field_serializers import find_field_codec
from keyfold.model._fields import Expires, Stored, UnixSeconds
from keyfold.model._own_codecs import find_own_codec, own_codec
from keyfold.model._placeholders import Placeholder
from keyfold.model._records import RecordType, is_alias, read_alias, read_record
from keyfold.model._scalar_codecs import EXPIRY, JSON_VALUE, SECONDS, scalar_codec
from keyfold.model._serialised_codecs import find_custom_codec, is_custom, other_codec
from keyfold.model._type_names import name_type
from keyfold.model._value_codecs import TypeRefused, ValueCodec, take_placeholders
from keyfold.values import AttributeValue


@dataclass(frozen=True, slots=True)
class CodecRules:
    """Options of codecs: how to name the attributes of nested fields."""

    name_of: Callable[[str], str]


def as_written(name: str) -> str:
    """Return the field name unchanged: the default rule for attribute names."""
    return name


# To type checkers, it is an Annotated.
_INSTANCE_OF: type[Any] = cast(Any, InstanceOf)
_DEFAULT_RULES = CodecRules(as_written)
_ANY = ValueCodec(encode_any)

_LISTS: dict[Any, type[Any]] = {
    list: list, tuple: tuple, deque: deque, Sequence: list, MutableSequence: list,
}  # fmt: skip
_SETS: dict[Any, type[Any]] = {
    set: set, frozenset: frozenset, AbstractSet: frozenset, MutableSet: set,
}  # fmt: skip
_MAPS = frozenset({dict, Mapping, MutableMapping, defaultdict, Counter})
_CONTAINERS = frozenset({*_LISTS, *_SETS, *_MAPS})
_REFUSED: dict[Any, str] = {
    OrderedDict: "DynamoDB does not keep the order of a map. Use a dict, or a list of pairs",
    Pattern: "the text of a pattern does not have its flags. Use str, or attr(codec=Codec(…))",
}


def codec_for(
    annotation: Any, metadata: Sequence[Any] = (), rules: CodecRules = _DEFAULT_RULES
) -> ValueCodec:
    """Return the codec of a field with this annotation and metadata; raises TypeRefused."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return codec_for(arguments[0], [*arguments[1:], *metadata], rules)
    found = _codec_by_metadata(annotation, metadata)
    if found is not None:
        return found
    if isinstance(annotation, NewType):
        return codec_for(annotation.__supertype__, metadata, rules)
    if is_alias(annotation):
        return _alias_codec(annotation, metadata, rules)
    if isinstance(annotation, str):
        return _recursive_codec(annotation)
    if isinstance(annotation, ForwardRef):
        return _recursive_codec(annotation.__forward_arg__)
    if isinstance(annotation, TypeVar):
        return _ANY if annotation.__bound__ is None else codec_for(annotation.__bound__)
    if origin in (Union, types.UnionType):
        return _union_codec(arguments, rules)
    if origin is Literal:
        return literal_codec(arguments)
    if annotation in (Any, object):
        return _ANY
    return _container_codec(annotation, rules) or _class_codec(annotation, rules)


def _codec_by_metadata(annotation: Any, metadata: Sequence[Any]) -> ValueCodec | None:
    """Return the codec that the metadata of a field demands; None if the type decides."""
    own = find_own_codec(metadata)
    if own is not None:
        found = own_codec(own, _find_class(annotation))
        return optional_codec(found) if accepts_none(annotation) else found
    marks: set[type[Any]] = {type(each) for each in metadata}
    if Expires in marks:
        return EXPIRY
    if UnixSeconds in marks:
        return SECONDS
    if PathType in marks:
        raise TypeRefused(
            "whether a file exists depends on the machine and the moment, so a stored path might "
            "not be read back. Use Path"
        )
    if _INSTANCE_OF in marks:
        raise TypeRefused(
            f"{name_type(annotation)} is stored as plain values, which are not accepted where only an "
            "instance is. Use the type without InstanceOf, or declare it with attr(codec=Codec(…))"
        )
    return find_custom_codec(annotate(annotation, metadata)) if is_custom(metadata) else None


def _find_class(annotation: Any) -> type[Any] | None:
    kind = find_type(annotation)
    kind = get_origin(kind) or kind
    return kind if isinstance(kind, type) else None


# The type aliases whose codecs are being made, each with its codec once that is known.
_OpenAliases = list[tuple[Any, list[ValueCodec]]]
_open_aliases: ContextVar[_OpenAliases] = ContextVar("open_aliases", default=[])  # noqa: B039 - never changed


def _alias_codec(annotation: Any, metadata: Sequence[Any], rules: CodecRules) -> ValueCodec:
    if annotation is JsonValue:
        return JSON_VALUE
    opened = _open_aliases.get()
    for alias, made in opened:
        if alias is annotation:
            return _deferred_codec(made)
    made: list[ValueCodec] = []
    token = _open_aliases.set([*opened, (annotation, made)])
    try:
        made.append(codec_for(read_alias(annotation), metadata, rules))
    finally:
        _open_aliases.reset(token)
    return made[0]


def _recursive_codec(name: str) -> ValueCodec:
    """Return the codec of an alias that is named inside itself."""
    for alias, made in _open_aliases.get():
        if alias.__name__ == name:
            return _deferred_codec(made)
    raise TypeRefused(f"{name!r} is not known here. Declare it as a model")


def _deferred_codec(made: list[ValueCodec]) -> ValueCodec:
    """Return a codec that uses another one, which is in the list by the time of its first use."""

    def encode(value: Any) -> AttributeValue:
        return made[0].encode(value)

    def decode(value: AttributeValue) -> Any:
        codec = made[0]
        return (codec.decode or decode_any)(value)

    return ValueCodec(encode, decode)


def _union_codec(options: tuple[Any, ...], rules: CodecRules) -> ValueCodec:
    given = [option for option in options if option is not type(None)]
    codecs = [codec_for(option, rules=rules) for option in given]
    return optional_codec(codecs[0] if len(codecs) == 1 else union_codec(codecs))


def _container_codec(annotation: Any, rules: CodecRules) -> ValueCodec | None:
    origin, arguments = get_origin(annotation), get_args(annotation)
    kind = origin or annotation
    if kind in _REFUSED:
        raise TypeRefused(_REFUSED[kind])
    is_fixed = kind is tuple and origin is not None and arguments[-1:] != (Ellipsis,)
    if is_fixed:
        return tuple_codec([codec_for(each, rules=rules) for each in arguments])
    if kind not in _CONTAINERS:
        return None
    members = [codec_for(each, rules=rules) for each in arguments if each is not Ellipsis]
    member = members[-1] if members else _ANY
    if kind in _LISTS:
        return list_codec(member, _LISTS[kind])
    if kind in _SETS:
        return set_codec(member, _SETS[kind])
    if kind is Counter:
        member = codec_for(int)
    if arguments and accepts_none(arguments[0]) and arguments[0] is not Any:
        raise TypeRefused("the keys of a map are attribute names, so None cannot be one")
    key = members[0] if members else _ANY
    return map_codec(key, member, name_type(arguments[0]) if arguments else "")


def _class_codec(annotation: Any, rules: CodecRules) -> ValueCodec:
    origin = get_origin(annotation)
    if origin is None and isinstance(annotation, type):
        if issubclass(annotation, SecretStr | SecretBytes):
            return _secret_codec(annotation, bytes if issubclass(annotation, SecretBytes) else str)
        if issubclass(annotation, Enum):
            return enum_codec(annotation)
        found = scalar_codec(annotation)
        if found is not None:
            return found
        if issubclass(annotation, BaseModel) and RootModel in annotation.__mro__:
            return find_custom_codec(annotation) or _root_codec(annotation, rules)
    if origin is Secret:
        return _secret_codec(Secret, get_args(annotation)[0])
    record = read_record(annotation)
    if record is None:
        return other_codec(annotation)
    custom = find_custom_codec(annotation) if _has_serializers(record) else None
    return custom or _record_codec(record, annotation, rules)


def _secret_codec(python: type[Any], hidden: Any) -> ValueCodec:
    inner = codec_for(hidden)
    return ValueCodec(
        take_placeholders(lambda value: encode_secret(value, inner.encode)),
        inner.decode,
        inner.kinds,
        python=python,
        is_secret=True,
    )


def _has_serializers(record: RecordType) -> bool:
    decorators = getattr(record.python, "__pydantic_decorators__", None)
    return decorators is not None and bool(decorators.model_serializers)


def _record_codec(record: RecordType, annotation: Any, rules: CodecRules) -> ValueCodec:
    codec = model_codec(annotation, rules.name_of, record)
    python = dict if record.is_mapping else record.python

    def encode(value: Any) -> AttributeValue:
        if not isinstance(value, python):
            if isinstance(value, Placeholder):
                return {"S": str(value)}
            raise TypeError(value)
        return {"M": codec.encode(value)}

    def decode(value: AttributeValue) -> Any:
        return codec.decode(value["M"]) if "M" in value else decode_any(value)

    return ValueCodec(encode, decode, frozenset({"M"}), model=codec, python=python)


def _root_codec(model: type[BaseModel], rules: CodecRules) -> ValueCodec:
    inner = read_fields(model, rules.name_of)[0].codec
    encode = take_placeholders(lambda value: inner.encode(value.root))
    return replace(inner, encode=encode, python=model)


_MODELS: dict[tuple[Any, Callable[[str], str]], ModelCodec] = {}


def model_codec(
    annotation: Any, name_of: Callable[[str], str], record: RecordType | None = None
) -> ModelCodec:
    """Return the codec of a model or another record; raises TypeRefused.

    `name_of` makes attribute names from field names.
    """
    record = record or read_record(annotation)
    assert record is not None  # callers have a model or a record
    key = (annotation, name_of)
    codec = _MODELS.get(key)
    if codec is not None:
        return codec
    # Cached before its fields are read, since a model may contain itself.
    codec = _MODELS[key] = ModelCodec(
        record.python,
        {},
        {},
        record.has_extra,
        annotation=annotation,
        is_mapping=record.is_mapping,
        optional=record.optional,
        keeps_undeclared=not record.is_mapping and record.python.__dictoffset__ != 0,
    )
    try:
        for name, info in record.fields.items():
            each = _read_field(record.python, name, info, name_of)
            codec.add(replace(each, is_optional_key=name in record.optional))
    except BaseException:
        del _MODELS[key]
        raise
    return codec


def read_fields(
    model: type[BaseModel],
    name_of: Callable[[str], str] = as_written,
    problems: list[str] | None = None,
) -> list[StoredField]:
    """Return the fields of a model, without computed ones; `name_of` is the table's naming rule.

    A field that cannot be stored is added to `problems`, or raises TypeRefused without them.
    """
    found: list[StoredField] = []
    for name, info in model.__pydantic_fields__.items():
        try:
            each = _read_field(model, name, info, name_of)
        except TypeRefused as error:
            if problems is None:
                raise
            problems.append(f"{error}.")
            each = _make_field(name, info, name_of, _ANY)
        found.append(each)
    return found


def _read_field(
    owner: type[Any], name: str, info: FieldInfo, name_of: Callable[[str], str]
) -> StoredField:
    try:
        codec = find_field_codec(owner, name, info)
        codec = codec or codec_for(info.annotation, info.metadata, CodecRules(name_of))
    except TypeRefused as error:
        raise TypeRefused(f"{owner.__name__}.{name}: {error}") from None
    return _make_field(name, info, name_of, codec)


def _make_field(
    name: str, info: FieldInfo, name_of: Callable[[str], str], codec: ValueCodec
) -> StoredField:
    stored = next((each for each in info.metadata if isinstance(each, Stored)), Stored())
    return StoredField(
        name=name,
        stored=stored.name or name_of(name),
        codec=codec,
        annotation=info.annotation,
        metadata=tuple(info.metadata),
        is_part=stored.is_part,
        is_required=info.is_required(),
        accepts_none=accepts_none(info.annotation),
        former=stored.former,
    )
