"""What the requests of explained patterns say: the reads and writes that each pattern makes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from keyfold.analysis.lint._rules import Design
from keyfold.errors import PatternFailed, PatternUnexplained
from keyfold.expressions import Action, AddTo, Arithmetic, FunctionCall, SetTo
from keyfold.model import Pattern
from keyfold.model._batches import Batch
from keyfold.model._collections import CollectionGet
from keyfold.model._paged_reads import Count, First, Query, Scan
from keyfold.model._patterns import PatternStep
from keyfold.model._reads import Get
from keyfold.model._schemas import EntitySchema
from keyfold.model._transactions import Transaction
from keyfold.model._updates import Update
from keyfold.model._writes import Check, CreateOrGet, Delete, Put, Write

AnyPattern = Pattern[..., Any]
Steps = tuple[PatternStep, ...]


def explain_all(design: Design) -> Iterator[tuple[AnyPattern, Steps]]:
    """Yield the patterns that can be explained, each with its steps."""
    for name, pattern in design.table.patterns.items():
        if name not in design.explained:
            design.explained[name] = find_steps(pattern)
        steps = design.explained[name]
        if steps is not None:
            yield pattern, steps


def find_steps(pattern: AnyPattern) -> Steps | None:
    """Return the steps of a pattern; None if it cannot be explained."""
    try:
        return pattern.explain().steps
    except (PatternFailed, PatternUnexplained):
        return None


def find_read(step: PatternStep) -> Query[Any] | Scan[Any] | None:
    """Return the query or scan that a step makes; None for any other call."""
    request: Any = step.request
    if isinstance(request, First | CollectionGet | Count):
        request = cast(Any, request).source
    return cast("Query[Any] | Scan[Any]", request) if isinstance(request, Query | Scan) else None


def find_gets(step: PatternStep) -> tuple[Get[Any], ...]:
    """Return the gets of a step: one alone, or those of a batch or a transaction."""
    found: list[Any] = [each for each in _members_of(step.request) if isinstance(each, Get)]
    return tuple(found)


def find_writes(step: PatternStep) -> tuple[Write[Any], ...]:
    """Return the writes and checks of a step: one alone, or those of a batch or a transaction.

    What the store looks up for a write of unique values is not one.
    """
    if step.operation == "GetItem":
        return ()
    found: list[Any] = [each for each in _members_of(step.request) if isinstance(each, Write)]
    return tuple(found)


def _members_of(request: Any) -> list[Any]:
    """Return the requests of a batch or a transaction; any other request is its only member."""
    if isinstance(request, Batch | Transaction):
        return [*request.requests]
    return [cast(Any, request).put if isinstance(request, CreateOrGet) else request]


def find_schemas(step: PatternStep) -> tuple[EntitySchema, ...] | None:
    """Return the entities that a step reads; None if it may read any."""
    if isinstance(step.request, CollectionGet):
        return tuple(each.schema for each in step.request.members)
    read = find_read(step)
    shapes = [each.shape for each in find_gets(step)] if read is None else [read.shape]
    found = [each.schema for each in shapes]
    return None if None in found else tuple(each for each in found if each is not None)


def is_strong(step: PatternStep) -> bool:
    """Return whether a step is a strongly consistent read, which costs twice as much."""
    read = find_read(step)
    if read is not None:
        return read.is_consistent
    gets = find_gets(step)
    return bool(gets) and all(each.is_consistent for each in gets)


def find_updates(design: Design) -> Iterator[tuple[AnyPattern, Update[Any]]]:
    """Yield the updates of all patterns that can be explained."""
    for pattern, steps in explain_all(design):
        for step in steps:
            for write in find_writes(step):
                if isinstance(write, Update):
                    yield pattern, write


def writes_entity(write: Write[Any]) -> bool:
    """Return whether a write leaves an entity behind: it is neither a delete nor a check."""
    return not isinstance(write, Delete | Check)


def is_plain_put(write: Write[Any]) -> bool:
    """Return whether a write replaces whatever has its key, without a condition."""
    return isinstance(write, Put) and write.condition() is None


def field_of(update: Update[Any], action: Action) -> str | None:
    """Return the name of the field that an action of an update changes; None for no field."""
    stored = update.schema.codec.by_stored.get(str(action.path.steps[0]))
    return None if stored is None else stored.name


def counts(action: Action) -> bool:
    """Return whether an action adds to a number."""
    match action:
        case SetTo(source=Arithmetic()):
            return True
        case AddTo(value=dict() as value):
            return "N" in value
        case _:
            return False


def grows(action: Action) -> bool:
    """Return whether an action adds a member to a list, a set or a map."""
    match action:
        case SetTo(source=FunctionCall(function="list_append")):
            return True
        case AddTo():
            return not counts(action)
        case SetTo(path=path):
            return len(path.steps) == 2  # noqa: PLR2004 - a member of the attribute
        case _:
            return False
