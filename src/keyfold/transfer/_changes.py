"""What of a stored item no longer is as its entity's declaration would have it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from keyfold.errors import KeyfoldError
from keyfold.model import Table
from keyfold.model._schemas import EntitySchema, ItemMismatch
from keyfold.model._showing import show_item
from keyfold.store._guards import is_guard
from keyfold.transfer._tallies import to_canonical
from keyfold.values import AttributeValue, Item, normalise_item, restore_binaries


@dataclass(frozen=True, slots=True)
class ItemPatch:
    """What brings one item up to date: attributes to set, and others to remove.

    `derived_from` has the attributes that this was found from, None for those that were not
    there: the change is right as long as they are unchanged.
    """

    entity: str
    key: Item
    sets: Item
    removes: tuple[str, ...]
    derived_from: Mapping[str, AttributeValue | None] = field(repr=False)

    def to_request(self, table: str) -> dict[str, Any]:
        """Return the UpdateItem request that makes the change if it still is right."""
        names: dict[str, str] = {}
        values: Item = {}

        def name(attribute: str) -> str:
            return names.setdefault(attribute, f"#{len(names)}")

        def value(given: AttributeValue) -> str:
            placeholder = f":{len(values)}"
            values[placeholder] = given
            return placeholder

        assigned = [f"{name(each)} = {value(given)}" for each, given in self.sets.items()]
        parts = [f"SET {', '.join(assigned)}"] if assigned else []
        if self.removes:
            parts.append(f"REMOVE {', '.join(map(name, self.removes))}")
        # An item that was deleted must not come back as one of index keys alone.
        conditions = [f"attribute_exists({name(next(iter(self.key)))})"]
        conditions += [
            f"attribute_not_exists({name(each)})"
            if given is None
            else f"{name(each)} = {value(given)}"
            for each, given in self.derived_from.items()
        ]
        request: dict[str, Any] = {
            "TableName": table,
            "Key": restore_binaries(self.key),
            "UpdateExpression": " ".join(parts),
            "ConditionExpression": " AND ".join(conditions),
            "ExpressionAttributeNames": {short: each for each, short in names.items()},
            "ReturnConsumedCapacity": "TOTAL",
        }
        if values:
            request["ExpressionAttributeValues"] = restore_binaries(values)
        return request

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "entity": self.entity,
            "key": self.key,
            "sets": self.sets,
            "removes": list(self.removes),
        }


def find_change(table: Table, item: Item) -> tuple[str, ItemPatch | None]:
    """Return the entity of a normalised item, and what is to be changed of it, if anything.

    Index keys, the type attribute and computed fields are compared with what the declaration
    makes of the item's fields; fields that are not there and have a default get that. What else
    an item holds is left as it is. Raises Unfit for an item that is of no entity, fails its
    validation, or would need another key.
    """
    restored = restore_binaries(item)
    schema = _find_schema(table, restored)
    value = schema.decode(restored)
    try:
        rendered = normalise_item(schema.encode(value))[0]
    except KeyfoldError as error:
        raise ItemMismatch(str(error)) from error
    key = {name: item[name] for name in table.key.names}
    _check_key(schema, key, rendered)
    # Made from fields: keys by templates, the type, computed fields.
    derived = set(schema.own_attributes) - key.keys()
    wanted = derived | {name for name in schema.codec.by_stored if name not in item}
    sets = {
        name: rendered[name]
        for name in sorted(wanted & rendered.keys())
        if name not in item or not _is_same(item[name], rendered[name])
    }
    # Of an index that the entity is not in, it holds no key.
    keys_of_indexes = {name for index in table.indexes for name in index.key.names}
    removable = (derived | keys_of_indexes) - key.keys() - schema.codec.by_stored.keys()
    removes = tuple(sorted(name for name in removable & item.keys() if name not in rendered))
    if not sets and not removes:
        return schema.name, None
    sources = _find_sources(schema, [*sets, *removes]) - key.keys()
    derived_from = {name: item.get(name) for name in sorted(sources)}
    return schema.name, ItemPatch(schema.name, key, sets, removes, derived_from)


def is_of_no_entity(table: Table, item: Item) -> bool:
    """Tell whether an item is a guard of a unique field, which no declaration describes."""
    return table.has_guards and is_guard(table, item)


def _find_schema(table: Table, item: Mapping[str, AttributeValue]) -> EntitySchema:
    attribute = table.type_attribute
    if attribute is None or attribute not in item:
        return table.find_schema(item)
    kind = item[attribute].get("S")
    for schema in table.entities.values():
        if schema.type_attribute is not None and schema.type_attribute[1] == kind:
            return schema
    # The type has been renamed: the key has to tell, and to tell it of one entity alone.
    bare = {name: value for name, value in item.items() if name != attribute}
    fitting = [
        schema
        for schema in table.entities.values()
        if schema.fits(bare) and table.is_of(schema, bare)
    ]
    if len(fitting) == 1:
        return fitting[0]
    names = ", ".join(schema.name for schema in fitting) or "none"
    raise ItemMismatch(
        f"{attribute} is {kind!r}, which is no entity's; by its key it could be {names}"
    )


def _check_key(schema: EntitySchema, key: Item, rendered: Item) -> None:
    made = {name: rendered[name] for name in key}
    if to_canonical(made) != to_canonical(key):
        raise ItemMismatch(
            f"its key is {show_item(key)}, and {schema.name} would have {show_item(made)}; "
            "a key cannot be changed in place"
        )


def _is_same(one: AttributeValue, other: AttributeValue) -> bool:
    return to_canonical({"": one}) == to_canonical({"": other})


def _find_sources(schema: EntitySchema, changed: list[str]) -> set[str]:
    """Return the attributes that the new values come from, and those that are changed."""
    stored = {name: each.stored for name, each in schema.fields.items() if not each.is_part}
    templates = {
        part.attribute: part.fields
        for parts in schema.index_keys.values()
        for part in parts
        if part.template is not None
    }
    computed = {attribute for attribute, _ in schema.computed.values()}
    sources = set(changed)
    for name in changed:
        if name in computed:
            # What a computed field looks at is its own affair.
            sources.update(stored.values())
        fields = templates.get(name, ())
        sources.update(stored[each] for each in fields if each in stored)
    return sources
