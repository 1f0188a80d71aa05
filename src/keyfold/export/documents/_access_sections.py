"""The sections about indexes and access patterns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from keyfold.analysis import TableProfile
from keyfold.errors import PatternFailed, PatternUnexplained
from keyfold.export.documents._blocks import (
    Code,
    DocumentSection,
    Grid,
    Paragraph,
    Prose,
    join_codes,
)
from keyfold.export.documents._shown_values import TYPE_NAMES
from keyfold.model import Index, Pattern, Table
from keyfold.model._patterns import Explanation


def describe_indexes(table: Table) -> DocumentSection | None:
    """Return the section about the indexes of a table; None if it has none."""
    if not table.indexes:
        return None
    readers: dict[str, list[str]] = {index.name: [] for index in table.indexes}
    for name, pattern in table.patterns.items():
        explained = _explain(pattern)
        for index in () if explained is None else _list_indexes(explained):
            readers[index].append(name)
    rows: list[tuple[Prose, ...]] = []
    for index in table.indexes:
        used = ", ".join(readers[index.name])
        rows.append(
            (
                (Code(index.name),),
                _show_key(table, index.key.partition),
                _show_key(table, index.key.sort),
                _show_projection(index),
                (_name_kind(index),),
                _list_members(table, index),
                (used or "no access pattern",),
            )
        )
    columns = ("index", "partition key", "sort key", "projection", "kind", "contains", "read by")
    grid = Grid(columns, tuple(rows)).without_empty_columns()
    note = "An index contains the items that have all attributes of its key."
    return DocumentSection("Indexes", (grid, Paragraph((note,))))


def _show_key(table: Table, names: tuple[str, ...]) -> Prose:
    kinds = table.key_types()
    parts: list[str | Code] = []
    for name in names:
        parts += [", "] if parts else []
        parts += [Code(name), f" ({TYPE_NAMES[kinds[name]]})"]
    return tuple(parts)


def _show_projection(index: Index) -> Prose:
    if isinstance(index.project, str):
        return ("all attributes" if index.project == "all" else "keys only",)
    return ("keys, ", *join_codes(index.project))


def _name_kind(index: Index) -> str:
    return "local" if index.local else "global"


def _list_members(table: Table, index: Index) -> Prose:
    """Return the entities whose items are in an index; "some" of those that may lack its key."""
    parts: list[str | Code] = []
    for schema in table.entities.values():
        if schema is table.fallback:
            continue
        keys = schema.index_keys.get(index.name, ())
        if not keys:
            continue
        is_sparse = any(schema.fields[name].accepts_none for key in keys for name in key.fields)
        parts += [", "] if parts else []
        parts += [Code(schema.name), " (some)"] if is_sparse else [Code(schema.name)]
    return tuple(parts)


def describe_patterns(profile: TableProfile) -> DocumentSection:
    """Return the section about access patterns: requests, indexes, and the units of a call."""
    table = profile.table
    if not table.patterns:
        return DocumentSection("Access patterns", (Paragraph(("None is declared.",)),))
    rows = tuple(_make_row(profile, pattern) for pattern in table.patterns.values())
    columns = ("pattern", "parameters", "request", "index", "read units", "write units", "notes")
    grid = Grid(columns, rows, frozenset({"read units", "write units"})).without_empty_columns()
    sampled = {
        "examples": "the example items",
        "generated": "generated items",
        "database": "a sample of a database",
    }[profile.sample.source]
    note = (
        f"Units are those of one call, measured on {sampled}: the mean of several calls if they "
        "differ. Those of indexes are included."
    )
    return DocumentSection("Access patterns", (grid, Paragraph((note,))))


def _make_row(profile: TableProfile, pattern: Pattern[..., Any]) -> tuple[Prose, ...]:
    measured = profile.patterns[pattern.name]
    parameters = join_codes(
        each.name if each.is_required else f"{each.name}?" for each in pattern.parameters
    )
    explained = _explain(pattern)
    is_measured = measured.problem is None
    notes = () if explained is None else tuple(_note(explained))
    notes += ("not explained",) * (explained is None) + ("not measured",) * (not is_measured)
    return (
        (pattern.name,),
        parameters,
        () if explained is None else _show_requests(explained),
        () if explained is None else join_codes(_list_indexes(explained)),
        (show_units(measured.read_units),) if is_measured and measured.read_units else (),
        (show_units(measured.write_units),) if is_measured and measured.write_units else (),
        (", ".join(notes),) if notes else (),
    )


def _list_indexes(explained: Explanation) -> dict[str, None]:
    return dict.fromkeys(step.index for step in explained.steps if step.index is not None)


def _explain(pattern: Pattern[..., Any]) -> Explanation | None:
    try:
        return pattern.explain()
    except (PatternFailed, PatternUnexplained):
        return None


def _show_requests(explained: Explanation) -> Prose:
    parts: list[str | Code] = []
    for step in explained.steps:
        parts += ["; then "] if parts else []
        # The keys of a transaction or a batch: the first one, and how many follow.
        first, *rest = step.key.split("; ")
        parts += [f"{step.operation} ", Code(first)] if first else [step.operation]
        parts += [f" and {len(rest)} more"] if rest else []
    return tuple(parts)


def _note(explained: Explanation) -> Iterator[str]:
    if explained.scans:
        yield "scans"
    if explained.filters:
        yield "filters"
    if not explained.is_atomic:
        yield "not atomic"
    if explained.lagging_indexes:
        yield "may lag"
    if explained.writes_after_lag:
        yield "writes by what an index had"


def show_units(units: float) -> str:
    """Return units with at most two decimals.

    >>> show_units(0.5), show_units(9.666), show_units(12.0)
    ('0.5', '9.67', '12')
    """
    return f"{units:,.2f}".rstrip("0").rstrip(".")
