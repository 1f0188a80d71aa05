"""Stored fields, and the codecs of models and other records: maps of stored fields.

None is not stored, nor is an empty set, which DynamoDB does not support. A missing attribute is
therefore read as None if the field accepts None, and as an empty set if the field is a set.
"""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from keyfold.errors import ValueInvalid
from keyfold.keys._annotations import find_type
from keyfold.model._any_values import decode_any, encode_any
from keyfold.model._fields import Stored
from keyfold.model._placeholders import Placeholder
from keyfold.model._undeclared import UNDECLARED, add_undeclared
from keyfold.model._value_codecs import SETS, ValueCodec
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
    # Whether it is a key that a TypedDict may lack.
    is_optional_key: bool = False

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
    def reads_absence(self) -> bool:
        """Whether a missing attribute is read as None or an empty set, and not as missing."""
        return (self.accepts_none or self.is_set) and not self.is_optional_key

    @property
    def is_needed(self) -> bool:
        """Whether an item without the attribute fails validation."""
        return self.is_required and self.is_always_stored and not self.is_optional_key

    @property
    def is_text(self) -> bool:
        """Whether the field is a str, also one that has to be an email address."""
        kind = find_type(self.annotation)
        return kind is str or is_email(kind)

    @property
    def takes_any_text(self) -> bool:
        """Whether the field is a str without constraints or validators."""
        is_plain = find_type(self.annotation) is str
        return is_plain and all(isinstance(each, Stored) for each in self.metadata)

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
    # Whether instances can carry attributes that the model does not declare.
    keeps_undeclared: bool = True

    def add(self, each: StoredField) -> None:
        """Add a field."""
        self.fields[each.name] = each
        if not each.is_part:
            self.by_stored[each.stored] = each
            if each.reads_absence:
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


# Annotations.


def is_email(kind: Any) -> bool:
    """Return whether a type is pydantic's EmailStr, whose values are plain text."""
    # By name: importing pydantic.networks takes milliseconds.
    return getattr(kind, "__module__", "") == "pydantic.networks" and kind.__name__ == "EmailStr"


def annotate(annotation: Any, metadata: Sequence[Any]) -> Any:
    """Return an annotation with its metadata, as `Annotated` if there is any."""
    return Annotated[annotation, *metadata] if metadata else annotation


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
