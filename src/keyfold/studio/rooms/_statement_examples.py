"""Example statements of a table, about items that it has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from keyfold.expressions.partiql.completion import quote_name
from keyfold.model import Index, Table
from keyfold.model._hidden_attributes import hide_secrets
from keyfold.model._secrets import MASKED
from keyfold.studio._shown_items import find_entity
from keyfold.studio._shown_keys import show_template
from keyfold.studio.rooms._statement_plans import write_value
from keyfold.values import AttributeValue, Item

_MOST_ENTITIES = 3
_ONE_LINE = 60


class ExampleStatement(NamedTuple):
    """A statement, and what it shows."""

    title: str
    statement: str


def make_examples(table: Table, items: Iterable[Item], *, writes: bool) -> list[ExampleStatement]:
    """Return statements about some items of a table: by key, by index, a scan, and writes."""
    schemas = [*table.entities.values()]
    found: dict[str, Item] = {}
    for item in items:
        schema = find_entity(table, item)
        if schema is not None and schema.name not in found:
            found[schema.name] = hide_secrets(schemas, item)
    examples = [
        each
        for name, item in list(found.items())[:_MOST_ENTITIES]
        for each in _read_by_key(table, name, item)
    ]
    examples += _read_by_indexes(table, [*found.values()])
    examples += _use_an_attribute(table, found, writes=writes)
    # Two entities may share an item collection.
    return list({each.statement: each for each in examples}.values())


def _read_by_key(table: Table, name: str, item: Item) -> Iterator[ExampleStatement]:
    yield ExampleStatement(f"one {name}", _select(table, None, _equal(item, table.key.names)))
    if len(table.key.names) == 1:
        return
    partition = _equal(item, table.key.partition)
    title = f"the item collection of one {name}"
    yield ExampleStatement(title, _select(table, None, partition))
    sort = table.entities[name].keys[1]
    pieces: list[dict[str, str]] = show_template(sort)["pieces"]
    start = pieces[0]
    if len(pieces) > 1 and "part" not in start:
        prefix = write_value({"S": start["text"]}, most=None)
        condition = f"begins_with({quote_name(sort.attribute)}, {prefix})"
        text = _select(table, None, f"{partition} AND {condition}")
        yield ExampleStatement(f"every {name} of a partition", text)


def _read_by_indexes(table: Table, items: list[Item]) -> Iterator[ExampleStatement]:
    for index in table.indexes:
        held = next((each for each in items if _is_in(index, each)), None)
        # Statements cannot use indexes with keys of several attributes.
        if held is not None and max(len(index.key.partition), len(index.key.sort)) == 1:
            text = _select(table, index.name, _equal(held, index.key.names))
            yield ExampleStatement(f"through {index.name}", text)


def _use_an_attribute(
    table: Table, found: dict[str, Item], *, writes: bool
) -> Iterator[ExampleStatement]:
    """Yield a scan by an attribute, and writes of it, for the first entity that has a plain one."""
    for name, item in found.items():
        attribute = _find_plain(table, item)
        if attribute is None:
            continue
        condition = _equal(item, [attribute])
        yield ExampleStatement("by an attribute: a scan", _select(table, None, condition))
        if writes:
            place, key = quote_name(table.name), _equal(item, table.key.names)
            change = f"UPDATE {place} SET {condition} WHERE {key} RETURNING ALL NEW *"  # noqa: S608 - an example
            yield ExampleStatement(f"update one {name}", change)
            removal = f"DELETE FROM {place} WHERE {key} RETURNING ALL OLD *"  # noqa: S608 - an example
            yield ExampleStatement(f"delete one {name}", removal)
        return


def _select(table: Table, index: str | None, condition: str) -> str:
    place = quote_name(table.name) if index is None else f'"{table.name}"."{index}"'
    return f"SELECT * FROM {place} WHERE {condition}"  # noqa: S608 - an example


def _equal(item: Item, names: Iterable[str]) -> str:
    pairs = ((quote_name(name), write_value(item[name], most=None)) for name in names)
    return " AND ".join(f"{name} = {value}" for name, value in pairs)


def _is_in(index: Index, item: Item) -> bool:
    return all(name in item for name in index.key.names)


def _find_plain(table: Table, item: Item) -> str | None:
    """Return an attribute that statements can compare and set: a short text or a number."""
    keyed = {*table.key.names, *(name for each in table.indexes for name in each.key.names)}
    for name, value in item.items():
        if name not in keyed and name != table.ttl and _is_plain(value):
            return name
    return None


def _is_plain(value: AttributeValue) -> bool:
    ((kind, data),) = value.items()
    return kind == "N" or (kind == "S" and 0 < len(data) < _ONE_LINE and data != MASKED)
