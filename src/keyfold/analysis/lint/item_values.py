"""Rules about values that several items share: copies (S04) and unique values (S07)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from keyfold.analysis.lint._explained import explain_all, field_of, find_updates
from keyfold.analysis.lint._findings import Severity
from keyfold.analysis.lint._rules import Design, DesignProblem, rule
from keyfold.analysis.profiles import MeasuredRun
from keyfold.analysis.samples import name_entity
from keyfold.model import Entity
from keyfold.model._paged_reads import First, Query
from keyfold.model._schemas import EntitySchema
from keyfold.values import Item


@rule(
    "S04",
    "A copied field that can change",
    severity=Severity.WARNING,
    fix="Change the copies too, in a transaction or a change handler; if they are meant to keep the "
    "former value, ignore the rule and say so.",
    source="ME10",
)
def stale_copy(design: Design) -> Iterator[DesignProblem]:
    """A copy is out of date as soon as its source changes."""
    changed = _find_changed(design)
    found: dict[tuple[str, str, str], str] = {}
    for name, profile in design.profile.patterns.items():
        for run in profile.runs:
            for copy, source, field in _find_copies(design, run):
                if (source, field) in changed:
                    found.setdefault((copy, source, field), name)
    for (copy, source, field), pattern in sorted(found.items()):
        fact = f"{field} is copied from {source} by {pattern!r}"
        message = f"{fact}, and {changed[source, field]!r} changes it there."
        yield DesignProblem(design.table.entities[copy], message)


def _find_changed(design: Design) -> dict[tuple[str, str], str]:
    """Return the fields that updates set, by entity and field, each with one of the patterns."""
    found: dict[tuple[str, str], str] = {}
    for pattern, update in find_updates(design):
        for action in update.actions:
            name = field_of(update, action)
            if name is not None and len(action.path.steps) == 1:
                found.setdefault((update.schema.name, name), pattern.name)
    return found


def _find_copies(design: Design, run: MeasuredRun) -> Iterator[tuple[str, str, str]]:
    """Yield what a run wrote that it had read of another entity: entity, source and field."""
    table = design.table
    known: list[tuple[EntitySchema, Item]] = []
    for value in run.arguments.values():
        if isinstance(value, Entity):
            schema = type(value).keyfold_schema()
            known.append((schema, schema.encode(value)))
    for call in run.calls:
        for before, after in call.changes:
            name = None if after is None else name_entity(table, after)
            if after is None or name is None:
                continue
            schema = table.entities[name]
            for source, item in known:
                if source is schema:
                    continue
                for field in _shared_fields(schema, source):
                    value = after.get(schema.fields[field].stored)
                    was = (before or {}).get(schema.fields[field].stored)
                    is_same = value == item.get(source.fields[field].stored)
                    if value is not None and is_same and value != was:
                        yield schema.name, source.name, field
        for item in call.items:
            name = name_entity(table, item)
            if name is not None:
                known.append((table.entities[name], item))


def _shared_fields(one: EntitySchema, other: EntitySchema) -> Iterator[str]:
    """Yield the fields that two entities have under one name, and neither in its key."""
    special = {each.name for each in (one.ttl_field, one.version_field) if each is not None}
    for name, field in one.fields.items():
        is_stored = name in other.fields and not field.is_part and not other.fields[name].is_part
        if is_stored and name not in (one.key_fields | other.key_fields | special):
            yield name


@rule(
    "S07",
    "Uniqueness unguarded",
    severity=Severity.WARNING,
    fix="Declare the field unique: guard items then refuse a second one.",
    source="ME13",
)
def unguarded_uniqueness(design: Design) -> Iterator[DesignProblem]:
    """An index takes several items with one key, and lags, so it cannot keep values unique."""
    for pattern, steps in explain_all(design):
        for step in steps:
            request: Any = step.request
            if not isinstance(request, First) or not isinstance(request.query, Query):
                continue
            query: Query[Any] = request.query
            index, schema = query.index, query.shape.schema
            # With an open sort key, the first of several is meant, as the latest is.
            if index is None or schema is None or query.keys.open_part is not None:
                continue
            names = {name for part in schema.index_keys[index.name] for name in part.fields}
            if not names & schema.unique.keys() and not names >= schema.key_fields:
                listed = " and ".join(sorted(names))
                fact = f"It takes the first {schema.name} of {index.name} by {listed}"
                yield DesignProblem(pattern, f"{fact}, which nothing keeps unique.")
