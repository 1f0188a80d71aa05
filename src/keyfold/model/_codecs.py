"""Codecs: conversion of field values to DynamoDB attribute values, and back.

Encoding depends on the field's type and is compiled once. Decoding depends on the stored type,
since pydantic validates the result anyway. Only the field names of nested models, and values that
pydantic would read as another type, need a decoder for the field's type.

None is not stored, nor is an empty set, which DynamoDB does not support. A missing attribute is
therefore read as None if the field accepts None, and as an empty set if the field is a set.
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
from dataclasses import dataclass, field
from enum import Enum
from re import Pattern
from typing import Annotated, Any, Literal, NewType, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, RootModel, Secret, SecretBytes, SecretStr
from pydantic.fields import FieldInfo
from pydantic.types import PathType

from keyfold.errors import ValueInvalid
from keyfold.keys._annotations import find_type
from keyfold.model._any_values import decode_any, encode_any, encode_secret
from keyfold.model._choice_codecs import enum_codec, literal_codec, optional_codec, union_codec
from keyfold.model._collection_codecs import list_codec, map_codec, set_codec, tuple_codec
from keyfold.model._field_serializers import find_field_codec
from keyfold.model._fields import Expires, Stored, UnixSeconds
from keyfold.model._own_codecs import find_own_codec, own_codec
from keyfold.model._placeholders import Placeholder
from keyfold.model._records import RecordType, fill_in, read_record
from keyfold.model._scalar_codecs import EXPIRY, SECONDS, scalar_codec
from keyfold.model._serialised_codecs import find_custom_codec, is_custom, other_codec
from keyfold.model._type_names import name_type
from keyfold.model._undeclared import UNDECLARED, add_undeclared
from keyfold.model._value_codecs import SETS, TypeRefused, ValueCodec, take_placeholders
from keyfold.values import AttributeValue, Item


@dataclass(frozen=True, slots=True)
class StoredField:
    """A field of a model: its Python name, its attribute name (`stored`), and its codec."""

    name: str
    stored: str
    codec: ValueCodec
    annotation: Any
    metadata: tuple[Any, ...]
    is_part: bool
    is_required: bool
    accepts_none: bool
    # Former attribute names, the newest first.
    former: tuple[str, ...] = ()

    def find(self, item: Mapping[str, AttributeValue]) -> AttributeValue | None:
        """Return the field's value in an item, under its current name or a former one."""
        value = item.get(self.stored)
        if value is None and self.former:
            return next((item[name] for name in self.former if name in item), None)
        return value

    @property
    def is_set(self) -> bool:
        """Whether the field is a set, which is not stored while it is empty."""
        return bool(self.codec.kinds) and self.codec.kinds <= SETS and not self.accepts_none

    @property
    def is_always_stored(self) -> bool:
        """Whether every item that is written has the attribute."""
        return not self.accepts_none and not self.is_set

    @property
    def is_needed(self) -> bool:
        """Whether an item without the attribute fails validation."""
        return self.is_required and self.is_always_stored

    @property
    def is_text(self) -> bool:
        """Whether the field is a str."""
        return find_type(self.annotation) is str

    @property
    def takes_any_text(self) -> bool:
        """Whether the field is a str without constraints or validators."""
        return self.is_text and all(isinstance(each, Stored) for each in self.metadata)

    @property
    def whole_annotation(self) -> Any:
        """The annotation with its metadata, as `Annotated`."""
        return annotate(self.annotation, self.metadata)

    @property
    def type_name(self) -> str:
        """The name of the field's type, for messages."""
        kind = find_type(self.annotation)
        return kind.__name__ if isinstance(kind, type) else str(kind)

    def has_mark(self, mark: type) -> bool:
        """Return whether the field's type has a marker, as Version and Expiry have."""
        return _has_mark(self.annotation, self.metadata, mark)


