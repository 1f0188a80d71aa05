"""Drafts: what somebody typed, as the item that would be stored.

A draft is `{"mode": "typed", "entity": "Order", "fields": {…}, "others": {…}}`, with the values of fields
by name, or `{"mode": "raw", "text": "…"}`, with a whole item in DynamoDB's JSON. Values are in DynamoDB's
JSON, and null for a field without one. A field that is stored only in the key has the text in the key.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from keyfold.errors import (
    KeyfoldError,
    KeyPartInvalid,
    MissingKeyPart,
    ServiceError,
    ValueInvalid,
)
from keyfold.model import Table
from keyfold.model._any_values import decode_any
from keyfold.model._deferred_writes import complete_entity
from keyfold.model._reserved import find_reserved, reserved_fact
from keyfold.model._schemas import EntitySchema, ItemMismatch
from keyfold.store._item_checks import read_writable
from keyfold.store._own_items import is_own_item
from keyfold.studio._bodies import StudioBody
from keyfold.studio._problems import StudioProblem, describe_problem
from keyfold.studio._shown_items import find_entity
from keyfold.transfer._json_items import NumberText, parse_exactly
from keyfold.values import AttributeValue, Item, normalise_item, normalise_value, restore_binaries

# Before the name of an attribute that the entity does not declare, in errors.
OTHER = "others."


@dataclass(frozen=True, slots=True)
class DraftFault:
    """What is wrong with a draft: the field or attribute, as a path, and why; "" for the whole."""

    field: str
    message: str
    # Where in the text of a raw draft it is.
    line: int | None = None
    column: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the fault as a JSON object."""
        return {
            "field": self.field,
            "message": self.message,
            "line": self.line,
            "column": self.column,
        }


class DraftInvalid(Exception):
    """A draft cannot be stored; `faults` say why."""

    def __init__(self, faults: list[DraftFault]) -> None:
        super().__init__(faults)
        self.faults = faults


@dataclass(frozen=True, slots=True)
class DraftItem:
    """The item of a draft, normalised; `schema` and `value` are None for an item of no entity."""

    item: Item
    schema: EntitySchema | None = None
    value: BaseModel | None = field(default=None, repr=False)


def read_draft(
    table: Table, draft: Mapping[str, Any], before: Item | None, now: datetime
) -> DraftItem:
    """Return the item of a draft that would replace `before`; None if it would be new.

    Raises DraftInvalid.
    """
    body = StudioBody(dict(draft))
    if body.text("mode") == "raw":
        return check_raw(table, parse_raw(body.text("text")))
    name = body.text("entity")
    schema = table.entities.get(name)
    if schema is None:
        known = ", ".join(table.entities)
        message = f"{table.name} has no entity {name!r}; it has {known}."
        raise StudioProblem(404, "entity-unknown", message)
    return read_typed(schema, body.mapping("fields"), body.mapping("others"), before, now)


def read_typed(
    schema: EntitySchema,
    fields: Mapping[str, Any],
    others: Mapping[str, Any],
    before: Item | None,
    now: datetime,
) -> DraftItem:
    """Return the item of typed values, validated and completed as the store does; raises DraftInvalid."""
    stored, faults = _normalise_fields(schema, fields)
    added = _normalise_others(schema, others, faults)
    if faults:
        raise DraftInvalid(faults)
    value = _validate(schema, stored)
    try:
        # Read once more as the item that it is, with all that the entity does not declare.
        made = normalise_item(schema.encode(value))[0]
        own = {each.stored: stored[name] for name, each in schema.fields.items()
               if name in stored and not each.is_part}  # fmt: skip
        value = schema.decode(restore_binaries({**added, **made, **own, **_keys_of(schema, made)}))
        if before is None or (schema.completion is not None and schema.completion.has_hook):
            value = complete_entity(schema, value, now)
        item = normalise_item(schema.encode(value))[0]
    except ItemMismatch as error:
        raise DraftInvalid([DraftFault("", str(error))]) from None
    except KeyfoldError as error:
        raise DraftInvalid([_fault_of(schema, error)]) from None
    # Exactly as they were typed.
    item |= added
    if before is None and schema.version_field is not None:
        item[schema.version_field.stored] = {"N": "1"}
    elif before is not None:
        # A default that is not stored yet stays so.
        unset = [each.stored for name, each in schema.fields.items() if name not in stored]
        for name in unset:
            if name not in before and name not in schema.own_attributes:
                item.pop(name, None)
    _check_kept(schema, item)
    return DraftItem(item, schema, value)


def _keys_of(schema: EntitySchema, item: Item) -> Item:
    return {part.attribute: item[part.attribute] for part in schema.keys}


def _check_kept(schema: EntitySchema, item: Item) -> None:
    """Raise DraftInvalid if an item would be read as one of another entity."""
    table = cast("Table", schema.table)
    found = find_entity(table, restore_binaries(item))
    if found is not schema:
        as_what = "one of Keyfold's own items" if found is None else f"of {found.name}"
        if found is None and not is_own_item(table, item):
            as_what = "of no entity"
        raise DraftInvalid([DraftFault("", f"With this key, the item would be {as_what}.")])
    prefix = find_reserved(schema, item)
    if prefix is not None:
        fact = reserved_fact(schema.partition.attribute, prefix)
        raise DraftInvalid([DraftFault("", f"With this key, {fact}.")])


def _normalise_fields(
    schema: EntitySchema, fields: Mapping[str, Any]
) -> tuple[dict[str, AttributeValue], list[DraftFault]]:
    stored: dict[str, AttributeValue] = {}
    faults: list[DraftFault] = []
    for name, given in fields.items():
        if name not in schema.fields:
            faults.append(DraftFault(name, f"{schema.name} has no field {name!r}."))
        elif given is not None:
            try:
                stored[name] = normalise_value(given)[0]
            except ServiceError as error:
                faults.append(DraftFault(name, error.message))
    return stored, faults


