"""Rules about declared indexes: I05, I07, I08, I10 and I12.

Those about how patterns use indexes are in `index_use`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from keyfold.analysis.lint._findings import Severity
from keyfold.analysis.lint._key_facts import EntityKey, grows_with_time, list_keys, show_part
from keyfold.analysis.lint._rules import Design, DesignProblem, rule
from keyfold.capacity import PARTITION_BYTES
from keyfold.model import Index, Table

# DynamoDB's maxima of global and local indexes, and the share of them that is near.
_MOST_GLOBAL = 20
_MOST_LOCAL = 5
_NEAR = 0.8
# The most attributes of each side of a global index's key.
_MOST_ATTRIBUTES = 4
# An item collection below this share of 10 GB has time to grow.
_LARGE = 0.1
_is_opaque = re.compile(
    r"((global|local|secondary|gsi|lsi|index|idx|ix)[-_.]?)+\d*", re.IGNORECASE
).fullmatch


@rule(
    "I05",
    "Concatenated where multi-attribute keys fit",
    severity=Severity.NOTE,
    fix='Make the fields themselves the key: Key(("country", "city"), ("day", "number")).',
    source="ME4",
)
def concatenated_key(design: Design) -> Iterator[DesignProblem]:
    """An index takes up to four attributes a side, typed and in order, without a text made for it."""
    for index in design.table.indexes:
        keys = _keys_in(design.table, index)
        if index.local or len(keys) != 1:
            continue  # several entities in one index need prefixes
        for side, parts in (("partition", keys[0].partition), ("sort", keys[0].sort)):
            fields = [name for part in parts for name in part.fields]
            long = [part for part in parts if part.template is not None and len(part.fields) > 1]
            if long and len(fields) <= _MOST_ATTRIBUTES:
                fact = f"Its {side} key {show_part(long[0])!r} joins {', '.join(long[0].fields)}"
                yield DesignProblem(index, f"{fact} of {keys[0].schema.name} alone.")


def _keys_in(table: Table, index: Index) -> list[EntityKey]:
    return [each for each in list_keys(table) if each.index is index]


@rule(
    "I07",
    "Local index on a growing collection",
    severity=Severity.WARNING,
    fix="Use a global index, or a partition key that ends, such as one with the month.",
    source="DV",
)
def local_index(design: Design) -> Iterator[DesignProblem]:
    """With a local index, the items of one partition key cannot have more than 10 GB together."""
    for index in design.table.indexes:
        if not index.local:
            continue
        for key in list_keys(design.table):
            if key.index is not None or index.name not in key.schema.index_keys:
                continue
            size = _collection_bytes(design, key)
            is_kept = key.schema.ttl_field is None or key.schema.ttl_field.accepts_none
            field = next(iter(key.sort_fields), None)
            if size is not None:
                if size > _LARGE * PARTITION_BYTES:
                    fact = f"{key.schema.name} has {size / 1e9:,.1f} GB in a partition"
                    yield DesignProblem(index, f"{fact}; the maximum is 10 GB with the index.")
            elif is_kept and field is not None and grows_with_time(key, field):
                fact = f"{key.schema.name} adds items to a partition as time goes, by {field!r}"
                yield DesignProblem(index, f"{fact}, and 10 GB are the end.")


def _collection_bytes(design: Design, key: EntityKey) -> float | None:
    """Return the bytes of an entity in one partition; None if that is unknown."""
    volume = design.workload.volumes[key.schema.name]
    if volume.per_partition is None:
        return None
    size = volume.bytes or design.profile.sample.mean_bytes().get(key.schema.name)
    return None if size is None else volume.per_partition * size


@rule(
    "I08",
    "Near the maximum of indexes",
    severity=Severity.NOTE,
    fix="Let entities share an index, or move some to a table of their own.",
    source="DV",
)
def many_indexes(design: Design) -> Iterator[DesignProblem]:
    """A table has at most 20 global indexes, and 5 local ones, which cannot be added later."""
    for kind, most in (("global", _MOST_GLOBAL), ("local", _MOST_LOCAL)):
        count = sum(each.local is (kind == "local") for each in design.table.indexes)
        if count >= _NEAR * most:
            yield DesignProblem(design.table, f"It has {count} of {most} {kind} indexes.")


@rule(
    "I10",
    "Redundant index",
    severity=Severity.WARNING,
    fix="Query the other one, and remove the index: each of its entries is written and stored.",
    source="ME9",
)
def redundant_index(design: Design) -> Iterator[DesignProblem]:
    """An index that finds what the table or another index finds doubles the writes for nothing."""
    table = design.table
    for position, index in enumerate(table.indexes):
        for other in (None, *table.indexes):
            if other is index:
                continue
            is_mutual = other is not None and _covers(table, index, other)
            if is_mutual and other is not None and table.indexes.index(other) > position:
                continue  # of two equal ones, the later is reported
            if _covers(table, other, index):
                where = "the table" if other is None else f"index {other.name}"
                yield DesignProblem(index, f"Its items have the same keys in {where}.")
                break


def _covers(table: Table, one: Index | None, other: Index) -> bool:
    """Return whether each query of an index can be one of the table, or of another index."""
    mine, theirs = (
        {each.schema.name: each for each in list_keys(table) if each.index is index}
        for index in (one, other)
    )
    if not theirs or not theirs.keys() <= mine.keys():
        return False
    if one is not None and not _projects(table, one, other):
        return False
    return all(_finds(mine[name], key, is_index=one is not None) for name, key in theirs.items())


def _finds(key: EntityKey, other: EntityKey, *, is_index: bool) -> bool:
    """Return whether a key has the partition of another, and its order of sort keys."""
    if list(map(show_part, key.partition)) != list(map(show_part, other.partition)):
        return False
    mine, theirs = [*map(show_part, key.sort)], [*map(show_part, other.sort)]
    # A longer sort key leaves items out that lack its other fields.
    optional = [
        name for part in key.sort[len(theirs) :] for name in part.fields
        if is_index and key.schema.fields[name].accepts_none
    ]  # fmt: skip
    return mine[: len(theirs)] == theirs and not optional


def _projects(table: Table, one: Index, other: Index) -> bool:
    """Return whether an index has all attributes that another one has."""
    if other.project == "all":
        return one.project == "all"
    named = () if other.project == "keys" else other.project
    return not one.find_unprojected(table, (*named, *other.key.names))


@rule(
    "I12",
    "Opaque name",
    severity=Severity.NOTE,
    fix="Name it after what it finds, such as OrdersByStatus.",
    source="DM7",
)
def opaque_name(design: Design) -> Iterator[DesignProblem]:
    """A name such as GSI1 does not say what the index is for, to readers of requests, bills and alarms."""
    for index in design.table.indexes:
        if _is_opaque(index.name):
            yield DesignProblem(index, f"{index.name!r} does not say what it finds.")
