"""Arguments to try a pattern with: of stored items, of the pattern's example, or of the declaration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from pydantic import ValidationError

from keyfold.analysis import PatternProfile
from keyfold.analysis.arguments import ArgumentFinder, Arguments
from keyfold.analysis.lint._explained import find_schemas, find_writes
from keyfold.errors import AccessDenied, KeyfoldError
from keyfold.model import Entity
from keyfold.model._pattern_types import find_value_type
from keyfold.model._schemas import ItemMismatch
from keyfold.studio._actions import StudioCall
from keyfold.studio._shown_items import find_entity, find_expiry
from keyfold.studio._workspace import StudioPrincipal
from keyfold.studio.rooms._pattern_calls import CalledPattern
from keyfold.studio.rooms._pattern_forms import show_json

# How many stored items are read for a sample: two or three read units for items of usual size.
_READ = 100


def find_declared_sample(
    found: CalledPattern, profile: PatternProfile | None, principal: StudioPrincipal | None
) -> dict[str, Any]:
    """Return arguments as JSON: the pattern's example first, then what found something on the examples.

    A parameter that is named as the tenant of a principal's role has the principal's id.
    """
    arguments = _without_placeholders(
        found, _choose(found, profile), found.table.example_entities()
    )
    sample = {name: show_json(value) for name, value in arguments.items()}
    given = {name: show_json(value) for name, value in found.pattern.example.items()}
    sample |= {name: value for name, value in given.items() if not _is_placeholder(value)}
    return _with_own_ids(sample, principal)


def _choose(found: CalledPattern, profile: PatternProfile | None) -> Mapping[str, Any]:
    """Return arguments by the table's examples; best are those with which the pattern found something."""
    candidates: list[Arguments] = []
    with suppress(KeyfoldError, ValueError):
        entities = found.table.example_entities()
        touched = _find_touched(found)
        wanted = [each for each in entities if type(each).__name__ in touched] or list(entities)
        finder = ArgumentFinder(found.pattern, {})
        candidates = [*finder.from_entities(wanted)]
        if not candidates:
            candidates = [finder.from_example()]
    runs = () if profile is None else profile.runs
    known = {repr(each) for each in candidates}
    for run in runs:
        # A profile may run on many more items, made after the examples.
        if run.returned and repr(dict(run.arguments)) in known:
            return run.arguments
    if candidates:
        return candidates[0]
    return runs[0].arguments if runs else {}


def _without_placeholders(
    found: CalledPattern, arguments: Mapping[str, Any], entities: Sequence[Any]
) -> dict[str, Any]:
    """Return arguments with an entity in place of an example that is for documents."""
    kept = dict(arguments)
    for each in found.pattern.parameters:
        kind: Any = find_value_type(found.pattern, each)
        if each.name in kept and _is_placeholder(show_json(kept[each.name])):
            suited = (one for one in entities if isinstance(kind, type) and isinstance(one, kind))
            kept[each.name] = next(suited, kept[each.name])
    return kept


def _with_own_ids(sample: dict[str, Any], principal: StudioPrincipal | None) -> dict[str, Any]:
    own: Mapping[str, str] = {} if principal is None else principal.ids
    return {name: own.get(name, value) for name, value in sample.items()}


def _is_placeholder(value: Any) -> bool:
    """Return whether an example is for documents: it has `{category}` where a category would be."""
    match value:
        case str():
            return value.startswith("{") and value.endswith("}")
        case dict():
            return any(_is_placeholder(each) for pair in value.items() for each in pair)  # pyright: ignore[reportUnknownVariableType] - of JSON
        case _:
            return False


def find_stored_sample(call: StudioCall, found: CalledPattern) -> dict[str, Any] | None:
    """Return arguments by some stored items, as JSON; None if none of them fits, or may be read."""
    request = {"TableName": call.table.name, "Limit": _READ}
    try:
        items = call.store.execute("Scan", request)["Items"]
    except AccessDenied:
        return None
    entities = [*_decode(call, items)]
    touched = _find_touched(found)
    # Those that the pattern reads or writes first: other entities may have fields of the same names.
    entities.sort(key=lambda each: type(each).__name__ not in touched)
    wanted = [each for each in entities if type(each).__name__ in touched] or entities
    try:
        finder = ArgumentFinder(found.pattern, {})
        arguments = next(finder.from_entities(wanted), None)
    except (KeyfoldError, ValueError):
        return None
    if arguments is None:
        return None
    arguments = _without_placeholders(found, arguments, entities)
    sample = {name: show_json(value) for name, value in arguments.items()}
    return _with_own_ids(sample, call.principal)


def _decode(call: StudioCall, items: list[Any]) -> Iterator[Entity]:
    for item in items:
        schema = find_entity(call.table, item)
        expires = find_expiry(call.table, item)
        if schema is None or (expires is not None and expires <= call.now):
            continue
        try:
            entity: Any = schema.decode(item)
        except (KeyfoldError, ValidationError, ItemMismatch):
            continue
        if isinstance(entity, Entity):
            yield entity


def _find_touched(found: CalledPattern) -> set[str]:
    """Return the names of the entities that a pattern takes, and that its first call is about."""
    names = {
        each.annotation.__name__
        for each in found.pattern.parameters
        if isinstance(each.annotation, type) and issubclass(each.annotation, Entity)
    }
    try:
        steps = found.pattern.explain().steps
    except KeyfoldError:
        return names
    for step in steps:
        writes = find_writes(step)
        schemas = () if writes else find_schemas(step) or ()
        touched = {each.schema.name for each in writes} | {each.name for each in schemas}
        if touched:
            return names | touched
    return names
