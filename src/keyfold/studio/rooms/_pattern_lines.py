"""What patterns do with entities and indexes, by their explanations: the lines of the diagram."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from keyfold.analysis.lint._explained import find_schemas, find_writes
from keyfold.api import find_operation
from keyfold.errors import KeyfoldError
from keyfold.model import Pattern, Table
from keyfold.model._patterns import Explanation, PatternStep
from keyfold.model._schemas import EntitySchema
from keyfold.model._updates import Update
from keyfold.model._writes import Check, Delete, Put, Write

Deed = Literal["reads", "writes", "checks"]


@dataclass(frozen=True, slots=True)
class DiagramLine:
    """A line of the diagram: a pattern, and an entity that it reads, writes or checks.

    No entity stands for any, no index for the table itself.
    """

    pattern: str
    deed: Deed
    entity: str | None
    index: str | None = None


@dataclass(frozen=True, slots=True)
class ExplainedPattern:
    """A pattern with its calls; if it cannot be explained, `problem` says why."""

    pattern: Pattern[..., Any]
    explanation: Explanation | None
    problem: str | None = None

    @property
    def name(self) -> str:
        """The name of the pattern's function."""
        return self.pattern.__name__

    @property
    def writes(self) -> bool | None:
        """Whether it writes; None if that is not known."""
        if self.explanation is None:
            return None
        return any(not find_operation(each.operation).is_read for each in self.explanation.steps)


def explain_patterns(table: Table) -> list[ExplainedPattern]:
    """Return the patterns of a table, explained."""
    return [explain_pattern(each) for each in table.patterns.values()]


def explain_pattern(pattern: Pattern[..., Any]) -> ExplainedPattern:
    """Return a pattern with its calls, or with the reason why these are not known."""
    try:
        return ExplainedPattern(pattern, pattern.explain())
    except KeyfoldError as error:
        return ExplainedPattern(pattern, None, str(error))


def list_lines(table: Table, explained: ExplainedPattern) -> list[DiagramLine]:
    """Return what a pattern does with each entity, without repetitions.

    The store's own lookups of unique values are left out, and so is a check of what is also read.
    """
    steps = () if explained.explanation is None else explained.explanation.steps
    found = dict.fromkeys(
        line for step in steps for line in _list_step(table, explained.name, step)
    )
    return [
        each
        for each in found
        if each.deed != "checks" or DiagramLine(each.pattern, "reads", each.entity) not in found
    ]


def _list_step(table: Table, name: str, step: PatternStep) -> Iterator[DiagramLine]:
    if is_own_lookup(step):
        return
    if find_operation(step.operation).is_read:
        schemas = find_schemas(step)
        if schemas is None:
            yield DiagramLine(name, "reads", None, step.index)
            return
        for schema in schemas:
            if schema.table is table:
                yield DiagramLine(name, "reads", schema.name, step.index)
        return
    for write in find_writes(step):
        if write.schema.table is table:
            deed: Deed = "checks" if isinstance(write, Check) else "writes"
            yield DiagramLine(name, deed, write.schema.name)


def is_own_lookup(step: PatternStep) -> bool:
    """Return whether a step is a lookup that the store makes for a write of unique values."""
    return step.operation == "GetItem" and isinstance(step.request, Write)


def show_step(table: Table, step: PatternStep) -> dict[str, Any]:
    """Return a call of a pattern for the browser, with what it does with which entity."""
    return {
        "operation": step.operation,
        "table": step.table,
        "index": step.index,
        "key": step.key,
        "scans": step.scans,
        "filters": step.filters,
        "lags": step.lags,
        "own": is_own_lookup(step),
        "deeds": [*_list_deeds(table, step)],
    }


def _list_deeds(table: Table, step: PatternStep) -> Iterator[dict[str, Any]]:
    """Yield what a call does: `{"verb": "puts", "entity": "Order"}`; no entity stands for any."""
    request: Any = step.request
    if is_own_lookup(step):
        yield {"verb": "looks up unique values of", "entity": _name(table, request.schema)}
    elif find_operation(step.operation).is_read:
        schemas = find_schemas(step)
        names = (None,) if schemas is None else [_name(table, each) for each in schemas]
        yield from ({"verb": "reads", "entity": name} for name in dict.fromkeys(names))
    else:
        seen: dict[tuple[str, str], int] = {}
        for write in find_writes(step):
            deed = (_verb_of(write), _name(table, write.schema))
            seen[deed] = seen.get(deed, 0) + 1
        for (verb, entity), times in seen.items():
            yield {"verb": verb, "entity": entity, "times": times}


def _verb_of(write: Write[Any]) -> str:
    match write:
        case Put():
            return "puts"
        case Update():
            return "updates"
        case Delete():
            return "deletes"
        case Check():
            return "checks"
        case _:
            return "writes"


def _name(table: Table, schema: EntitySchema) -> str:
    return schema.name if schema.table is table else f"{schema.table.name}.{schema.name}"
