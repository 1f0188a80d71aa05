"""Arguments with which a pattern can be run on sample data.

A parameter that has the name of a field gets the field's value in one of the sample's entities. If
the pattern does not find items by that field, it changes it: then it gets another value of the
type. An entity is passed as it is, and a list of entities with all that belong to another one that
is passed. A parameter that no entity has a value for is None, if it may be.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import zip_longest
from types import NoneType
from typing import Any, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from keyfold.analysis.variants import vary
from keyfold.errors import KeyfoldError, PatternFailed, PatternUnexplained
from keyfold.model import Entity, Pattern
from keyfold.model._pattern_arguments import sample_for
from keyfold.model._patterns import Parameter
from keyfold.model._placeholders import Placeholder
from keyfold.model._samples import samples_of
from keyfold.model._schemas import EntitySchema

# How many items patterns ask for that take a number of them.
PAGE = 10
# How many entities a list of them has at most: they fit into a transaction with as many others.
_MOST_MEMBERS = 25
_COUNTS = ("count", "limit", "n", "size", "page_size")

Arguments = dict[str, Any]


class ArgumentFinder:
    """Finds arguments for a pattern; `given` has those that the workload names."""

    def __init__(self, pattern: Pattern[..., Any], given: Mapping[str, Any]) -> None:
        """Prepare to find arguments; raises ValueError for a given one that does not fit."""
        self._pattern = pattern
        self._adapters: dict[str, TypeAdapter[Any]] = {}
        wanted = [each for each in pattern.parameters if each.is_required or each.name in given]
        self._given = {
            each.name: self._convert(each, given[each.name])
            for each in wanted
            if each.name in given
        }
        self._free = [each for each in wanted if each.name not in given]
        # The indexes that it reads: it finds items by their keys, and does not change them.
        self._indexes = _indexes_read(pattern)

    def from_entities(self, entities: Sequence[Entity]) -> Iterator[Arguments]:
        """Yield arguments to try, the best first: values of the entities."""
        seen: set[str] = set()
        # One entity of each type is enough to find a value that the entity itself lacks.
        others = list({type(each): each for each in reversed(entities)}.values())
        families = _Families(entities)
        for entity in _sort(self._free, entities):
            arguments = {**self._given, **self._take(entity, others, families)}
            if repr(arguments) not in seen:
                seen.add(repr(arguments))
                yield arguments

    def from_pairs(self, entities: Sequence[Entity]) -> Iterator[Arguments]:
        """Yield arguments to try if no entity has all: an entity, and values of the next one.

        So a pattern can copy or move what it gets.
        """
        passed = [each for each in self._free if _is_entity(each.annotation)]
        if not passed or len(passed) == len(self._free):
            return
        families = _Families(entities)
        by_type: dict[type[Entity], list[Entity]] = defaultdict(list)
        for entity in entities:
            by_type[type(entity)].append(entity)
        for kind in {each.annotation for each in passed}:
            found = by_type[kind]
            for entity, other in zip(found, found[1:] + found[:1], strict=True):
                own = self._take(entity, (), families)
                values = self._take(other, (), families)
                yield {**self._given, **values, **{each.name: own[each.name] for each in passed}}

    def from_example(self) -> Arguments:
        """Return the arguments of the pattern's example, and samples of types for others."""
        return {**self._given, **{each.name: self._guess(each) for each in self._free}}

    def _take(self, entity: Entity, others: Sequence[Entity], families: _Families) -> Arguments:
        """Return the arguments that an entity has; where it has none, those of others."""
        found: Arguments = {}
        for each in self._free:
            if _is_entity(each.annotation):
                same = isinstance(entity, each.annotation)
                value = entity if same else _first_of(each.annotation, others)
            elif (kind := _member_of(each.annotation)) is not None:
                value = families.members(kind, entity) or None
            else:
                values = (self._value_of(each, one) for one in (entity, *others))
                value = next((one for one in values if one is not None), None)
            found[each.name] = self._guess(each) if value is None else value
        return found

    def _value_of(self, parameter: Parameter, entity: Entity) -> Any:
        """Return the value of the field that a parameter names; None if there is none that fits."""
        schema = type(entity).keyfold_schema()
        name = _field_named(parameter.name, schema)
        held = None if name is None else getattr(entity, name, None)
        if held is None:
            return None
        keys = (schema.keys, *(schema.index_keys.get(index, ()) for index in self._indexes))
        is_searched = any(name in part.fields for parts in keys for part in parts)
        if not is_searched:
            with suppress(ValueError, KeyfoldError):
                return self._convert(parameter, vary(held, 1))
        with suppress(ValueError, KeyfoldError):
            return self._convert(parameter, held)
        return None

    def _convert(self, parameter: Parameter, value: Any) -> Any:
        """Return a value as the parameter's type; raises ValueError."""
        if isinstance(value, BaseModel):
            return value
        try:
            if parameter.name not in self._adapters:
                self._adapters[parameter.name] = TypeAdapter(parameter.annotation)
            return self._adapters[parameter.name].validate_python(value)
        except PydanticUserError:
            return value
        except ValidationError as error:
            fact = f"{value!r:.80} is not a value of {parameter.name}"
            raise ValueError(fact) from error

    def _guess(self, parameter: Parameter) -> Any:
        if parameter.name in self._pattern.example:
            return self._pattern.example[parameter.name]
        if parameter.name in _COUNTS:
            return PAGE
        if NoneType in get_args(parameter.annotation):
            return None
        found = samples_of(parameter.annotation)
        value = found[0] if found else sample_for(parameter.name, parameter.annotation)
        return parameter.name if isinstance(value, Placeholder) else value


