"""Rules about the shape of keys: K01, K02 and K08 to K12.

Those about load are in `hot_keys`, those about the order of keys in `key_order`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from annotated_types import MaxLen

from keyfold.analysis.lint._explained import explain_all, find_read
from keyfold.analysis.lint._findings import Severity
from keyfold.analysis.lint._key_facts import (
    EntityKey,
    is_choice,
    is_time,
    list_keys,
    show_part,
)
from keyfold.analysis.lint._key_loads import KeyKind, find_loads, kind_of
from keyfold.analysis.lint._rules import Design, DesignProblem, rule
from keyfold.analysis.samples import name_entity
from keyfold.capacity import PARTITION_UNITS
from keyfold.keys import KeyTemplate, begins_like, find_collision
from keyfold.keys._shapes import Fixed, OneOf, Open
from keyfold.model import Query
from keyfold.model._key_parts import KeyPart
from keyfold.model._schemas import EntitySchema
from keyfold.model._shared_keys import key_templates

# The share of what a partition sustains below which a key is not hot, whatever it is.
_COLD = 0.1
# Delimiters that names, addresses and times often contain.
_COMMON_IN_TEXT = frozenset("-_.:@ ")
_TENANTS = frozenset({"tenant", "tenant_id"})
_MAX_BYTES = {"partition": 2048, "sort": 1024}
# The share of the greatest length from which a stored key is reported.
_LONG = 0.75


def _is_cold(design: Design, loads: dict[KeyKind, Any], key: EntityKey) -> bool:
    """Return whether the workload says that the key does not get hot."""
    load = loads.get(kind_of(key))
    if load is None or not design.workload.has_rates:
        return False
    reads, writes = (_COLD * PARTITION_UNITS[kind] for kind in ("Read", "Write"))
    return load.reads <= reads and load.writes <= writes


def _subject(key: EntityKey) -> Any:
    return key.schema if key.index is None else key.index


def _name(key: EntityKey) -> str:
    return "Its" if key.index is None else f"{key.schema.name}'s"


@rule(
    "K01",
    "Constant or enum partition key",
    severity=Severity.WARNING,
    fix="Add a field with many values to the partition key, or a shard number: {day}#{shard:02}.",
    source="AR",
)
def constant_partition(design: Design) -> Iterator[DesignProblem]:
    """All items share a few partitions, and each sustains 1,000 writes and 3,000 reads a second."""
    loads = dict(find_loads(design))
    for key in list_keys(design.table):
        fields = key.partition_fields
        if not all(is_choice(key.kind_of(name)) for name in fields):
            continue
        # A constant key without a sort key is that of one item, such as a setting.
        is_single = key.index is None and not key.schema.key_fields.difference(fields)
        if not is_single and not _is_cold(design, loads, key):
            kind = "is the same for all items" if not fields else "has only a few values"
            fact = f"{_name(key)} partition key {key.partition_text!r} {kind}"
            yield DesignProblem(_subject(key), f"{fact}.")


@rule(
    "K02",
    "Partition key of a time alone",
    severity=Severity.WARNING,
    fix="Add a field with many values, or a shard number, and query the shards: {day}#{shard:02}.",
    source="AR",
)
def time_partition(design: Design) -> Iterator[DesignProblem]:
    """Everything that happens now goes to one partition, while all others are idle."""
    loads = dict(find_loads(design))
    for key in list_keys(design.table):
        fields = key.partition_fields
        timely = [name for name in fields if is_time(key, name)]
        others = [name for name in fields if name not in timely]
        if not timely or not all(is_choice(key.kind_of(name)) for name in others):
            continue
        # A calendar with one item for each day is read and written at many days.
        is_single = key.index is None and not key.schema.key_fields.difference(fields)
        if not is_single and not _is_cold(design, loads, key):
            fact = f"{_name(key)} partition key {key.partition_text!r} is a time alone"
            yield DesignProblem(_subject(key), f"{fact}.")


@rule(
    "K08",
    "Two entities can render one key",
    severity=Severity.WARNING,
    fix="Give each entity a prefix of its own, unless they share names on purpose.",
    source="†",
)
def same_key(design: Design) -> Iterator[DesignProblem]:
    """An item of one entity takes the key of another, and only the type attribute tells them apart."""
    entities = [
        each for each in design.table.entities.values() if each is not design.table.fallback
    ]
    for one, other in combinations(entities, 2):
        templates, others = key_templates(one), key_templates(other)
        if templates is None or others is None or _texts(templates) == _texts(others):
            continue  # equal templates are shared on purpose: so names are unique
        example = find_collision(templates, others)
        if example is not None:
            shown = ", ".join(map(repr, example))
            yield DesignProblem(other, f"It and {one.name} can both have the key {shown}.")


def _texts(templates: list[KeyTemplate]) -> list[str]:
    return [each.text for each in templates]


@rule(
    "K09",
    "Prefix of another entity",
    severity=Severity.WARNING,
    fix="Give the sort keys prefixes of which none begins another, or store one entity elsewhere.",
    source="†",
)
def shared_prefix(design: Design) -> Iterator[DesignProblem]:
    """A query for one entity also reads the other, which is paid for and left out."""
    seen: set[tuple[str, str, str]] = set()
    keys = list(list_keys(design.table))
    for pattern, steps in explain_all(design):
        for step in steps:
            read = find_read(step)
            if not isinstance(read, Query) or read.shape.schema is None:
                continue
            for other in _find_also_read(keys, read, read.shape.schema):
                found = (read.shape.schema.name, other.schema.name, other.where)
                if found not in seen:
                    seen.add(found)
                    sort = ", ".join(map(show_part, other.sort))
                    fact = f"Queries for it in {other.where} also read {other.schema.name} ({sort})"
                    yield DesignProblem(read.shape.schema, f"{fact}, as in {pattern.name!r}.")


def _find_also_read(
    keys: list[EntityKey], query: Query[Any], wanted: EntitySchema
) -> Iterator[EntityKey]:
    """Yield the keys of other entities that a query for one entity finds as well."""
    part = query.keys.open_part
    if part is None or part.template is None or part.template is wanted.partition.template:
        return
    known = tuple(query.keys.known)
    own = [each for each in keys if each.schema is wanted and each.index is query.index]
    for key in keys:
        if key.schema is wanted or key.index is not query.index or not key.sort:
            continue
        template = key.sort[0].template
        shares = any(_can_share(mine.partition, key.partition) for mine in own)
        if template is not None and shares and begins_like(template, part.template, known):
            yield key


def _can_share(one: tuple[KeyPart, ...], other: tuple[KeyPart, ...]) -> bool:
    """Return whether two entities can be in one partition, by what their keys are named after."""
    for mine, theirs in zip(one, other, strict=True):
        if mine.template is None or theirs.template is None:
            if mine.fields != theirs.fields:
                return False
        elif mine.template.text != theirs.template.text:
            return False
    return True


@rule(
    "K10",
    "Delimiter that values may contain",
    severity=Severity.WARNING,
    fix="Separate the parts with a character that values do not have, such as #.",
    source="†",
)
def common_delimiter(design: Design) -> Iterator[DesignProblem]:
    """A value with the delimiter in it would make another key, so writing it is refused."""
    for key in list_keys(design.table):
        for part in (*key.partition, *key.sort):
            if part.template is None:
                continue
            common = sorted(part.template.delimiters & _COMMON_IN_TEXT)
            texts = [
                each.name
                for each in part.template.parts
                if isinstance(each.shape, Open) and key.schema.fields[each.name].takes_any_text
            ]
            if common and texts:
                shown = " or ".join(map(repr, common))
                fact = f"{part.template.text!r} takes no {texts[0]} with {shown} in it"
                yield DesignProblem(key.schema, f"{fact}.")


@rule(
    "K11",
    "Tenant not in the partition key",
    severity=Severity.WARNING,
    fix="Begin the partition key with the tenant.",
    source="DM14",
)
def tenant_elsewhere(design: Design) -> Iterator[DesignProblem]:
    """Tenants share partitions, so one slows the others, and IAM cannot keep them apart by key."""
    table = design.table
    declared = {role.tenant for role in table.roles.values() if role.tenant is not None}
    for schema in table.entities.values():
        for name in sorted((_TENANTS | declared) & schema.fields.keys()):
            if name not in schema.partition.fields and not _is_about_others(schema, name):
                shown = show_part(schema.partition)
                yield DesignProblem(schema, f"Its partition key {shown!r} does not have {name!r}.")


def _is_about_others(schema: EntitySchema, tenant: str) -> bool:
    """Return whether an entity names a tenant, but does not belong to it.

    So do a list of tenants, and what is listed by something else, such as the tenants of a user. A
    constant partition key is what K01 is about.
    """
    if schema.sort is not None and tenant in schema.sort.fields:
        is_listed_by_it = schema.sort.fields[0] == tenant and len(schema.sort.fields) > 1
        return not schema.partition.fields or not is_listed_by_it
    return tenant not in _TENANTS and schema.fields[tenant].accepts_none


@rule(
    "K12",
    "Key may become too long",
    severity=Severity.WARNING,
    fix="Limit the length of the fields (max_length), or put a hash or an id into the key.",
    source="†",
)
def long_key(design: Design) -> Iterator[DesignProblem]:
    """A write fails if its partition key has more than 2,048 bytes, or its sort key more than 1,024."""
    for key in list_keys(design.table):
        for side, parts in (("partition", key.partition), ("sort", key.sort)):
            for part in parts:
                longest = _longest_declared(key, part)
                limit = _MAX_BYTES[side]
                if longest is not None and longest > limit:
                    fact = f"{_name(key)} {side} key {show_part(part)!r} may have {longest:,} bytes"
                    yield DesignProblem(_subject(key), f"{fact}; the maximum is {limit:,}.")
    yield from _find_long_stored(design)


def _find_long_stored(design: Design) -> Iterator[DesignProblem]:
    """Yield the entities of a database that have a key of nearly the maximum length."""
    if design.data is None:
        return
    table = design.table
    longest: dict[tuple[str, str], int] = {}
    for item in design.data.items:
        name = name_entity(table, item)
        for side, attribute in zip(_MAX_BYTES, table.key.names, strict=False):
            size = len(item[attribute].get("S", "").encode())
            if name is not None and size > longest.get((name, side), 0):
                longest[name, side] = size
    for (name, side), size in longest.items():
        limit = _MAX_BYTES[side]
        if size > _LONG * limit:
            fact = f"A stored {side} key has {size:,} bytes; the maximum is {limit:,}"
            yield DesignProblem(table.entities[name], f"{fact}.")


def _longest_declared(key: EntityKey, part: KeyPart) -> int | None:
    """Return the most bytes that a key part can have in plain ASCII; None if that is not limited."""
    if part.template is None:
        return _max_length(key, part.fields[0]) if part.fields and part.kind == "S" else None
    total = len("".join(each.before for each in part.template.parts)) + len(part.template.tail)
    for each in part.template.parts:
        match each.shape:
            case Fixed(places):
                total += len(places)
            case OneOf(texts):
                total += max(map(len, texts))
            case Open():
                found = _max_length(key, each.name)
                if found is None:
                    return None
                total += found
    return total


def _max_length(key: EntityKey, field: str) -> int | None:
    info = key.schema.entity.__pydantic_fields__[field]
    found = [each.max_length for each in info.metadata if isinstance(each, MaxLen)]
    return min(found, default=None)
