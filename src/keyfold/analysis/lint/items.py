"""Rules about items: their sizes, expiry and keys. S01 to S03, S05, S06 and S08.

Those about values that several items share are in `item_values`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date
from typing import Any

from annotated_types import MaxLen

from keyfold.analysis.lint._explained import (
    explain_all,
    field_of,
    find_gets,
    find_read,
    find_updates,
    grows,
)
from keyfold.analysis.lint._findings import Severity
from keyfold.analysis.lint._rules import Design, DesignProblem, rule
from keyfold.analysis.samples import name_entity
from keyfold.analysis.scratch import RecordedCall
from keyfold.capacity import WRITE_UNIT_BYTES
from keyfold.keys._annotations import find_type
from keyfold.model._codecs import StoredField
from keyfold.model._schemas import EntitySchema
from keyfold.values import Item, item_size_bytes, value_size_bytes

_MAX_ITEM_BYTES = 400 * 1024
# An item that is half full has little time left.
_LARGE_ITEM_BYTES = _MAX_ITEM_BYTES // 2
# What is over a boundary by less than this can be saved by shorter names or values.
_FEW_BYTES = 64
# Above so many units, one more or less makes little difference.
_FEW_UNITS = 4
_BIG_ITEM_BYTES = 4 * 1024
_SMALL_SHARE = 0.1
_HOT_CALLS = 1.0
# 10^11 seconds are the year 5138; as milliseconds, they are 1973.
_FIRST_MILLISECONDS = 100_000_000_000
_EXPIRY_NAMES = re.compile(r"ttl|expir(y|es|ation)(_?(at|on|time|date))?|expire_?at", re.IGNORECASE)
_PERSONAL_NAMES = re.compile(
    r"e_?mail(_address)?|(tele|mobile_?)?phone(_number)?|ssn|social_security(_number)?|iban"
    r"|passport(_number)?|tax_id|birth_?(day|date)|date_of_birth|ip_address|credit_card(_number)?",
    re.IGNORECASE,
)


@rule(
    "S01",
    "Unbounded list or map",
    severity=Severity.WARNING,
    fix="Store each member as an item of its own, or give the field a max_length.",
    source="F5",
)
def unbounded_member(design: Design) -> Iterator[DesignProblem]:
    """An item is at most 400 KB, and each change of a large one pays for all of it."""
    seen: set[tuple[str, str]] = set()
    for pattern, update in find_updates(design):
        for action in update.actions:
            name = field_of(update, action)
            if name is None or (update.schema.name, name) in seen or not grows(action):
                continue
            field = update.schema.fields[name]
            if _is_container(field) and not _is_bounded(update.schema, name, update.condition()):
                seen.add((update.schema.name, name))
                message = f"{name} gets a member with each {pattern.name!r}, without a bound."
                yield DesignProblem(update.schema, message)
    items = () if design.data is None else design.data.items
    for schema, size_bytes in _find_largest(design, items).values():
        if size_bytes > _LARGE_ITEM_BYTES:
            message = f"One of its items has {size_bytes / 1024:,.0f} KB, of 400 KB at most."
            yield DesignProblem(schema, message)


def _is_container(field: StoredField) -> bool:
    codec = field.codec
    return codec.model is None and bool(codec.kinds & {"L", "M", "SS", "NS", "BS"})


def _is_bounded(schema: EntitySchema, name: str, condition: object) -> bool:
    """Return whether the length of a field is limited, by its declaration or by a condition."""
    declared = schema.entity.__pydantic_fields__[name].metadata
    return any(isinstance(each, MaxLen) for each in declared) or "size(" in repr(condition)


def _find_largest(design: Design, items: Iterable[Item]) -> dict[str, tuple[EntitySchema, int]]:
    """Return the size of the largest item of each entity, by name."""
    found: dict[str, tuple[EntitySchema, int]] = {}
    for item in items:
        name = name_entity(design.table, item)
        if name is not None:
            before = found[name][1] if name in found else 0
            found[name] = design.table.entities[name], max(before, item_size_bytes(item))
    return found


@rule(
    "S02",
    "A few bytes over a unit",
    severity=Severity.NOTE,
    fix="Shorten attribute names, or leave out what can be computed, to save a unit each write.",
    source="†",
)
def just_over_a_unit(design: Design) -> Iterator[DesignProblem]:
    """A write pays for each 1 KB that it begins."""
    for name, schema in design.table.entities.items():
        if design.data is not None:
            sizes = [item_size_bytes(item) for item in design.data.by_entity().get(name, ())]
        else:
            declared = design.workload.volumes[name].bytes
            sizes = [] if declared is None else [round(declared)]
        over = [size for size in sizes if _is_just_over(size)]
        if 2 * len(over) > len(sizes):
            units = over[0] // WRITE_UNIT_BYTES
            fact = f"Its items have {over[0]:,} bytes, {over[0] % WRITE_UNIT_BYTES} over {units} KB"
            yield DesignProblem(schema, f"{fact}: a write costs {units + 1} units.")


def _is_just_over(size_bytes: int) -> bool:
    units, rest = divmod(size_bytes, WRITE_UNIT_BYTES)
    return 0 < units <= _FEW_UNITS and 0 < rest <= _FEW_BYTES


@rule(
    "S03",
    "A hot field in a big item",
    severity=Severity.WARNING,
    fix="Store what changes often in a small item of its own, beside the big one.",
    source="ME1",
    needs=frozenset({"rates"}),
)
def hot_field(design: Design) -> Iterator[DesignProblem]:
    """An update pays for the whole item, however little of it changes."""
    for name, profile in design.profile.patterns.items():
        use = design.workload.patterns[name]
        rate = use.peak or use.rate
        if rate is None or rate.per_second < _HOT_CALLS:
            continue
        for call in profile.calls:
            size_bytes, changed = _measure_change(call)
            if size_bytes >= _BIG_ITEM_BYTES and changed < size_bytes * _SMALL_SHARE:
                fact = f"It changes {changed:,} bytes of an item of {size_bytes:,}"
                message = f"{fact} and costs {call.table_units:g} write units, at {rate.text}."
                yield DesignProblem(design.table.patterns[name], message)


def _measure_change(call: RecordedCall) -> tuple[int, int]:
    """Return the size of an item that a call updates, and that of the values which it sets."""
    if call.operation != "UpdateItem" or "UpdateExpression" not in call.request:
        return 0, 0
    ((before, after),) = call.changes
    values: dict[str, Any] = call.request.get("ExpressionAttributeValues", {})
    size_bytes = max(item_size_bytes(each) for each in (before or {}, after or {}))
    return size_bytes, sum(map(value_size_bytes, values.values()))


@rule(
    "S05",
    "Expiry in milliseconds or as text",
    severity=Severity.WARNING,
    fix="Declare the field as Expiry, stored under the table's ttl: Unix time in seconds.",
    source="PA3",
)
def unusable_expiry(design: Design) -> Iterator[DesignProblem]:
    """DynamoDB deletes an item only if its ttl attribute is a number of seconds."""
    for schema in design.table.entities.values():
        if schema.ttl_field is not None:
            continue
        for name, field in schema.fields.items():
            if _EXPIRY_NAMES.fullmatch(name) and _is_time_as_text(field):
                yield DesignProblem(schema, f"{name} is stored as text, so items do not expire.")
    ttl = design.table.ttl
    wrong: dict[str, str] = {}
    for item in design.profile.items if ttl is not None else ():
        value = item.get(ttl or "", {})
        name = name_entity(design.table, item)
        if name is None or not value:
            continue
        if "N" not in value:
            wrong[name] = f"{ttl} of a stored item is {'text' if 'S' in value else 'no number'}."
        elif float(value["N"]) >= _FIRST_MILLISECONDS:
            wrong[name] = f"{ttl} of a stored item is {value['N']}: milliseconds."
    for name, message in wrong.items():
        yield DesignProblem(design.table.entities[name], message)


def _is_time_as_text(field: StoredField) -> bool:
    kind = find_type(field.annotation)
    return isinstance(kind, type) and issubclass(kind, date) and "S" in field.codec.kinds


@rule(
    "S06",
    "Reader without expiry check",
    severity=Severity.NOTE,
    fix="Leave out include_expired(), or say why the pattern wants what has expired.",
    source="ME12",
)
def reads_expired(design: Design) -> Iterator[DesignProblem]:
    """An expired item stays for up to some days until DynamoDB deletes it."""
    for pattern, steps in explain_all(design):
        for step in steps:
            read = find_read(step)
            gets = find_gets(step)
            if (read is not None and read.includes_expired) or any(
                each.includes_expired for each in gets
            ):
                yield DesignProblem(pattern, "It returns items that have expired.")


@rule(
    "S08",
    "Personal data in a key",
    severity=Severity.WARNING,
    fix="Use an id as the key, and find it by an index on a keyed hash of the value.",
    source="†",
)
def personal_key(design: Design) -> Iterator[DesignProblem]:
    """Keys cannot be changed or encrypted apart, and appear in logs, metrics and stream records."""
    for schema in design.table.entities.values():
        parts = [*schema.keys, *(part for each in schema.index_keys.values() for part in each)]
        found: dict[str, str] = {}
        for part in parts:
            for name in part.fields:
                if _PERSONAL_NAMES.fullmatch(name):
                    found.setdefault(name, part.attribute)
        for name, attribute in found.items():
            yield DesignProblem(schema, f"{attribute} has {name}.")
