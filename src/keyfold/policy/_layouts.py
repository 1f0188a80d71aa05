"""Layouts: how a table's partitions are shared out, in the words of keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from keyfold.keys import KeyTemplate, find_collision

# What the partitions of guard items begin with, one for each value of a unique field.
UNIQUE_START = "keyfold#unique#"


@dataclass(frozen=True, slots=True)
class Area:
    """Partitions that rights are given for: a shard, or those of an entity that is in none.

    `templates` are those of its partition key, one for each way in which entities read the parts
    of the same text. Without any, it has whatever partitions no other area has. `attributes` are
    all that its entities declare, by their stored names, keys included. `copies` has key attributes
    that are made from another, by its name; `unique` are those whose values are kept unique.
    """

    name: str
    templates: tuple[KeyTemplate, ...]
    entities: tuple[str, ...]
    attributes: frozenset[str]
    is_shard: bool = False
    copies: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    unique: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """An entity in an index: a template for each partition attribute, None if it may be anything."""

    entity: str
    area: str
    templates: tuple[KeyTemplate | None, ...]

    @property
    def texts(self) -> tuple[str | None, ...]:
        """The templates as they are written."""
        return tuple(None if each is None else each.text for each in self.templates)


@dataclass(frozen=True, slots=True)
class IndexLayout:
    """The attributes of an index's key, and the entities that can be in it."""

    name: str
    partition: tuple[str, ...]
    is_local: bool
    entries: tuple[IndexEntry, ...]
    sort: tuple[str, ...] = ()

    @property
    def areas(self) -> tuple[str, ...]:
        """Where the items that are in it can lie."""
        return tuple(dict.fromkeys(entry.area for entry in self.entries))

    def find_own(self, tenant: str) -> list[tuple[IndexEntry, ...]]:
        """Return the entries whose partitions are a tenant's own, those of the same text together.

        Left out is what another entity's item could lie beside.
        """
        groups: dict[tuple[str | None, ...], list[IndexEntry]] = {}
        for entry in self.entries:
            groups.setdefault(entry.texts, []).append(entry)
        return [
            tuple(group)
            for texts, group in groups.items()
            if any(each is not None and tenant in each.fields for each in group[0].templates)
            and not any(
                _can_meet(mine.templates, other.templates)
                for other in self.entries
                if other.texts != texts
                for mine in group
            )
        ]


def _can_meet(one: Sequence[KeyTemplate | None], other: Sequence[KeyTemplate | None]) -> bool:
    """Tell whether two entities can be in one partition of an index."""
    return all(
        mine is None or theirs is None or find_collision([mine], [theirs]) is not None
        for mine, theirs in zip(one, other, strict=True)
    )


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Layout:
    """What a policy knows of a table: its key, its areas, its indexes.

    `unique` names the entities that have unique fields. A partition lies in one area at most;
    `find_problems` tells where that is not so.
    """

    table: str
    key: tuple[str, ...]
    areas: Mapping[str, Area]
    indexes: Mapping[str, IndexLayout]
    unique: frozenset[str] = frozenset()

    def find_parts(self) -> set[str]:
        """Return the names of all parts of partition templates."""
        return {
            name
            for area in self.areas.values()
            for template in area.templates
            for name in template.fields
        }

    def find_problems(self) -> list[str]:
        """Return what keeps rights from being given area by area."""
        problems: list[str] = []
        areas = list(self.areas.values())
        for place, area in enumerate(areas):
            for other in areas[:place]:
                example = _find_shared(other, area)
                if example is not None:
                    problems.append(
                        f"{self.table}: {_show(other)} and {_show(area)} can both have the "
                        f"partition {example}, so a role's rights would not tell them apart. "
                        "Change a template, or put both into one shard."
                    )
        return problems


def _find_shared(one: Area, other: Area) -> str | None:
    if not one.templates and not other.templates:
        return "of any name"
    for mine in one.templates:
        for theirs in other.templates:
            found = find_collision([mine], [theirs])
            if found is not None:
                return repr(found[0])
    return None


def _show(area: Area) -> str:
    return f"shard {area.name!r}" if area.is_shard else area.name


def pattern_of_parts(template: KeyTemplate) -> tuple[str, ...]:
    """Return what the parts of a template match: those of the same text may read it differently."""
    return tuple(part.format.pattern for part in template.parts)


def join_names(names: Iterable[str]) -> str:
    """Return names as a sentence lists them.

    >>> join_names(["get", "query", "create"])
    'get, query and create'
    """
    *rest, last = names
    return f"{', '.join(rest)} and {last}" if rest else last
