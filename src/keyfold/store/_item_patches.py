"""Patches: the attributes in which a stored item differs from its entity's declaration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from keyfold.errors import KeyfoldError
from keyfold.expressions import (
    Action,
    And,
    Comparison,
    Condition,
    FunctionCall,
    Path,
    Remove,
    RequestPrinter,
    SetTo,
)
from keyfold.expressions.comparison import are_equal
from keyfold.model import Table
from keyfold.model._formatting import show_item
from keyfold.model._schemas import EntitySchema, ItemMismatch
from keyfold.store._canonical_items import to_canonical
from keyfold.store._item_checks import find_sources
from keyfold.store._item_schemas import find_item_schema
from keyfold.values import AttributeValue, Item, normalise_item, restore_binaries


@dataclass(frozen=True, slots=True)
class ItemPatch:
    """The attributes to set and to remove so that one item matches its declaration.

    `derived_from` has the attributes that the patch was derived from, with None for those that
    were absent: the patch is valid as long as they are unchanged.
    """

    entity: str
    key: Item
    sets: Item
    removes: tuple[str, ...]
    derived_from: Mapping[str, AttributeValue | None] = field(repr=False)

    def to_request(self, table: str) -> dict[str, Any]:
        """Return the UpdateItem request that applies the patch if it is still valid."""
        actions: list[Action] = [SetTo(Path((name,)), value) for name, value in self.sets.items()]
        actions += [Remove(Path((name,))) for name in self.removes]
        # UpdateItem would otherwise recreate a deleted item with nothing but index keys.
        exists = FunctionCall("attribute_exists", (Path((next(iter(self.key)),)),))
        unchanged: list[Condition] = [
            FunctionCall("attribute_not_exists", (Path((name,)),))
            if value is None
            else Comparison("=", Path((name,)), value)
            for name, value in self.derived_from.items()
        ]
        printer = RequestPrinter()
        request: dict[str, Any] = {
            "TableName": table,
            "Key": restore_binaries(self.key),
            "UpdateExpression": printer.write_update(actions),
            "ConditionExpression": printer.write_condition(And((exists, *unchanged))),
            "ReturnConsumedCapacity": "TOTAL",
        }
        printer.add_to(request)
        if printer.values:
            request["ExpressionAttributeValues"] = restore_binaries(printer.values)
        return request

    def to_json(self) -> dict[str, Any]:
        """Return the patch as a JSON object."""
        return {
            "entity": self.entity,
            "key": self.key,
            "sets": self.sets,
            "removes": list(self.removes),
            "new_key": None,
        }


def find_patch(table: Table, item: Item) -> tuple[str, ItemPatch | None]:
    """Return the entity of a normalised item, and its patch; None if it is up to date.

    The item is read as an entity and encoded again: attributes that differ or are missing are set.
    Former attribute names, attributes that `upgrade` dropped, and keys of indexes that the entity
    is not in are removed. Attributes that are not declared are left alone. Raises ItemMismatch for
    an item that matches no entity, fails validation, or would need a different primary key or
    another unique value.
    """
    restored = restore_binaries(item)
    schema = find_item_schema(table, restored)
    value = schema.decode(restored)
    try:
        rendered = normalise_item(schema.encode(value))[0]
    except KeyfoldError as error:
        raise ItemMismatch(str(error)) from error
    key = {name: item[name] for name in table.key.names}
    _check_key(schema, key, rendered)
    sets = {
        name: rendered[name]
        for name in sorted(rendered.keys() - key.keys())
        if name not in item or not are_equal(item[name], rendered[name])
    }
    named, upgraded = schema.current_forms(restored)
    # Former names, and what an upgrade dropped.
    gone = item.keys() - upgraded.keys()
    derived = schema.own_attributes.union(
        name for index in table.indexes for name in index.key.names
    )
    removable = gone | (derived - key.keys() - schema.codec.by_stored.keys())
    # An undeclared attribute that is the key of an index would leave the item in that index.
    kept = rendered.keys() & schema.declared_names
    removes = tuple(sorted(removable & item.keys() - kept))
    if not sets and not removes:
        return schema.name, None
    # An upgrade may depend on any attribute.
    sources = (
        item.keys() | sets if named is not upgraded else find_sources(schema, [*sets, *removes])
    )
    derived_from = {name: item.get(name) for name in sorted(sources - key.keys())}
    return schema.name, ItemPatch(schema.name, key, sets, removes, derived_from)


def _check_key(schema: EntitySchema, key: Item, rendered: Item) -> None:
    made = {name: rendered[name] for name in key}
    if to_canonical(made) != to_canonical(key):
        raise ItemMismatch(
            f"its key is {show_item(key)}, but {schema.name} declares {show_item(made)}; "
            "a key cannot be changed in place"
        )
