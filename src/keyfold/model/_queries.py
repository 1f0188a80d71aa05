"""Construction of queries: from values of fields to a key condition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keyfold.errors import FieldUnknown, MissingKeyPart, QueryInvalid
from keyfold.model._index_choices import choose_alternative
from keyfold.model._key_parts import KeyPart
from keyfold.model._keys import Index, Key, TableLike
from keyfold.model._paged_reads import Query
from keyfold.model._ranges import KeyState, open_range
from keyfold.model._reads import ResultShape
from keyfold.model._schemas import EntitySchema
from keyfold.values import AttributeValue


def make_query(
    table: TableLike, schema: EntitySchema | None, index: Index | None, fields: Mapping[str, Any]
) -> Query[Any]:
    """Return a query for the entities whose key has these values of fields.

    Without a schema, `fields` are key attributes. Raises FieldUnknown, MissingKeyPart and
    QueryInvalid.
    """
    key = table.key if index is None else index.key
    if schema is None:
        keys = _read_attributes(table, index, key, fields)
    else:
        keys = _read_fields(schema, index, key, fields)
    return Query(table, index, ResultShape(schema), keys=keys)


def _read_attributes(
    table: TableLike, index: Index | None, key: Key, fields: Mapping[str, Any]
) -> KeyState:
    where = table.name if index is None else f"{table.name}.{index.name}"
    for name in fields:
        if name not in key.names:
            raise FieldUnknown(where, name, key.names)
    for name in key.partition:
        if name not in fields:
            raise MissingKeyPart(where, _show(key), name, tuple(fields))
    equals: list[tuple[str, AttributeValue]] = []
    for position, name in enumerate(key.names):
        if name not in fields:
            later = [other for other in key.names[position:] if other in fields]
            if later:
                raise MissingKeyPart(where, _show(key), name, tuple(fields))
            return KeyState(tuple(equals), KeyPart(name), {})
        equals.append((name, KeyPart(name).encode(fields[name])))
    return KeyState(tuple(equals))


def _read_fields(
    schema: EntitySchema, index: Index | None, key: Key, fields: Mapping[str, Any]
) -> KeyState:
    where = schema.name if index is None else f"{schema.name} by {index.name}"
    if index is None:
        parts = schema.keys
    else:
        found = schema.index_alternatives.get(index.name)
        if found is None:
            names = ", ".join(index.key.names)
            fact = f"it is never in index {index.name}: no field or template fills {names}"
            raise QueryInvalid(schema.name, fact, "Declare one in the entity's indexes.")
        parts = found[0]
        if len(found) > 1:
            parts, fields = choose_alternative(where, key, found, fields)
    usable = [name for part in parts for name in part.fields]
    for name in fields:
        if name not in usable:
            raise FieldUnknown(where, name, tuple(dict.fromkeys(usable)))
    fields = schema.coerce(fields)
    partition, sort = parts[: len(key.partition)], parts[len(key.partition) :]
    equals: list[tuple[str, AttributeValue]] = []
    for part in partition:
        missing = [name for name in part.fields if fields.get(name) is None]
        if missing:
            raise MissingKeyPart(where, _show(key), missing[0], tuple(fields))
        rendered = part.render(fields)
        assert rendered is not None  # nothing is missing
        equals.append((part.attribute, rendered))
    used = {name for part in partition for name in part.fields}
    for position, part in enumerate(sort):
        if all(name in fields for name in part.fields):
            rendered = part.render(fields)
            if rendered is None:
                raise MissingKeyPart(where, _show(key), part.fields[0], tuple(fields))
            equals.append((part.attribute, rendered))
            used.update(part.fields)
            continue
        state = _make_open_state(equals, part, fields)
        used.update(state.known)
        _check_used(where, key, sort[position:], fields, used)
        return state
    return KeyState(tuple(equals))


def _make_open_state(
    equals: list[tuple[str, AttributeValue]], part: KeyPart, fields: Mapping[str, Any]
) -> KeyState:
    """Return the key condition if the next sort key part is known only up to a prefix or not at all."""
    if part.template is None:
        return KeyState(tuple(equals), part, {})
    known: dict[str, Any] = {}
    for name in part.template.fields:
        if fields.get(name) is None:
            break
        known[name] = fields[name]
    return KeyState(tuple(equals), part, known, open_range(part, known))


def _check_used(
    where: str, key: Key, sort: tuple[KeyPart, ...], fields: Mapping[str, Any], used: set[str]
) -> None:
    unused = [name for name in fields if name not in used]
    if unused:
        order = [name for part in sort for name in part.fields]
        missing = next(name for name in order if name not in used)
        raise MissingKeyPart(where, _show(key), missing, tuple(fields))


def _show(key: Key) -> str:
    return " and ".join(key.names)
