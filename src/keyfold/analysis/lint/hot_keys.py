"""Rules about keys that take too much: K03 to K05."""

from __future__ import annotations

from collections.abc import Iterator

from keyfold.analysis.lint._findings import Severity
from keyfold.analysis.lint._key_facts import grows_with_time, list_keys
from keyfold.analysis.lint._key_loads import KeyLoad, find_loads, kind_of
from keyfold.analysis.lint._rules import Design, DesignProblem, rule
from keyfold.capacity import PARTITION_UNITS, UnitKind

# The share of what a partition sustains from which a key is hot.
_HOT = 0.5
_NAMED = 3


@rule(
    "K03",
    "Hot key",
    severity=Severity.WARNING,
    fix="Spread the key over shards, cache what is read, or split the item; see `keyfold heat`.",
    source="ME3",
    needs=frozenset({"rates"}),
)
def hot_key(design: Design) -> Iterator[DesignProblem]:
    """One key sustains 1,000 writes and 3,000 reads a second, and beyond that it is throttled."""
    for load in find_loads(design).values():
        if load.key.index is None:
            for fact in _find_heat(load):
                yield DesignProblem(load.key.schema, fact)


@rule(
    "K04",
    "Hot key of an index",
    severity=Severity.WARNING,
    fix="Spread the index's key over shards, or leave items out of the index (make it sparse).",
    source="ME3",
    needs=frozenset({"rates"}),
)
def hot_index_key(design: Design) -> Iterator[DesignProblem]:
    """A throttled global index throttles the writes of the table, too."""
    for load in find_loads(design).values():
        if load.key.index is not None:
            for fact in _find_heat(load):
                yield DesignProblem(load.key.index, fact)


def _find_heat(load: KeyLoad) -> Iterator[str]:
    users: dict[UnitKind, dict[str, float]] = {"Write": load.writers, "Read": load.readers}
    for kind, patterns in users.items():
        units, limit = sum(patterns.values()), PARTITION_UNITS[kind]
        if units > _HOT * limit:
            hottest = sorted(patterns, key=lambda name: -patterns[name])
            listed = ", ".join(map(repr, hottest[:_NAMED]))
            fact = f"At the peak, one key {load.key.partition_text!r} takes {units:,.0f}"
            yield f"{fact} {kind.lower()} units a second, of {limit:,}, by {listed}."


@rule(
    "K05",
    "Growing sort key in a hot partition",
    severity=Severity.WARNING,
    fix="Spread the partition key over shards: a split by sort key leaves all writes on one side.",
    source="†",
    needs=frozenset({"rates"}),
)
def growing_sort_key(design: Design) -> Iterator[DesignProblem]:
    """New items are always the last of the partition, so splitting it for heat does not help."""
    loads = find_loads(design)
    for key in list_keys(design.table):
        load = loads.get(kind_of(key))
        field = next(iter(key.sort_fields), None)
        if load is None or field is None or load.writes <= _HOT * PARTITION_UNITS["Write"]:
            continue
        is_created = key.index is not None or key.schema.name in load.created
        if is_created and grows_with_time(key, field):
            fact = f"{key.schema.name}'s sort key grows with {field!r}"
            where = f"one partition {key.partition_text!r} of {key.where}"
            message = f"{fact}, and {where} takes {load.writes:,.0f} write units a second."
            yield DesignProblem(key.schema if key.index is None else key.index, message)
