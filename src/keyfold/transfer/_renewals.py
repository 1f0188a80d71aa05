"""Items in today's form, also under another primary key, if `Entity.upgrade` gives them one.

A load renews items before they are written, so that they need no backfill.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from keyfold.errors import KeyfoldError
from keyfold.expressions import And, Comparison, Condition, FunctionCall, Path, RequestPrinter
from keyfold.expressions.comparison import are_equal
from keyfold.model import Table
from keyfold.model._formatting import show_item
from keyfold.model._schemas import EntitySchema, ItemMismatch
from keyfold.store._item_checks import read_writable
from keyfold.store._item_patches import find_patch
from keyfold.store._item_schemas import find_item_schema
from keyfold.values import Item, normalise_item, restore_binaries


@dataclass(frozen=True, slots=True)
class ItemMove:
    """An item that belongs under another primary key, in today's form."""

    entity: str
    key: Item
    new_key: Item
    old: Item = field(repr=False)
    new: Item = field(repr=False)
    # Declared attributes that the item does not have.
    absent: tuple[str, ...] = field(default=(), repr=False)

    def to_request(self, table: str) -> dict[str, Any]:
        """Return the transaction that moves the item, if it is unchanged and its new key is free."""
        partition = Path((next(iter(self.key)),))
        is_free = FunctionCall("attribute_not_exists", (partition,))
        exists = FunctionCall("attribute_exists", (partition,))
        unchanged: list[Condition] = [
            Comparison("=", Path((name,)), value)
            for name, value in self.old.items()
            if name not in self.key
        ]
        # What another program adds meanwhile would be lost.
        unchanged += [
            FunctionCall("attribute_not_exists", (Path((name,)),)) for name in self.absent
        ]
        put, delete = RequestPrinter(), RequestPrinter()
        put_body: dict[str, Any] = {
            "TableName": table,
            "Item": restore_binaries(self.new),
            "ConditionExpression": put.write_condition(is_free),
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
        put.add_to(put_body)
        delete_body: dict[str, Any] = {
            "TableName": table,
            "Key": restore_binaries(self.key),
            "ConditionExpression": delete.write_condition(And((exists, *unchanged))),
        }
        delete.add_to(delete_body)
        if delete.values:
            delete_body["ExpressionAttributeValues"] = restore_binaries(delete.values)
        return {
            "TransactItems": [{"Put": put_body}, {"Delete": delete_body}],
            "ReturnConsumedCapacity": "TOTAL",
        }

    def to_json(self) -> dict[str, Any]:
        """Return the move as a JSON object with the members of a patch, and the new key."""
        names = self.new.keys() - self.new_key.keys()
        return {
            "entity": self.entity,
            "key": self.key,
            "sets": {
                name: self.new[name]
                for name in sorted(names)
                if name not in self.old or not are_equal(self.old[name], self.new[name])
            },
            "removes": sorted(self.old.keys() - self.new.keys()),
            "new_key": self.new_key,
        }


def find_move(table: Table, item: Item) -> ItemMove | None:
    """Return the move of a normalised item; None if it has the key that it should have.

    Raises ItemMismatch for an item that matches no entity, or fails validation.
    """
    restored = restore_binaries(item)
    schema = find_item_schema(table, restored)
    moved = schema.with_new_key(restored)
    if moved is restored:
        return None
    if schema.unique:
        raise ItemMismatch(
            "its key would change, which an entity with unique fields does not allow"
        )
    new = _make_item(schema, moved)
    key, new_key = ({name: each[name] for name in table.key.names} for each in (item, new))
    absent = tuple(sorted(schema.declared_names - item.keys()))
    return ItemMove(schema.name, key, new_key, item, new, absent)


def renew_item(table: Table, item: Item) -> tuple[str, Item]:
    """Return the entity name of a normalised item, and the item as its entity stores it today.

    Returns the item itself if it is up to date. Its key may change: where `upgrade` returns another,
    and where the key is written in another way than the entity writes it. Raises ItemMismatch as
    `read_writable` does.
    """
    restored = restore_binaries(item)
    schema = table.find_schema(restored)
    moved: Item = dict(schema.with_new_key(restored))
    made = _encode(schema, schema.decode(moved))
    if not item.keys() >= {*table.key.names}:
        return schema.name, item  # the service refuses it
    if made == restored and not schema.reserved:
        return schema.name, item
    read_writable(table, moved)
    current = normalise_item({**moved, **{name: made[name] for name in table.key.names}})[0]
    _, patch = find_patch(table, current)
    if patch is not None:
        kept = {name: current[name] for name in current if name not in patch.removes}
        current = {**kept, **patch.sets}
    return schema.name, item if current == item else current


def describe_taken(move: ItemMove) -> str:
    """Return why an item stays where it is, if another one has its new key."""
    return f"its key should be {show_item(move.new_key)}, which another item has"


def _make_item(schema: EntitySchema, item: Mapping[str, Any]) -> Item:
    return normalise_item(_encode(schema, schema.decode(item)))[0]


def _encode(schema: EntitySchema, value: BaseModel) -> Item:
    try:
        return schema.encode(value)
    except KeyfoldError as error:
        raise ItemMismatch(str(error)) from error