def _indexes_read(pattern: Pattern[..., Any]) -> tuple[str, ...]:
    try:
        steps = pattern.explain().steps
    except (PatternFailed, PatternUnexplained):
        return ()
    return tuple(dict.fromkeys(each.index for each in steps if each.index is not None))


def _field_named(parameter: str, schema: EntitySchema) -> str | None:
    names = (parameter, parameter.removesuffix("_id"), f"{parameter}_id")
    return next((name for name in names if name in schema.fields), None)


def _sort(free: Sequence[Parameter], entities: Sequence[Entity]) -> Iterator[Entity]:
    """Yield entities in turns, one of each type; those with the most values for parameters first."""
    names = {each.name for each in free}
    kinds = tuple(each.annotation for each in free if _is_entity(each.annotation))
    by_type: dict[type[Entity], list[Entity]] = defaultdict(list)
    for entity in entities:
        by_type[type(entity)].append(entity)

    def rank(kind: type[Entity]) -> int:
        return -(len(names & kind.__pydantic_fields__.keys()) + 10 * issubclass(kind, kinds))

    turns = zip_longest(*(by_type[kind] for kind in sorted(by_type, key=rank)))
    return (entity for turn in turns for entity in turn if entity is not None)


class _Families:
    """Groups entities by the values of key fields that they share with another entity."""

    def __init__(self, entities: Sequence[Entity]) -> None:
        self._entities = entities
        self._groups: dict[tuple[type[Entity], tuple[str, ...]], dict[str, list[Entity]]] = {}

    def members(self, kind: type[Entity], entity: Entity) -> list[Entity]:
        """Return the entities of a kind that belong to an entity; all if no key says it."""
        mine, theirs = (each.keyfold_schema().key_fields for each in (type(entity), kind))
        names = tuple(sorted(mine & theirs))
        groups = self._groups.get((kind, names))
        if groups is None:
            groups = self._groups[kind, names] = defaultdict(list)
            for each in self._entities:
                if isinstance(each, kind):
                    groups[_show(each, names)].append(each)
        return groups.get(_show(entity, names), [])[:_MOST_MEMBERS]


def _show(entity: Entity, names: tuple[str, ...]) -> str:
    return repr([getattr(entity, name) for name in names])


def _member_of(annotation: Any) -> type[Entity] | None:
    """Return the entity of which an annotation takes several; None if it takes others."""
    members = [each for each in get_args(annotation) if _is_entity(each)]
    return members[0] if get_origin(annotation) in (list, tuple, Sequence) and members else None


def _first_of(kind: type[Any], entities: Sequence[Entity]) -> Entity | None:
    return next((each for each in entities if isinstance(each, kind)), None)


def _is_entity(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Entity)
