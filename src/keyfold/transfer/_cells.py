"""Lossless conversion between the items of an entity and rows of CSV.

A column is a field, with its name in Python. Columns of text, numbers, booleans and binaries hold
plain values: `true` or `false` for booleans, base64 for binaries. Everything else is DynamoDB
JSON, which begins with a brace: lists, maps, sets, and values stored as another type than the
field's. Text that is empty, or begins with a quote or a brace, is written as a JSON string; an
empty cell means that the attribute is absent. The column `*` holds whatever the fields do not
determine, such as undeclared attributes and outdated index keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import orjson
from pydantic import ValidationError

from keyfold.errors import KeyfoldError, ServiceError
from keyfold.model._any_values import decode_any
from keyfold.model._codecs import StoredField
from keyfold.model._formatting import summarise
from keyfold.model._schemas import EntitySchema, ItemMismatch
from keyfold.store._canonical_items import to_canonical
from keyfold.values import (
    AttributeValue,
    Item,
    normalise_item,
    normalise_value,
    restore_binaries,
)

OTHER = "*"
_PLAIN = frozenset({"S", "N", "BOOL", "B"})
_NEEDS_QUOTES = ('"', "{")


def list_columns(schema: EntitySchema) -> list[str]:
    """Return the columns of an entity: its fields, and `*` for everything else."""
    return [*schema.fields, OTHER]


def to_cells(schema: EntitySchema, item: Item) -> dict[str, str]:
    """Return the row of a normalised item; raises ItemMismatch."""
    value = schema.decode(restore_binaries(item))
    cells: dict[str, str] = {}
    for name, field in schema.fields.items():
        stored = None if field.is_part else field.find(item)
        if stored is None and name in schema.key_fields:
            # It is stored only in the key.
            stored = normalise_value(field.codec.encode(getattr(value, name)))[0]
        cells[name] = "" if stored is None else _to_cell(stored, _column_type(field))
    other = _find_other(item, from_cells(schema, cells))
    cells[OTHER] = orjson.dumps(other).decode() if other else ""
    return cells


def from_cells(schema: EntitySchema, cells: Mapping[str, str]) -> Item:
    """Return the normalised item of a row; raises ItemMismatch.

    A field without a column gets its default; a field with an empty cell is absent.
    """
    raw: dict[str, Any] = {}
    for name, cell in cells.items():
        if cell and name != OTHER:
            field = schema.fields[name]
            try:
                stored = restore_binaries({name: _from_cell(cell, _column_type(field))})[name]
            except (ServiceError, ValueError) as error:
                raise ItemMismatch(
                    f"{name}: {cell!r:.80} is not valid in this column: {error}"
                ) from None
            raw[name] = (field.codec.decode or decode_any)(stored)
    schema.codec.fill(raw)
    try:
        value = schema.validate(raw)
    except ValidationError as error:
        raise ItemMismatch(summarise(error, whole="item")) from error
    try:
        item = normalise_item(schema.encode(value))[0]
    except KeyfoldError as error:
        raise ItemMismatch(str(error)) from error
    for name, cell in cells.items():
        if not cell and name != OTHER and not schema.fields[name].is_part:
            # Absent, not stored with its default: readers fill the default in.
            item.pop(schema.fields[name].stored, None)
    return _with_other(item, cells.get(OTHER, ""))


def from_whole(cell: str) -> Item:
    """Return the normalised item that a cell holds as JSON; raises ItemMismatch."""
    return _with_other({}, cell)


def _column_type(field: StoredField) -> str | None:
    """Return the type whose values a column holds as plain text; None if all are JSON."""
    kinds = field.codec.kinds & _PLAIN
    return next(iter(kinds)) if len(field.codec.kinds) == 1 and kinds else None


def _to_cell(value: AttributeValue, column: str | None) -> str:
    ((kind, data),) = value.items()
    if kind == column:
        match kind:
            case "S" if data and not data.startswith(_NEEDS_QUOTES):
                return data
            case "S":
                return orjson.dumps(data).decode()
            case "BOOL":
                return "true" if data else "false"
            case _ if data:
                return data
            case _:
                pass
    return orjson.dumps(value).decode()


def _from_cell(cell: str, column: str | None) -> AttributeValue:
    if cell.startswith("{") or column is None:
        return normalise_value(orjson.loads(cell))[0]
    match column:
        case "S":
            return {"S": orjson.loads(cell) if cell.startswith('"') else cell}
        case "BOOL":
            word = cell.strip().lower()
            if word not in ("true", "false"):
                raise ValueError("it is neither true nor false")
            return {"BOOL": word == "true"}
        case _:
            return normalise_value({column: cell.strip()})[0]


def _find_other(item: Item, derived: Item) -> dict[str, AttributeValue | None]:
    """Return the attributes that differ from those its fields determine; None for absent ones."""
    lacking: dict[str, AttributeValue | None] = dict.fromkeys(derived.keys() - item.keys())
    return lacking | {
        name: value
        for name, value in item.items()
        if name not in derived or to_canonical({"": value}) != to_canonical({"": derived[name]})
    }


def _with_other(item: Item, cell: str) -> Item:
    if not cell:
        return item
    try:
        read: Any = orjson.loads(cell)
    except ValueError as error:
        raise ItemMismatch(f"{OTHER}: it is not JSON: {error}") from None
    if not isinstance(read, dict):
        raise ItemMismatch(f"{OTHER}: it is not a JSON object")
    other = cast(dict[str, Any], read)
    kept = {name: value for name, value in item.items() if name not in other}
    added = {name: value for name, value in other.items() if value is not None}
    try:
        return kept | normalise_item(added)[0]
    except ServiceError as error:
        raise ItemMismatch(f"{OTHER}: {error.message}") from None
