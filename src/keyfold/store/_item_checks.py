"""Reads items as declared: finds the entity, validates the fields, and compares keys with fields.

Loads, copies and checked servers use it, so that they accept the same items.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from keyfold.errors import KeyfoldError
from keyfold.expressions.comparison import are_equal
from keyfold.model._formatting import show_item
from keyfold.model._key_parts import KeyPart
from keyfold.model._reserved import find_reserved, reserved_fact
from keyfold.model._schemas import EntitySchema, ItemMismatch
from keyfold.model._tables import Table
from keyfold.model._upgrades import upgraded_attributes
from keyfold.values import AttributeValue, Item, normalise_item


class ItemContradicts(ItemMismatch):
    """A key or a computed field of an item contradicts its fields.

    `attributes` are the contradicting attribute and those that its value should derive from.
    """

    def __init__(self, message: str, attributes: Collection[str]) -> None:
        super().__init__(message)
        self.attributes = frozenset(attributes)


def read_writable(table: Table, item: Item) -> tuple[EntitySchema, BaseModel]:
    """Return the schema of an item to write, with binaries as bytes, and the entity that it stores.

    Raises ItemMismatch for an item that matches no entity, fails validation, has keys or computed
    fields that its fields contradict, or has a reserved partition key.
    """
    schema = table.find_schema(item)
    parsed = _parse_key(schema, item)
    value = schema.decode(item, None if parsed is None else _merge(parsed))
    if parsed is None or not _agrees(parsed, value.__dict__):
        _check_key(schema, item, value)
    _check_derived(schema, item, value)
    prefix = find_reserved(schema, item)
    if prefix is not None:
        raise ItemMismatch(reserved_fact(schema.partition.attribute, prefix))
    return schema, value


def _parse_key(schema: EntitySchema, item: Item) -> list[dict[str, Any]] | None:
    """Return the fields in each part of an item's key; None unless all parts are templates."""
    parsed: list[dict[str, Any]] = []
    for part in schema.keys:
        text = item.get(part.attribute, {}).get("S")
        found = None if part.template is None or text is None else part.template.parse(text)
        if found is None:
            return None
        parsed.append(found)
    return parsed


def _merge(parsed: Sequence[dict[str, Any]]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for each in parsed:
        merged |= each
    return merged


def _agrees(parsed: Sequence[dict[str, Any]], values: Mapping[str, Any]) -> bool:
    """Return whether the fields have the values that each part of the key has: the usual case."""
    for each in parsed:
        for name, value in each.items():
            if values[name] != value:
                return False
    return True


def _check_key(schema: EntitySchema, item: Item, value: BaseModel) -> None:
    """Raise ItemContradicts if an item's key contradicts its fields."""
    upgraded = upgraded_attributes(value)
    for part in schema.keys:
        _check_key_part(schema, part, item, value.__dict__, upgraded)


def _check_derived(schema: EntitySchema, item: Item, value: BaseModel) -> None:
    """Raise ItemContradicts if an index key or a computed field of an item contradicts its fields.

    An item may lack them, and a backfill adds them: it may be older than the declaration. So may
    what an upgrade still has to change.
    """
    derived: Iterable[str] = schema.derived_attributes.intersection(item)
    if not derived:
        return
    upgraded = upgraded_attributes(value)
    if upgraded:
        derived = [name for name in derived if upgraded.isdisjoint(find_sources(schema, [name]))]
    try:
        made = schema.encode(value)
    except KeyfoldError as error:
        raise ItemMismatch(str(error)) from error
    differing = sorted(name for name in derived if item[name] != made.get(name))
    if not differing:
        return
    # The same value may be written in another way.
    stored, made = normalise_item(item)[0], normalise_item(made)[0]
    for name in differing:
        if name not in made or not are_equal(stored[name], made[name]):
            raise _contradiction(schema, name, stored[name], made.get(name))


def _check_key_part(
    schema: EntitySchema,
    part: KeyPart,
    item: Item,
    values: Mapping[str, Any],
    upgraded: frozenset[str],
) -> None:
    try:
        made = part.render(values)
    except KeyfoldError as error:
        raise ItemMismatch(str(error)) from error
    stored = item.get(part.attribute)
    if stored == made or stored is None:
        return
    if upgraded and not upgraded.isdisjoint(find_sources(schema, [part.attribute])):
        return
    if made is None or not _is_same_key(part, stored, made):
        raise _contradiction(schema, part.attribute, stored, made)


def _is_same_key(part: KeyPart, stored: AttributeValue, made: AttributeValue) -> bool:
    """Return whether two values of a key attribute are the same in different spellings."""
    if part.template is not None and "S" in stored:
        return part.template.parse(stored["S"]) == part.template.parse(made["S"])
    both, _ = normalise_item({"stored": stored, "made": made})
    return are_equal(both["stored"], both["made"])


def _contradiction(
    schema: EntitySchema, name: str, stored: AttributeValue, made: AttributeValue | None
) -> ItemContradicts:
    says = "none" if made is None else show_item({name: made})
    return ItemContradicts(
        f"it has {show_item({name: stored})}, but its fields say {says}",
        find_sources(schema, [name]),
    )


def find_sources(schema: EntitySchema, changed: Iterable[str]) -> set[str]:
    """Return attributes, and those that their values derive from."""
    stored = {name: each.stored for name, each in schema.fields.items() if not each.is_part}
    templates = {
        part.attribute: part.fields
        for parts in (schema.keys, *schema.index_keys.values())
        for part in parts
        if part.template is not None
    }
    computed = {attribute for attribute, _ in schema.computed.values()}
    sources = set(changed)
    for name in tuple(sources):
        if name in computed:
            # A computed field may depend on any other field.
            sources.update(stored.values())
        sources.update(stored[each] for each in templates.get(name, ()) if each in stored)
    return sources
