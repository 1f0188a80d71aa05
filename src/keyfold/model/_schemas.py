"""Entity schemas: compiled declarations, which encode entities as items and decode items."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from itertools import chain
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ValidationError

from keyfold.errors import FieldUnknown, MissingKeyPart, ValueInvalid
from keyfold.expressions import Condition
from keyfold.keys import Ulid
from keyfold.keys._annotations import find_type
from keyfold.model._any_values import Encode, decode_any
from keyfold.model._codecs import ModelCodec, StoredField
from keyfold.model._completion import WriteCompletion
from keyfold.model._cross_checks import CrossCheck
from keyfold.model._field_readers import (
    FastReader,
    FieldReader,
    KeyMatcher,
    KeyReader,
    find_recoverable,
    key_matchers_of,
    key_readers_of,
    make_none,
    reader_of,
    split_readers,
)
from keyfold.model._formatting import show_item, summarise
from keyfold.model._former_names import cover_former_names, has_former_names
from keyfold.model._key_parts import KeyPart, Render, check_not_empty
from keyfold.model._key_values import KeyValues
from keyfold.model._keys import TableLike
from keyfold.model._pickling import Reduced, find_schema
from keyfold.model._placeholders import Placeholder
from keyfold.model._scalars import show
from keyfold.model._undeclared import UNDECLARED, add_undeclared, keep_nested, keep_undeclared
from keyfold.model._unique import UniqueField
from keyfold.model._upgrades import Upgrade, find_new_key, keep_upgraded, upgrade_item
from keyfold.model._value_codecs import ValueCodec
from keyfold.values import AttributeValue, Item


class ItemMismatch(Exception):
    """An item does not match an entity; the message says why."""


@dataclass(slots=True)
class EntitySchema:
    """The compiled declaration of an entity."""

    entity: type[BaseModel]
    table: TableLike
    name: str
    fields: dict[str, StoredField]
    codec: ModelCodec
    partition: KeyPart
    sort: KeyPart | None
    # The parts of index keys, by index name. Indexes are sparse: if a part is None, the item is
    # not in the index.
    index_keys: dict[str, tuple[KeyPart, ...]]
    # The keys that items can have in each index: one, or several templates to choose from.
    index_alternatives: dict[str, tuple[tuple[KeyPart, ...], ...]]
    computed: dict[str, tuple[str, ValueCodec]]
    # The values of the type attribute: the current one, then former ones, the oldest last.
    kinds: tuple[str, ...]
    # The table's type attribute, and its value for this entity.
    type_attribute: tuple[str, str] | None
    ttl_field: StoredField | None
    version_field: StoredField | None
    unique: dict[str, UniqueField]
    # Fields that are stored only in keys, and the attributes that the schema writes besides those
    # of fields.
    parts: tuple[str, ...]
    own_attributes: frozenset[str]
    # The shard that the entity's partitions belong to, or None.
    shard: str | None
    # `Entity.upgrade`, if the entity overrides it.
    upgrade: Upgrade | None
    # Whether an item whose fields contradict its key is invalid.
    checks_key: bool
    # The codes of lint rules that do not apply to the entity, with the reasons.
    lint_ignore: Mapping[str, str]
    # Validators and computed fields that depend on several fields.
    cross_checks: tuple[CrossCheck, ...]
    # What the store adds when it writes the entity; None if nothing.
    completion: WriteCompletion | None
    # The prefixes of partition keys that the entity may not write: those of the table, for its
    # fallback.
    reserved: tuple[str, ...] = field(default=(), init=False)
    # The parts of the primary key, and the fields that they are made from.
    keys: tuple[KeyPart, ...] = field(init=False)
    key_fields: frozenset[str] = field(init=False)
    # For each field, the first check across fields that it may change, None if there is none.
    checked_by: dict[str, CrossCheck | None] = field(init=False)
    # Whether checks across fields, computed fields or index keys depend on the expiry.
    depends_on_expiry: bool = field(init=False)
    # Names that a free-form attribute may not have.
    known_names: frozenset[str] = field(init=False)
    # Every attribute that the schema writes, and the former names of those.
    declared_names: frozenset[str] = field(init=False)
    # The attributes of the fields that are stored, and are also part of the primary key: an item
    # that lacks one is read by its key.
    recoverable_attributes: frozenset[str] = field(init=False)
    # The index keys and computed fields, which follow from the fields.
    derived_attributes: frozenset[str] = field(init=False)
    # Whether an entity is written as it is: with no version, hook, timestamp or former form.
    is_written_as_is: bool = field(init=False)
    # Whether a field, or a nested one, has former attribute names.
    has_former_names: bool = field(init=False)
    # Precomputed steps of encoding and decoding an item.
    _writers: tuple[tuple[str, str, Encode], ...] = field(init=False)
    _set_writers: tuple[tuple[str, str, Encode], ...] = field(init=False)
    _key_writers: tuple[tuple[str, Render], ...] = field(init=False)
    _key_values: KeyValues = field(init=False)
    # Whether a key field has constraints or validators, which rendering the key would not run.
    _constrains_key: bool = field(init=False)
    # The types of the fields that are stored only in keys; None if the value of one may differ
    # after a round trip through the key.
    _part_types: tuple[tuple[str, type[Any]], ...] | None = field(init=False)
    _fast: tuple[FastReader, ...] = field(init=False)
    _others: tuple[FieldReader, ...] = field(init=False)
    _all_readers: tuple[FieldReader, ...] = field(init=False)
    _key_readers: tuple[KeyReader, ...] = field(init=False)
    _key_matchers: tuple[KeyMatcher, ...] = field(init=False)
    _index_writers: tuple[KeyPart, ...] = field(init=False)
    # Fields that contain models: the attribute, the field and its codec.
    _nested: tuple[tuple[str, str, ValueCodec], ...] = field(init=False)
    # How many attributes of the primary key are rendered, so that no field is stored there.
    _rendered_count: int = field(init=False)
    # The same with the attributes that every item has which is read by the fast path.
    _fast_count: int = field(init=False)
    # The attributes and names of the stored fields that the primary key contains as well: all of
    # them, and those that the fast path does not read.
    _recoverable: tuple[tuple[str, str], ...] = field(init=False)
    _recoverable_others: tuple[tuple[str, str], ...] = field(init=False)
    # Whether a stored item may have former attribute names, or a form that `upgrade` changes.
    _has_other_forms: bool = field(init=False)
    # Whether there is more to keep of an item than attributes that are not declared.
    _keeps_more: bool = field(init=False)
    # Field attributes that are also index keys, and may therefore not be empty.
    _held: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.keys = (self.partition,) if self.sort is None else (self.partition, self.sort)
        self.key_fields = frozenset(name for key in self.keys for name in key.fields)
        for alternatives in ((self.keys,), *self.index_alternatives.values()):
            for each in chain.from_iterable(alternatives):
                object.__setattr__(each, "owner", self.entity)
        self.checked_by = {
            name: next((each for each in self.cross_checks if each.concerns(name)), None)
            for name in self.fields
        }
        expiry = None if self.ttl_field is None else self.ttl_field.name
        self.depends_on_expiry = expiry is not None and (
            self.checked_by[expiry] is not None
            or any(expiry in part.fields for parts in self.index_keys.values() for part in parts)
        )
        former = (name for each in self.codec.renamed for name in each.former)
        self.declared_names = self.own_attributes.union(self.codec.by_stored, former)
        self.known_names = self.declared_names.union(self.fields)
        primary = {part.attribute for part in self.keys}
        typed = () if self.type_attribute is None else self.type_attribute[:1]
        self.derived_attributes = self.own_attributes.difference(primary, typed)
        self.has_former_names = has_former_names(self.codec)
        changed = (self.completion, self.upgrade, self.version_field)
        self.is_written_as_is = all(each is None for each in changed)
        self._prepare_encoding()
        self._prepare_decoding()

    def _prepare_encoding(self) -> None:
        self._writers, self._set_writers = (
            tuple(
                (each.name, each.stored, each.codec.encode)
                for each in self.fields.values()
                if not each.is_part and each.is_set is is_set
            )
            for is_set in (False, True)
        )
        self._key_writers = tuple((each.attribute, each.fast_render()) for each in self.keys)
        self._key_values = KeyValues(self.name, self.entity, self.fields)
        self._constrains_key = any(map(self._key_values.constrains, self.key_fields))
        index_parts = {part.attribute: part for parts in self.index_keys.values() for part in parts}
        for part in self.keys:
            index_parts.pop(part.attribute, None)
        self._index_writers = tuple(
            part for part in index_parts.values() if part.template is not None
        )
        self._held = tuple(part.attribute for part in index_parts.values() if part.template is None)

    def _prepare_decoding(self) -> None:
        self._part_types = self._find_part_types()
        self._all_readers = tuple(map(reader_of, self.codec.by_stored.values()))
        self._rendered_count = sum(each.template is not None for each in self.keys)
        self._has_other_forms = bool(self.codec.renamed) or self.upgrade is not None
        self._fast, self._others = split_readers(self.codec.by_stored.values())
        self._fast_count = self._rendered_count + len(self._fast)
        self._nested = tuple(
            (each.stored, each.name, each.codec)
            for each in self.codec.by_stored.values()
            if each.codec.has_models
        )
        self._keeps_more = self._has_other_forms or bool(self._nested)
        self._recoverable = find_recoverable(self.keys, self.fields)
        self.recoverable_attributes = frozenset(attribute for attribute, _ in self._recoverable)
        fast = {name for _, name, _, _ in self._fast}
        self._recoverable_others = tuple(each for each in self._recoverable if each[1] not in fast)
        self._key_readers = key_readers_of(self.keys)
        self._key_matchers = key_matchers_of(self.keys)

    def with_former_names(self, condition: Condition) -> Condition:
        """Return a condition that also finds values under the former names of their attributes."""
        return cover_former_names(self.codec, condition) if self.has_former_names else condition

    @property
    def index_templates(self) -> tuple[KeyPart, ...]:
        """The parts of index keys that are rendered by templates and are not in the primary key."""
        return self._index_writers

    def __reduce__(self) -> Reduced:
        """Pickle by reference."""
        return find_schema, (self.entity,)

    def reserve(self, prefixes: tuple[str, ...]) -> None:
        """Make writes of partition keys that start with one of these prefixes an error."""
        self.reserved = prefixes
        self.is_written_as_is = self.is_written_as_is and not prefixes

    # Encoding.

    def make_key(self, parts: Mapping[str, Any]) -> tuple[Item, Mapping[str, Any]]:
        """Return the primary key for these field values, and the values coerced to their types.

        Raises FieldUnknown, MissingKeyPart and KeyPartInvalid.
        """
        if self._constrains_key:
            parts = self.coerce(parts)
        key: Item = {}
        try:
            for attribute, render in self._key_writers:
                key[attribute] = render(parts)
        except (AttributeError, KeyError, TypeError, ValueError):
            # The slow path coerces the values, or raises an error that says what is wrong.
            parts = self.coerce(parts)
            key = self.render_key(parts)
        if len(parts) != len(self.key_fields):
            for name in parts:
                if name not in self.key_fields:
                    known = tuple(sorted(self.key_fields))
                    raise FieldUnknown(f"{self.name}'s key", name, known)
        return key, parts

    def coerce(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return field values of a request, validated and converted; raises KeyPartInvalid."""
        return self._key_values.coerce(values)

    def render_key(self, values: Mapping[str, Any]) -> Item:
        """Return the primary key for these field values; raises MissingKeyPart."""
        key: Item = {}
        for each in self.keys:
            for name in each.fields:
                if values.get(name) is None:
                    template = each.template.text if each.template else f"{{{name}}}"
                    given = tuple(name for name in values if values[name] is not None)
                    raise MissingKeyPart(self.name, template, name, given)
            rendered = each.render(values)
            assert rendered is not None  # no field is None
            key[each.attribute] = rendered
        return key

    def encode(self, value: BaseModel) -> Item:
        """Return the item of an entity; raises ValueInvalid and MissingKeyPart."""
        values = value.__dict__
        item = self.render_key(values)
        name, held = "", None
        try:
            for each in self._index_writers:
                rendered = each.render(values)
                if rendered is not None:
                    item[each.attribute] = rendered
        except KeyError:
            raise self._lacking_error(values) from None
        try:
            for name, attribute, encode in self._writers:
                held = values[name]
                if held is not None:
                    item[attribute] = encode(held)
            for name, attribute, encode in self._set_writers:
                held = values[name]
                if held.__class__ is Placeholder or held:
                    item[attribute] = encode(held)
            if self.computed and not any(map(_is_placeholder, values.values())):
                for name, (attribute, codec) in self.computed.items():
                    held = getattr(value, name)
                    if held is not None:
                        item[attribute] = codec.encode(held)
        except ValueInvalid as error:
            raise error.inside(f"{self.name}.{name}") from None
        except KeyError:
            if name in values:
                raise
            raise self._lacking_error(values) from None
        except (AttributeError, TypeError, ValueError) as error:
            # The value was never validated, as after model_construct.
            shown = self.fields[name].codec.show(held) if name in self.fields else show(held)
            fact = f"{shown} is not of the field's type"
            raise ValueInvalid(f"{self.name}.{name}", fact, "") from error
        if self.codec.has_extra:
            self.codec.encode_extra(value, item, self.own_attributes, self.name)
        if UNDECLARED in values:
            add_undeclared(value, item, self.declared_names)
        for attribute in self._held:
            if attribute in item:
                check_not_empty(f"{self.name}.{attribute}", item[attribute])
        if self.type_attribute is not None:
            attribute, kind = self.type_attribute
            item[attribute] = {"S": kind}
        return item

    def check_whole(self, value: BaseModel) -> None:
        """Raise ValueInvalid if an entity lacks a field, as after model_construct."""
        if not value.__dict__.keys() >= self.fields.keys():
            raise self._lacking_error(value.__dict__)

    def _lacking_error(self, values: Mapping[str, Any]) -> ValueInvalid:
        name = next(name for name in self.fields if name not in values)
        fact = "the entity has no value for it, not even None"
        return ValueInvalid(f"{self.name}.{name}", fact, "Pass one to model_construct().")

    # Decoding.

    def _find_part_types(self) -> tuple[tuple[str, type[Any]], ...] | None:
        found = [(name, find_type(self.fields[name].annotation)) for name in self.parts]
        is_exact = all(
            isinstance(kind, type) and (kind in _EXACT or issubclass(kind, Enum | Ulid))
            for _, kind in found
        )
        return tuple(found) if is_exact and self.type_attribute is None else None

    def known_from(self, parts: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the fields that reading the key of these parts would return.

        Returns None if they may differ from `parts`: then the key has to be read.
        """
        if self._part_types is None:
            return None
        for name, kind in self._part_types:
            if parts[name].__class__ is not kind:
                return None
        return parts

    def fits(self, item: Mapping[str, AttributeValue]) -> bool:
        """Return whether an item's type attribute, or its key, matches this entity."""
        if self.type_attribute is not None:
            attribute = self.type_attribute[0]
            if attribute in item:
                return item[attribute].get("S") in self.kinds
        try:
            for attribute, kind, matches in self._key_matchers:
                data = item[attribute][kind]
                if matches is not None and not matches(data):
                    return False
        except KeyError:
            return False
        return True

    def find_sort_matcher(self) -> Callable[[str], object] | None:
        """Return what tells items of this entity from others with its partition key, by their sort key.

        Returns None if the sort key is not a template, or does not tell alone.
        """
        if self.type_attribute is not None or len(self.keys) == 1:
            return None
        template = self.keys[-1].template
        return None if template is None else template.matches

    def read_keys(self, item: Mapping[str, AttributeValue]) -> dict[str, Any] | None:
        """Return the fields that are part of an item's key; None if it is not of this entity.

        Raises ItemMismatch if the type attribute matches this entity but the key does not.
        """
        if self.type_attribute is None or self.type_attribute[0] not in item:
            return self._parse_keys(item)
        return self._read_parts(item, self.parts) if self.fits(item) else None

    def _parse_keys(self, item: Mapping[str, AttributeValue]) -> dict[str, Any] | None:
        fields: dict[str, Any] = {}
        try:
            for attribute, kind, parse in self._key_readers:
                data = item[attribute][kind]
                if parse is not None:
                    parsed = parse(data)
                    if parsed is None:
                        return None
                    fields |= parsed
        except KeyError:
            return None
        return fields

    def decode(
        self, item: Mapping[str, AttributeValue], keys: Mapping[str, Any] | None = None
    ) -> BaseModel:
        """Return the entity that an item stores; raises ItemMismatch.

        `keys` are the fields from the item's key, if they are already known.
        """
        raw: dict[str, Any] = {}
        stored = item
        if self._has_other_forms:
            stored, item = self.current_forms(item)
        try:
            for attribute, name, kind, convert in self._fast:
                data = item[attribute][kind]
                raw[name] = data if convert is None else convert(data)
        except (KeyError, ValueError):
            # An attribute is missing, or its type is not the usual one.
            count = self._read_each(self._all_readers, item, raw, self._rendered_count)
            if self._recoverable:
                raw |= self._recover(self._recoverable, item)
        else:
            # How many of the item's attributes are known to be declared.
            count = self._fast_count
            if self._others:
                count = self._read_each(self._others, item, raw, count)
                if self._recoverable_others:
                    raw |= self._recover(self._recoverable_others, item)
        if self.codec.has_extra:
            for attribute, value in item.items():
                if attribute not in self.known_names:
                    raw[attribute] = decode_any(value)
        if self.parts:
            found = self._read_parts(item, self.parts) if keys is None else keys
            for name in self.parts:
                raw[name] = found[name]
        try:
            # DynamoDB has fewer types than Python, so a model's strict mode is not applied here.
            # As `validate`, without another call for every item.
            value = self.entity.__pydantic_validator__.validate_python(
                raw, strict=False, by_alias=False, by_name=True
            )
        except ValidationError as error:
            raise ItemMismatch(summarise(error, whole="item")) from error
        if self.checks_key:
            self._check_key(value, item)
        if count != len(item) or self._keeps_more:
            self._keep_rest(value, item, stored)
        return value

    def _check_key(self, value: BaseModel, item: Mapping[str, AttributeValue]) -> None:
        """Raise ItemMismatch if an item's key is not the one that its fields make."""
        try:
            made = {attribute: render(value.__dict__) for attribute, render in self._key_writers}
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ItemMismatch("its fields make no key") from error
        if any(item.get(attribute) != part for attribute, part in made.items()):
            raise ItemMismatch(f"its fields make the key {show_item(made)}")

    def _keep_rest(
        self,
        value: BaseModel,
        item: Mapping[str, AttributeValue],
        stored: Mapping[str, AttributeValue],
    ) -> None:
        """Keep what the entity does not hold in fields, so that a later write preserves it."""
        if not self.declared_names.issuperset(item):
            keep_undeclared(value, item, {*self.declared_names, *(value.model_extra or ())})
        for attribute, name, codec in self._nested:
            if attribute in item:
                keep_nested(codec, item[attribute], value.__dict__[name])
        if stored is not item:
            keep_upgraded(value, stored, item)

    def validate(self, values: Mapping[str, Any]) -> BaseModel:
        """Return the entity with these decoded values, all by name; raises pydantic's ValidationError.

        Values that a user gives may have aliases inside: `EntityRules.make` takes those.
        """
        validator = self.entity.__pydantic_validator__
        return validator.validate_python(values, strict=False, by_alias=False, by_name=True)

    def current_forms(
        self, item: Mapping[str, AttributeValue]
    ) -> tuple[Mapping[str, AttributeValue], Mapping[str, AttributeValue]]:
        """Return an item under its current attribute names, and the same item upgraded.

        They are one object if the upgrade changes nothing. Raises ItemMismatch.
        """
        named = self.codec.with_current_names(item)
        if self.upgrade is None:
            return named, named
        try:
            return named, upgrade_item(self.upgrade, named, self.table.key.names)
        except Exception as error:  # whatever the user's function raises is about this item
            raise self._upgrade_error(error) from error

    def with_new_key(self, item: Mapping[str, AttributeValue]) -> Mapping[str, AttributeValue]:
        """Return an item with the key that `upgrade` gives it; the item itself if it keeps its own.

        Reads keep the key that is stored, by which requests find the item. Raises ItemMismatch.
        """
        if self.upgrade is None:
            return item
        named = self.codec.with_current_names(item)
        try:
            changed = find_new_key(self.upgrade, named, self.table.key.names)
        except Exception as error:  # as above
            raise self._upgrade_error(error) from error
        return {**item, **changed} if changed else item

    def _upgrade_error(self, error: Exception) -> ItemMismatch:
        return ItemMismatch(f"{self.name}.upgrade() failed: {type(error).__name__}: {error}")

    def _read_each(
        self,
        readers: tuple[FieldReader, ...],
        item: Mapping[str, AttributeValue],
        raw: dict[str, Any],
        count: int,
    ) -> int:
        """Read fields into `raw`; return `count`, and one for each attribute that the item has."""
        for attribute, name, kind, convert, decode, make_absent in readers:
            value = item.get(attribute)
            if value is None:
                if make_absent is not None:
                    raw[name] = None if make_absent is make_none else make_absent()
                continue
            count += 1
            if kind not in value:
                raw[name] = decode(value)
            else:
                raw[name] = value[kind] if convert is None else convert(value[kind])
        return count

    def recover(self, item: Mapping[str, AttributeValue], names: Collection[str]) -> dict[str, Any]:
        """Return those of the fields `names` that an item has only in its key; raises ItemMismatch."""
        return self._recover([each for each in self._recoverable if each[1] in names], item)

    def _recover(
        self, fields: Iterable[tuple[str, str]], item: Mapping[str, AttributeValue]
    ) -> dict[str, Any]:
        lacking = [name for attribute, name in fields if attribute not in item]
        if not lacking:
            return {}
        parsed = self._read_parts(item, lacking)
        return {name: parsed[name] for name in lacking}

    def _read_parts(
        self, item: Mapping[str, AttributeValue], names: Collection[str]
    ) -> dict[str, Any]:
        """Return the fields of the key templates that have any of these fields."""
        fields: dict[str, Any] = {}
        for each in self.keys:
            if each.template is not None and any(name in names for name in each.fields):
                text = item.get(each.attribute, {}).get("S", "")
                parsed = each.template.parse(text)
                if parsed is None:
                    raise ItemMismatch(f"{each.attribute} does not match {each.template.text!r}")
                fields |= parsed
        return fields


# Types whose values survive a round trip through a key unchanged. A datetime does not: it may have
# been in another time zone.
_EXACT = frozenset({str, int, date, UUID})


def _is_placeholder(value: object) -> bool:
    return value.__class__ is Placeholder