@dataclass(frozen=True, slots=True)
class ModelCodec:
    """How a model, or another record, is encoded as a map and decoded from it.

    `model` is its class, and `annotation` is what was declared, as `Box[int]`. A TypedDict is a
    mapping; `optional` are the keys that it may lack.
    """

    model: type[Any]
    fields: dict[str, StoredField]
    by_stored: dict[str, StoredField]
    has_extra: bool
    # Fields whose attribute may be missing: True if that means an empty set, False for None.
    absent: dict[str, bool] = field(default_factory=dict[str, bool])
    # Fields with former attribute names.
    renamed: list[StoredField] = field(default_factory=list[StoredField])
    annotation: Any = None
    is_mapping: bool = False
    optional: frozenset[str] = frozenset()

    @property
    def keeps_undeclared(self) -> bool:
        """Whether instances can carry attributes that the model does not declare."""
        return not self.is_mapping and self.model.__dictoffset__ != 0

    def add(self, each: StoredField) -> None:
        """Add a field."""
        self.fields[each.name] = each
        if not each.is_part:
            self.by_stored[each.stored] = each
            if (each.accepts_none or each.is_set) and each.name not in self.optional:
                self.absent[each.name] = each.is_set
            if each.former:
                self.renamed.append(each)

    def encode(self, value: Any) -> Item:
        """Return the attributes of an instance of the model."""
        if self.is_mapping:
            return self._encode_mapping(value)
        item: Item = {}
        for name, each in self.fields.items():
            held = getattr(value, name)
            if held is None or (each.is_set and held.__class__ is not Placeholder and not held):
                continue
            item[each.stored] = each.codec.encode(held)
        if self.has_extra:
            self.encode_extra(value, item, frozenset(), self.model.__name__)
        elif self.keeps_undeclared and UNDECLARED in value.__dict__:
            add_undeclared(value, item, self.by_stored)
        return item

    def _encode_mapping(self, value: Mapping[str, Any]) -> Item:
        item: Item = {}
        for name, held in value.items():
            each = self.fields.get(name)
            if each is None:
                if not self.has_extra:
                    raise ValueError(name)
                item[name] = encode_any(held)
            elif name in self.optional:
                # A key that is absent is not a key without a value.
                item[each.stored] = _encode_present(each, held)
            elif held is not None and (held or not each.is_set):
                item[each.stored] = each.codec.encode(held)
        return item

    def encode_extra(
        self, value: BaseModel, item: Item, reserved: frozenset[str], owner: str
    ) -> None:
        """Add the free-form attributes of a value to its item.

        Raises ValueInvalid if one has the name of a field's attribute, or a reserved name.
        """
        for name, held in (value.model_extra or {}).items():
            if name in self.by_stored or name in reserved:
                fact = "another value is stored under that name"
                raise ValueInvalid(f"{owner}.{name}", fact, "Use another name.")
            item[name] = encode_any(held)

    def decode(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """Return the field values of an item, for pydantic to validate."""
        raw: dict[str, Any] = {}
        known = self.by_stored
        if self.renamed:
            item = self.with_current_names(item)
        for stored, value in item.items():
            each = known.get(stored)
            if each is not None:
                decode = each.codec.decode
                raw[each.name] = decode_any(value) if decode is None else decode(value)
            elif self.has_extra and stored not in self.fields:
                raw[stored] = decode_any(value)
        self.fill(raw)
        return raw

    def with_current_names(
        self, item: Mapping[str, AttributeValue]
    ) -> Mapping[str, AttributeValue]:
        """Return an item without former attribute names; the item itself if it has none.

        If an item has several names of an attribute, the current one counts, or else the newest.
        """
        renamed: Item | None = None
        for each in self.renamed:
            for former in each.former:
                if former in item:
                    renamed = dict(item) if renamed is None else renamed
                    renamed.setdefault(each.stored, renamed.pop(former))
        return item if renamed is None else renamed

    def fill(self, raw: dict[str, Any]) -> None:
        """Add None or an empty set for each field whose attribute is missing."""
        for name, is_set in self.absent.items():
            if name not in raw:
                raw[name] = set[Any]() if is_set else None


def _encode_present(each: StoredField, held: Any) -> AttributeValue:
    if held is None:
        return {"NULL": True}
    return {"L": []} if each.is_set and not held else each.codec.encode(held)


# Codecs by annotation.


@dataclass(frozen=True, slots=True)
class CodecRules:
    """Options of codecs: how to name the attributes of nested fields."""

    name_of: Callable[[str], str]


def annotate(annotation: Any, metadata: Sequence[Any]) -> Any:
    """Return an annotation with its metadata, as `Annotated` if there is any."""
    return Annotated[annotation, *metadata] if metadata else annotation


def as_written(name: str) -> str:
    """Return the field name unchanged: the default rule for attribute names."""
    return name


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
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return codec_for(arguments[0], [*arguments[1:], *metadata], rules)
    if is_custom(metadata):
        found = find_custom_codec(annotate(annotation, metadata))
        if found is not None:
            return found
    if isinstance(annotation, NewType):
        return codec_for(annotation.__supertype__, metadata, rules)
    if not isinstance(annotation, type) and hasattr(annotation, "__value__"):
        return codec_for(_read_alias(annotation), metadata, rules)
    if isinstance(annotation, TypeVar):
        return _ANY if annotation.__bound__ is None else codec_for(annotation.__bound__)
    if origin in (Union, types.UnionType):
        return _union_codec(arguments, rules)
    if origin is Literal:
        return literal_codec(arguments)
    if annotation in (Any, object):
        return _ANY
    return _container_codec(annotation, rules) or _class_codec(annotation, rules)


def _find_class(annotation: Any) -> type[Any] | None:
    kind = find_type(annotation)
    kind = get_origin(kind) or kind
    return kind if isinstance(kind, type) else None


def _read_alias(annotation: Any) -> Any:
    """Return what a type alias stands for; `Pair[int]` is an alias with type arguments."""
    values = dict(zip(annotation.__type_params__, get_args(annotation), strict=False))
    return fill_in(annotation.__value__, values)


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
            raise TypeError(value)
        return {"M": codec.encode(value)}

    def decode(value: AttributeValue) -> Any:
        return codec.decode(value["M"]) if "M" in value else decode_any(value)

    return ValueCodec(
        take_placeholders(encode), decode, frozenset({"M"}), model=codec, python=python
    )


def _root_codec(model: type[BaseModel], rules: CodecRules) -> ValueCodec:
    inner = read_fields(model, rules.name_of)[0].codec
    return ValueCodec(
        take_placeholders(lambda value: inner.encode(value.root)),
        inner.decode,
        inner.kinds,
        inner.members,
        inner.model,
        model,
        inner.is_secret,
    )


_MODELS: dict[tuple[Any, Callable[[str], str]], ModelCodec] = {}


def model_codec(
    annotation: Any, name_of: Callable[[str], str], record: RecordType | None = None
) -> ModelCodec:
    """Return the codec of a model or another record; raises TypeRefused.

    `name_of` makes attribute names from field names.
    """
    codec = _MODELS.get((annotation, name_of))
    if codec is not None:
        return codec
    record = record or read_record(annotation)
    assert record is not None  # callers have a model or a record
    # Cached before its fields are read, since a model may contain itself.
    codec = _MODELS[annotation, name_of] = ModelCodec(
        record.python,
        {},
        {},
        record.has_extra,
        annotation=annotation,
        is_mapping=record.is_mapping,
        optional=record.optional,
    )
    try:
        for name, info in record.fields.items():
            codec.add(_read_field(record.python, name, info, name_of))
    except BaseException:
        del _MODELS[annotation, name_of]
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


def accepts_none(annotation: Any) -> bool:
    """Return whether an annotation includes None."""
    if annotation is Any or annotation is None or annotation is type(None):
        return True
    if not isinstance(annotation, type) and hasattr(annotation, "__value__"):
        return accepts_none(annotation.__value__)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return accepts_none(arguments[0])
    if origin is Literal:
        return None in arguments
    return origin in (Union, types.UnionType) and any(map(accepts_none, arguments))


def _has_mark(annotation: Any, metadata: Sequence[Any], mark: type) -> bool:
    for each in metadata:
        if isinstance(each, mark) or (get_origin(each) is Annotated and _has_mark(each, (), mark)):
            return True
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _has_mark(arguments[0], arguments[1:], mark)
    if origin in (Union, types.UnionType):
        return any(_has_mark(each, (), mark) for each in arguments)
    return False
