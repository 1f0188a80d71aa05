"""Codecs: conversion of field values to DynamoDB attribute values, and back.

Encoding depends on the field's type and is compiled once. Decoding depends on the stored type,
since pydantic validates the result anyway. Only the field names of nested models, and values that
pydantic would read as another type, need a decoder for the field's type.

None is not stored, nor is an empty set, which DynamoDB does not support. A missing attribute is
therefore read as None if the field accepts None, and as an empty set if the field is a set.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, NewType, Union, get_args, get_origin
from uuid import UUID

from pydantic import BaseModel, RootModel, ValidationError
from pydantic.fields import FieldInfo

from keyfold.errors import ValueInvalid
from keyfold.keys._annotations import find_type
from keyfold.model import _scalars as scalars
from keyfold.model._any_values import (
    Encode,
    check_name,
    decode_any,
    encode_any,
    encode_list_of,
    encode_set_of,
)
from keyfold.model._fields import Expires, Stored, UnixSeconds
from keyfold.model._placeholders import Placeholder
from keyfold.model._undeclared import UNDECLARED, add_undeclared, keep_in_model
from keyfold.values import AttributeValue, Item

Decode = Callable[[Any], Any]

_SETS = frozenset({"SS", "NS", "BS"})


@dataclass(frozen=True, slots=True)
class ValueCodec:
    """How the values of one field are encoded and decoded.

    `kinds` are the DynamoDB types that it may be stored as, empty if unknown. `members` is the
    codec of the members of a list, set or map; `model` is the codec of a nested model. Without
    `decode`, values are decoded by their stored type.
    """

    encode: Encode
    decode: Decode | None = None
    kinds: frozenset[str] = frozenset()
    members: ValueCodec | None = None
    model: ModelCodec | None = None

    @property
    def has_models(self) -> bool:
        """Whether the value is a nested model, or has nested models as members."""
        return self.model is not None or (self.members is not None and self.members.has_models)


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
        return bool(self.codec.kinds) and self.codec.kinds <= _SETS and not self.accepts_none

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
    """How a pydantic model is encoded as a map and decoded from it."""

    model: type[BaseModel]
    fields: dict[str, StoredField]
    by_stored: dict[str, StoredField]
    has_extra: bool
    # Fields whose attribute may be missing: True if that means an empty set, False for None.
    absent: dict[str, bool] = field(default_factory=dict[str, bool])
    # Fields with former attribute names.
    renamed: list[StoredField] = field(default_factory=list[StoredField])

    def add(self, each: StoredField) -> None:
        """Add a field."""
        self.fields[each.name] = each
        if not each.is_part:
            self.by_stored[each.stored] = each
            if each.accepts_none or each.is_set:
                self.absent[each.name] = each.is_set
            if each.former:
                self.renamed.append(each)

    def encode(self, value: BaseModel) -> Item:
        """Return the attributes of an instance of the model."""
        item: Item = {}
        for name, each in self.fields.items():
            held = getattr(value, name)
            if held is None or (each.is_set and held.__class__ is not Placeholder and not held):
                continue
            item[each.stored] = each.codec.encode(held)
        if self.has_extra:
            self.encode_extra(value, item, frozenset(), self.model.__name__)
        elif UNDECLARED in value.__dict__:
            add_undeclared(value, item, self.by_stored)
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

_SCALARS: tuple[tuple[type[Any], ValueCodec], ...] = (
    (bool, ValueCodec(scalars.encode_bool, kinds=frozenset({"BOOL"}))),
    (str, ValueCodec(scalars.encode_text, kinds=frozenset({"S"}))),
    (int, ValueCodec(scalars.encode_int, kinds=frozenset({"N"}))),
    (Decimal, ValueCodec(scalars.encode_decimal, kinds=frozenset({"N"}))),
    (bytes, ValueCodec(scalars.encode_bytes, kinds=frozenset({"B"}))),
    (datetime, ValueCodec(scalars.encode_datetime, kinds=frozenset({"S"}))),
    (date, ValueCodec(scalars.encode_date, kinds=frozenset({"S"}))),
    (time, ValueCodec(scalars.encode_time, kinds=frozenset({"S"}))),
    (UUID, ValueCodec(scalars.encode_uuid, kinds=frozenset({"S"}))),
)


def _decode_seconds(value: AttributeValue) -> Any:
    return scalars.decode_seconds(value["N"]) if "N" in value else decode_any(value)


def _decode_float(value: AttributeValue) -> Any:
    return float(value["N"]) if "N" in value else decode_any(value)


_SECONDS = ValueCodec(scalars.encode_seconds, _decode_seconds, frozenset({"N"}))
_EXPIRY = ValueCodec(scalars.encode_expiry, _decode_seconds, frozenset({"N"}))
_FLOAT = ValueCodec(scalars.encode_float, _decode_float, frozenset({"N"}))
_ANY = ValueCodec(encode_any)


def codec_for(
    annotation: Any, metadata: Sequence[Any] = (), rules: CodecRules = _DEFAULT_RULES
) -> ValueCodec:
    """Return the codec of a field with this annotation and metadata."""
    marks: set[type[Any]] = {type(each) for each in metadata}
    if Expires in marks:
        return _EXPIRY
    if UnixSeconds in marks:
        return _SECONDS
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return codec_for(arguments[0], [*metadata, *arguments[1:]], rules)
    if isinstance(annotation, NewType):
        return codec_for(annotation.__supertype__, metadata, rules)
    if not isinstance(annotation, type) and hasattr(annotation, "__value__"):
        return codec_for(annotation.__value__, metadata, rules)
    if origin in (Union, types.UnionType):
        return _union_codec(arguments, rules)
    if origin is Literal:
        return _literal_codec(arguments)
    if origin is tuple and not (len(arguments) == 2 and arguments[1] is Ellipsis):  # noqa: PLR2004 - tuple[X, ...]
        return _tuple_codec(arguments, rules)
    if origin in (list, tuple, Sequence):
        return _list_codec(codec_for(arguments[0], rules=rules))
    if origin in (dict, Mapping):
        return _map_codec(codec_for(arguments[0]), codec_for(arguments[1], rules=rules))
    if origin in (set, frozenset):
        return _set_codec(codec_for(arguments[0], rules=rules))
    if isinstance(annotation, type) and origin is None:
        if issubclass(annotation, BaseModel) and RootModel in annotation.__mro__:
            return _root_codec(annotation, rules)
        if issubclass(annotation, BaseModel):
            return _nested_codec(annotation, rules)
        if issubclass(annotation, Enum):
            return _enum_codec(annotation)
        if issubclass(annotation, float):
            return _FLOAT
        for kind, codec in _SCALARS:
            if issubclass(annotation, kind):
                return codec
    return _ANY


def _enum_codec(kind: type[Enum]) -> ValueCodec:
    def encode(value: Any) -> AttributeValue:
        if isinstance(value, Placeholder):
            return {"S": str(value)}
        return encode_any((value if isinstance(value, kind) else kind(value)).value)

    kinds = frozenset(each for member in kind for each in encode_any(member.value))
    return ValueCodec(encode, kinds=kinds)


def _literal_codec(options: tuple[Any, ...]) -> ValueCodec:
    def encode(value: Any) -> AttributeValue:
        if not isinstance(value, Placeholder) and value not in options:
            raise ValueError(value)
        return encode_any(value)

    kinds = {kind for option in options if option is not None for kind in encode_any(option)}
    return ValueCodec(encode, kinds=frozenset(kinds))


def _union_codec(options: tuple[Any, ...], rules: CodecRules) -> ValueCodec:
    given = [option for option in options if option is not type(None)]
    codecs = [codec_for(option, rules=rules) for option in given]
    if len(codecs) != 1:
        return _choice_codec(codecs)
    (codec,) = codecs
    encode, decode = codec.encode, codec.decode

    def encode_optional(value: Any) -> AttributeValue:
        return {"NULL": True} if value is None else encode(value)

    def decode_optional(value: AttributeValue) -> Any:
        assert decode is not None  # or this function would not be used
        return None if "NULL" in value else decode(value)

    optional_decode = None if decode is None else decode_optional
    return ValueCodec(encode_optional, optional_decode, codec.kinds, codec.members, codec.model)


def _choice_codec(codecs: list[ValueCodec]) -> ValueCodec:
    """Return the codec of a union; a map is decoded as the model with most of its fields."""
    models = [codec.model for codec in codecs if codec.model is not None]

    def encode(value: Any) -> AttributeValue:
        for codec in models:
            if isinstance(value, codec.model):
                return {"M": codec.encode(value)}
        return encode_any(value)

    def decode(value: AttributeValue) -> Any:
        if "M" not in value:
            return decode_any(value)
        item: Item = value["M"]
        found: list[tuple[int, BaseModel]] = []
        for codec in models:
            try:
                made = codec.model.__pydantic_validator__.validate_python(
                    codec.decode(item), strict=False, by_alias=False, by_name=True
                )
            except ValidationError:
                continue
            named = codec.with_current_names(item).keys() & codec.by_stored.keys()
            keep_in_model(codec, item, made)
            found.append((len(named), made))
        return max(found, key=lambda each: each[0])[1] if found else decode_any(value)

    is_open = any(not codec.kinds for codec in codecs)
    kinds = frozenset(kind for codec in codecs for kind in codec.kinds)
    return ValueCodec(encode, decode if models else None, frozenset() if is_open else kinds)


def _list_codec(member: ValueCodec) -> ValueCodec:
    encode, decode = member.encode, member.decode

    def decode_list(value: AttributeValue) -> Any:
        assert decode is not None  # or this function would not be used
        return [decode(each) for each in value["L"]] if "L" in value else decode_any(value)

    return ValueCodec(
        lambda value: encode_list_of(value, encode),
        None if decode is None else decode_list,
        frozenset({"L"}),
        members=member,
    )


def _tuple_codec(arguments: tuple[Any, ...], rules: CodecRules) -> ValueCodec:
    codecs = [codec_for(each, rules=rules) for each in arguments]

    def encode(value: Any) -> AttributeValue:
        if isinstance(value, Placeholder):
            return {"S": str(value)}
        pairs = zip(codecs, value, strict=True)
        return {"L": [codec.encode(each) for codec, each in pairs]}

    def decode(value: AttributeValue) -> Any:
        members = value.get("L")
        if members is None or len(members) != len(codecs):
            return decode_any(value)
        pairs = zip(codecs, members, strict=True)
        return [(codec.decode or decode_any)(each) for codec, each in pairs]

    return ValueCodec(encode, decode, frozenset({"L"}))


def _set_codec(member: ValueCodec) -> ValueCodec:
    encode, decode = member.encode, member.decode

    def decode_set(value: AttributeValue) -> Any:
        assert decode is not None  # or this function would not be used
        ((kind, data),) = value.items()
        if kind not in _SETS:
            return decode_any(value)
        return {decode({kind[0]: each}) for each in data}

    kinds = frozenset(f"{kind}S" for kind in member.kinds) & _SETS
    return ValueCodec(
        lambda value: encode_set_of(value, encode),
        None if decode is None else decode_set,
        kinds or _SETS,
        members=member,
    )


def _map_codec(key: ValueCodec, member: ValueCodec) -> ValueCodec:
    encode, decode = member.encode, member.decode or decode_any
    has_numbers = key.kinds == frozenset({"N"})

    def encode_name(name: Any) -> str:
        ((kind, text),) = key.encode(name).items()
        return check_name(text if kind in ("S", "N") else name)

    def encode_map(value: Any) -> AttributeValue:
        if isinstance(value, Placeholder):
            return {"S": str(value)}
        return {"M": {encode_name(name): encode(each) for name, each in value.items()}}

    def decode_map(value: AttributeValue) -> Any:
        if "M" not in value:
            return decode_any(value)
        members = value["M"].items()
        if not has_numbers:
            return {name: decode(each) for name, each in members}
        return {(scalars.decode_number(name)): decode(each) for name, each in members}

    is_plain = member.decode is None and not has_numbers
    return ValueCodec(
        encode_map, None if is_plain else decode_map, frozenset({"M"}), members=member
    )


def _nested_codec(model: type[BaseModel], rules: CodecRules) -> ValueCodec:
    codec = model_codec(model, rules.name_of)

    def encode(value: Any) -> AttributeValue:
        if isinstance(value, Placeholder):
            return {"S": str(value)}
        if not isinstance(value, model):
            raise TypeError(value)
        return {"M": codec.encode(value)}

    def decode(value: AttributeValue) -> Any:
        return codec.decode(value["M"]) if "M" in value else decode_any(value)

    return ValueCodec(encode, decode, frozenset({"M"}), model=codec)


def _root_codec(model: type[BaseModel], rules: CodecRules) -> ValueCodec:
    inner = read_fields(model, rules.name_of)[0].codec

    def encode(value: Any) -> AttributeValue:
        if isinstance(value, Placeholder):
            return {"S": str(value)}
        return inner.encode(value.root)

    return ValueCodec(encode, inner.decode, inner.kinds, inner.members, inner.model)


_MODELS: dict[tuple[type[BaseModel], Callable[[str], str]], ModelCodec] = {}


def model_codec(model: type[BaseModel], name_of: Callable[[str], str] = as_written) -> ModelCodec:
    """Return the codec of a pydantic model; `name_of` makes attribute names from field names."""
    codec = _MODELS.get((model, name_of))
    if codec is None:
        has_extra = model.model_config.get("extra") == "allow"
        # Cached before its fields are read, since a model may contain itself.
        codec = _MODELS[model, name_of] = ModelCodec(model, {}, {}, has_extra)
        for each in read_fields(model, name_of):
            codec.add(each)
    return codec


def read_fields(
    model: type[BaseModel], name_of: Callable[[str], str] = as_written
) -> list[StoredField]:
    """Return the fields of a model, without computed ones; `name_of` is the table's naming rule."""
    return [_read_field(name, info, name_of) for name, info in model.__pydantic_fields__.items()]


def _read_field(name: str, info: FieldInfo, name_of: Callable[[str], str]) -> StoredField:
    stored = next((each for each in info.metadata if isinstance(each, Stored)), Stored())
    rules = CodecRules(name_of)
    return StoredField(
        name=name,
        stored=stored.name or name_of(name),
        codec=codec_for(info.annotation, info.metadata, rules),
        annotation=info.annotation,
        metadata=tuple(info.metadata),
        is_part=stored.is_part,
        is_required=info.is_required(),
        accepts_none=_accepts_none(info.annotation),
        former=stored.former,
    )


def _accepts_none(annotation: Any) -> bool:
    if annotation is Any or annotation is None or annotation is type(None):
        return True
    if not isinstance(annotation, type) and hasattr(annotation, "__value__"):
        return _accepts_none(annotation.__value__)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _accepts_none(arguments[0])
    if origin is Literal:
        return None in arguments
    return origin in (Union, types.UnionType) and any(map(_accepts_none, arguments))


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
