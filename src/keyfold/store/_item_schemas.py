"""The schema of an item whose entity may have been renamed since it was written."""

from __future__ import annotations

from collections.abc import Mapping

from keyfold.model._schemas import EntitySchema, ItemMismatch
from keyfold.model._tables import Table
from keyfold.values import AttributeValue


def find_item_schema(table: Table, item: Mapping[str, AttributeValue]) -> EntitySchema:
    """Return the schema of an item; by its key alone, if no entity has its kind.

    Raises ItemMismatch for an item that is of no entity, or may be of several.
    """
    attribute = table.type_attribute
    if attribute is None or attribute not in item:
        return table.find_schema(item)
    kind = item[attribute].get("S")
    for schema in table.entities.values():
        if schema.type_attribute is not None and kind in schema.kinds:
            return schema
    # The type was renamed: the item's key must match exactly one entity.
    bare = {name: value for name, value in item.items() if name != attribute}
    fitting = [
        schema
        for schema in table.entities.values()
        if schema.fits(bare) and table.is_of(schema, bare)
    ]
    if len(fitting) == 1:
        return fitting[0]
    names = ", ".join(schema.name for schema in fitting) or "none"
    raise ItemMismatch(f"no entity has {attribute} {kind!r}; its key matches {names}")