def _normalise_others(
    schema: EntitySchema, others: Mapping[str, Any], faults: list[DraftFault]
) -> Item:
    added: Item = {}
    for name, given in others.items():
        if given is None:
            continue
        try:
            if name in schema.declared_names:
                fact = f"{schema.name} declares {name}: change it as a field."
                faults.append(DraftFault(f"{OTHER}{name}", fact))
            added |= normalise_item({name: given})[0]
        except ServiceError as error:
            faults.append(DraftFault(f"{OTHER}{name}", error.message))
    return added


def _validate(schema: EntitySchema, stored: Mapping[str, AttributeValue]) -> BaseModel:
    formats = {
        each.name: each.format
        for part in schema.keys
        if part.template is not None
        for each in part.template.parts
    }
    raw: dict[str, Any] = {}
    for name, value in stored.items():
        each, exact = schema.fields[name], restore_binaries({name: value})[name]
        if each.is_part and "S" in exact and name in formats:
            parsed = formats[name].parse(exact["S"])
            raw[name] = exact["S"] if parsed is None else parsed
        else:
            raw[name] = (each.codec.decode or decode_any)(exact)
    schema.codec.fill(raw)
    for name in schema.fields:
        # A part of the key that has a default, or a factory, gets it.
        if name not in stored and schema.fields[name].is_part and raw.get(name) is None:
            raw.pop(name, None)
    try:
        return schema.validate(raw)
    except ValidationError as error:
        raise DraftInvalid(list_faults(error)) from None
    except KeyfoldError as error:
        raise DraftInvalid([_fault_of(schema, error)]) from None


def list_faults(error: ValidationError) -> list[DraftFault]:
    """Return what pydantic found, by field."""
    return [
        DraftFault(".".join(map(str, each["loc"])), each["msg"].removeprefix("Value error, "))
        for each in error.errors(include_url=False, include_input=False)
    ]


def _fault_of(schema: EntitySchema, error: KeyfoldError) -> DraftFault:
    message = describe_problem(error).message
    match error:
        case MissingKeyPart(part=part):
            return DraftFault(part, "The key needs a value for it.")
        case KeyPartInvalid(part=part):
            return DraftFault(
                part, f"As a part of the key, it {error.fact}. {error.advice}".strip()
            )
        case ValueInvalid(subject=subject):
            name = subject.removeprefix(f"{schema.name}.").split(".")[0].split("[")[0]
            by_stored = {each.stored: each.name for each in schema.fields.values()}
            name = by_stored.get(name, name)
            return DraftFault(name if name in schema.fields else "", message)
        case _:
            return DraftFault("", message)


# Raw drafts.


def parse_raw(text: str) -> Item:
    """Return the normalised item of a text; raises DraftInvalid, with the position in the text."""
    try:
        read = parse_exactly(text)
    except json.JSONDecodeError as error:
        fault = DraftFault(
            "", f"It is not JSON: {error.msg.removesuffix(' at')}.", error.lineno, error.colno
        )
        raise DraftInvalid([fault]) from None
    except (RecursionError, ValueError) as error:
        raise DraftInvalid([DraftFault("", f"It is not JSON: {error}.")]) from None
    if not isinstance(read, dict):
        raise DraftInvalid([DraftFault("", "An item is a JSON object of attributes.", 1, 1)])
    item: Item = {}
    faults: list[DraftFault] = []
    for name, value in cast("dict[str, Any]", read).items():
        try:
            item |= normalise_item({name: _refuse_numbers(value)})[0]
        except (ServiceError, RecursionError) as error:
            message = (
                error.message if isinstance(error, ServiceError) else "It is nested too deeply."
            )
            line, column = _find_name(text, name)
            advice = f' Values are written as {{"S": "text"}} or {{"N": "1.5"}}. {message}'
            faults.append(DraftFault(name, advice.strip(), line, column))
    if faults:
        raise DraftInvalid(faults)
    return item


def _refuse_numbers(value: Any) -> Any:
    """Return a JSON value in which numbers are no texts, so that none is taken for one."""
    match value:
        case NumberText():
            return Decimal(value)
        case dict():
            members = cast("dict[str, Any]", value)
            return {name: _refuse_numbers(each) for name, each in members.items()}
        case list():
            return [_refuse_numbers(each) for each in cast("list[Any]", value)]
        case _:
            return value


def _find_name(text: str, name: str) -> tuple[int | None, int | None]:
    """Return the line and column of the first member of a name in a text, if it is written plainly."""
    at = text.find(json.dumps(name, ensure_ascii=False))
    if at < 0:
        return None, None
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def check_raw(table: Table, item: Item) -> DraftItem:
    """Return an item that was given as a whole, checked by its entity's declaration; raises DraftInvalid."""
    missing = [name for name in table.key.names if name not in item]
    if missing:
        fact = f"The item lacks {' and '.join(missing)}, which its key has."
        raise DraftInvalid([DraftFault(missing[0], fact)])
    if is_own_item(table, item):
        raise DraftInvalid([DraftFault("", "Its key is reserved for Keyfold's own items.")])
    restored = restore_binaries(item)
    if find_entity(table, restored) is None:
        return DraftItem(item)
    try:
        schema, value = read_writable(table, restored)
    except ItemMismatch as error:
        cause = error.__cause__
        if isinstance(cause, ValidationError):
            raise DraftInvalid(list_faults(cause)) from None
        raise DraftInvalid([DraftFault("", str(error))]) from None
    except KeyfoldError as error:
        raise DraftInvalid([DraftFault("", describe_problem(error).message)]) from None
    return DraftItem(item, schema, value)
