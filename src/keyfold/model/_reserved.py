"""Reserved partition keys: those that the table's fallback may read but not write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keyfold.errors import WriteRefused
from keyfold.model._schemas import EntitySchema
from keyfold.values import AttributeValue, Item


def find_reserved(schema: EntitySchema, key: Mapping[str, AttributeValue]) -> str | None:
    """Return the reserved prefix of an item's partition key; None if the entity may write it.

    Only the table's fallback has reserved prefixes: other entities are declared for their keys.
    """
    if not schema.reserved:
        return None
    text: Any = key.get(schema.partition.attribute, {}).get("S")
    if not isinstance(text, str):
        return None
    return next((each for each in schema.reserved if text.startswith(each)), None)


def check_not_reserved(schema: EntitySchema, key: Mapping[str, AttributeValue]) -> None:
    """Raise WriteRefused if a write of the fallback has a partition key that is reserved."""
    prefix = find_reserved(schema, key)
    if prefix is not None:
        name = schema.partition.attribute
        raise WriteRefused(
            f"{name} {key[name]['S']!r:.80}",
            reserved_fact(name, prefix),
            "Use another one, or the entity that is declared for it.",
        )


def make_write_key(
    schema: EntitySchema, parts: Mapping[str, Any]
) -> tuple[Item, Mapping[str, Any]]:
    """Return the key of an item to write, and the values of its parts; raises WriteRefused."""
    made = schema.make_key(parts)
    if schema.reserved:
        check_not_reserved(schema, made[0])
    return made


def reserved_fact(attribute: str, prefix: str) -> str:
    """Return the sentence about an item whose partition key is reserved, without its end."""
    return f"each {attribute} that starts with {prefix!r} is reserved for declared entities"
