"""Declared and inferred tables, compared up to the names of fields and entities."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from keyfold import Table
from keyfold.errors import KeyfoldError
from keyfold.export._attributes import write_template
from keyfold.keys import read_fields
from keyfold.model._schemas import EntitySchema, ItemMismatch
from keyfold.values import Item


def normalise_templates(templates: Sequence[str]) -> tuple[str, ...]:
    """Return templates with fields that are named by the order in which they occur."""
    numbers: dict[str, int] = {}
    found: list[str] = []
    for template in templates:
        names = {each.name for each in read_fields(template, owner="test")}
        values: Any = {name: _Placeholder(numbers.setdefault(name, len(numbers))) for name in sorted(names, key=template.index)}  # fmt: skip
        found.append(template.format_map(values))
    return tuple(found)


class _Placeholder:
    def __init__(self, number: int) -> None:
        self.number = number

    def __format__(self, spec: str) -> str:
        return f"<{self.number}{f':{spec}' if spec else ''}>"


def key_of(schema: EntitySchema) -> tuple[str, ...]:
    """Return the key templates of an entity, normalised."""
    names = {name: name for name in schema.fields}
    return normalise_templates([write_template(part, names) for part in schema.keys])


def find_own_schemas(design: Table) -> list[EntitySchema]:
    """Return the entities of a design's own modules: tests may have declared more on its table."""
    return [
        each
        for each in design.entities.values()
        if getattr(sys.modules[each.entity.__module__], each.entity.__name__, None) is each.entity
        and each.entity.__module__.startswith("keyfold.designs.")
    ]


def find_entity(table: Table, item: Item) -> str:
    """Return the entity of an item; items of the fallback are told apart by their partition."""
    try:
        schema = table.find_schema(item)
    except (ItemMismatch, KeyfoldError):
        return "none"
    if schema is table.fallback:
        return f"{schema.name} in {item[table.key.partition[0]]}"
    return schema.name


def group(table: Table, items: Iterable[Item]) -> set[frozenset[str]]:
    """Return the keys of items, grouped by entity."""
    groups: dict[str, set[str]] = defaultdict(set)
    for item in items:
        key = repr([item[name] for name in table.key.names])
        groups[find_entity(table, item)].add(key)
    return {frozenset(each) for each in groups.values()}
