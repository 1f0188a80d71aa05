"""What a pattern returned, for the browser: entities by kind, in the shape of all items, or a value.

A row is an item as every room shows it. A projection has no key, and `model` names its type; a reference has
the key alone, and `ref` is true.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic import BaseModel

from keyfold.errors import KeyfoldError
from keyfold.model import Collection, Entity, Page, RawItem, Ref, Table
from keyfold.model._any_values import encode_any
from keyfold.model._schemas import EntitySchema
from keyfold.model._type_names import name_type
from keyfold.studio._shown_items import name_item, show_item
from keyfold.studio._shown_keys import show_key
from keyfold.studio._shown_values import show_stored
from keyfold.values import AttributeValue


@dataclass(slots=True)
class _Group:
    """Rows of one kind; `label` is the field of the collection that they are from."""

    kind: str
    entity: str | None
    label: str | None
    is_single: bool
    rows: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


@dataclass(slots=True)
class _ResultReader:
    """Sorts the values of a result into groups."""

    table: Table
    now: float
    groups: dict[tuple[str | None, str], _Group] = field(
        default_factory=dict[tuple[str | None, str], _Group]
    )
    invalid: list[RawItem] = field(default_factory=list[RawItem])
    values: list[AttributeValue] = field(default_factory=list[AttributeValue])
    missing: int = 0

    def read(self, value: Any, label: str | None = None, *, is_single: bool = True) -> None:
        match value:
            case None:
                self.missing += 1
            case Page():
                page = cast("Page[Any]", value)
                self.invalid += page.invalid
                self._read_all(page, label)
            case Collection():
                self.invalid += value.invalid
                for name, each in value:
                    if each is not None:
                        self.read(each, name)
            case RawItem():
                self.invalid.append(value)
            case Ref():
                self._add_ref(cast("Ref[Any]", value), label, is_single=is_single)
            case Entity():
                schema = type(value).keyfold_schema()
                row = show_item(self.table, schema.encode(value), now=self.now)
                self._add(schema.name, schema.name, label, row, is_single=is_single)
            case BaseModel():
                kind = type(value).__name__
                self._add(kind, None, label, show_record(value), is_single=is_single)
            case list() | tuple():
                self._read_all(cast("list[Any]", value), label)
            case _:
                self.values.append(encode_value(value))

    def _read_all(self, values: Iterable[Any], label: str | None) -> None:
        for each in values:
            self.read(each, label, is_single=False)

    def _add_ref(self, ref: Ref[Any], label: str | None, *, is_single: bool) -> None:
        schema: EntitySchema = cast("Any", ref.entity).keyfold_schema()
        parts = {part.attribute: part for part in schema.keys}
        names = self.table.key.names
        row: dict[str, Any] = {
            **_empty_row(schema.name),
            "ref": True,
            "key": {name: show_stored(ref.key[name]) for name in names},
            "keys": [show_key(parts.get(name), name, ref.key[name]) for name in names],
            "fields": [
                {
                    "name": name,
                    "attribute": None,
                    "type": name_type(schema.fields[name].annotation),
                    "value": show_stored(encode_value(value)),
                }
                for name, value in ref.parts.items()
            ],
        }
        for key in row["keys"]:
            key["value"] = row["key"][key["attribute"]]
        self._add(f"references to {schema.name}", schema.name, label, row, is_single=is_single)

    def _add(
        self,
        kind: str,
        entity: str | None,
        label: str | None,
        row: dict[str, Any],
        *,
        is_single: bool,
    ) -> None:
        group = self.groups.setdefault((label, kind), _Group(kind, entity, label, is_single))
        group.is_single = group.is_single and is_single
        group.rows.append(row)


def show_result(table: Table, value: Any, now: float, *, writes: bool) -> dict[str, Any]:
    """Return the result of a pattern for the browser."""
    reader = _ResultReader(table, now)
    reader.read(value)
    count = sum(len(each.rows) for each in reader.groups.values())
    shape = "items" if reader.groups or reader.invalid else "value" if reader.values else "nothing"
    if shape == "nothing" and writes:
        shape = "done"
    if isinstance(value, Page):
        shape = "items"
    return {
        "shape": shape,
        "name": _name(value),
        "page": isinstance(value, Page),
        "count": count,
        "missing": reader.missing if isinstance(value, list | tuple) else 0,
        "groups": [
            {
                "kind": each.kind,
                "entity": each.entity,
                "label": each.label,
                "single": each.is_single,
                "rows": each.rows,
            }
            for each in reader.groups.values()
        ],
        "values": [show_stored(each) for each in reader.values],
        "cursor": value.cursor if isinstance(value, Page | Collection) else None,
        "invalid": [_show_invalid(table, each, now) for each in reader.invalid],
    }


def _name(value: Any) -> str:
    """Return what the result is called: the collection, or the kinds that it has."""
    if isinstance(value, Collection):
        return type(value).__name__
    return "" if value is None or isinstance(value, Page | list | tuple) else type(value).__name__


def _show_invalid(table: Table, raw: RawItem, now: float) -> dict[str, Any]:
    return {
        "entity": raw.entity,
        "reason": raw.reason,
        "name": name_item(table, dict(raw.key)),
        "item": show_item(table, dict(raw.item), now=now),
    }


def show_record(value: BaseModel) -> dict[str, Any]:
    """Return a model that is no entity, such as a projection, as a row."""
    fields = type(value).model_fields
    row = _empty_row(None)
    row["model"] = type(value).__name__
    row["fields"] = [
        {
            "name": name,
            "attribute": None,
            "type": name_type(fields[name].annotation) if name in fields else "",
            "value": None if each is None else show_stored(encode_value(each)),
        }
        for name, each in value
    ]
    return row


def _empty_row(entity: str | None) -> dict[str, Any]:
    return {
        "entity": entity,
        "own": False,
        "key": None,
        "keys": [],
        "fields": [],
        "others": [],
        "bytes": None,
        "expires": None,
        "expired": False,
        "problem": None,
    }


def encode_value(value: Any) -> AttributeValue:
    """Return any value as DynamoDB would have it; as text if it cannot have it."""
    try:
        return encode_any(_to_mapping(value))
    except (KeyfoldError, TypeError, ValueError):
        return {"S": str(value)}


def _to_mapping(value: Any) -> Any:
    if isinstance(value, Mapping):
        members = cast("Mapping[Any, Any]", value)
        return {str(name): _to_mapping(each) for name, each in members.items()}
    return value
