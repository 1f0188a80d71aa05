"""Layouts: the partitions of a table and its indexes, as key templates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from keyfold.api import TableKeyNames
from keyfold.keys import KeyTemplate, find_collision

# The prefix of the partitions of Keyfold's own items, which are of no entity.
OWN_START = "keyfold#"
# The prefix of the partitions of guard items; each value of a unique field has one.
UNIQUE_START = f"{OWN_START}unique#"


@dataclass(frozen=True, slots=True)
class Area:
    """Partitions that rights are granted for: a shard, or those of an entity outside all shards.

    `templates` are those of its partition key, one for each way in which entities parse the same
    text. An area without templates has all partitions that no other area has. `attributes` are
    the stored names of all that its entities declare, including keys. `copies` maps an attribute
    to the key attributes derived from it; `unique` are the attributes with unique values. `names`
    has, for each renamed attribute, all names under which it may be stored. `sort_templates` are
    those of the sort key; none if an entity of the area has any sort keys.
    """

    name: str
    templates: tuple[KeyTemplate, ...]
    entities: tuple[str, ...]
    attributes: frozenset[str]
    is_shard: bool = False
    copies: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    unique: frozenset[str] = frozenset()
    names: tuple[frozenset[str], ...] = ()
    sort_templates: tuple[KeyTemplate, ...] = ()

    def is_shared_by(self, tenant: str) -> bool:
        """Return whether tenants share its partitions, and every sort key names the tenant."""
        return (
            not any(tenant in template.fields for template in self.templates)
            and bool(self.sort_templates)
            and all(tenant in template.fields for template in self.sort_templates)
        )


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """An entity in an index: a template per partition attribute, None where any value is possible."""

    entity: str
    area: str
    templates: tuple[KeyTemplate | None, ...]

    @property
    def texts(self) -> tuple[str | None, ...]:
        """The source texts of the templates."""
        return tuple(None if each is None else each.text for each in self.templates)


@dataclass(frozen=True, slots=True)
class IndexLayout:
    """The key attributes of an index, and the entities that can appear in it."""

    name: str
    partition: tuple[str, ...]
    is_local: bool
    entries: tuple[IndexEntry, ...]
    sort: tuple[str, ...] = ()

    @property
    def areas(self) -> tuple[str, ...]:
        """The areas whose items can appear in the index."""
        return tuple(dict.fromkeys(entry.area for entry in self.entries))

    def find_own(self, tenant: str) -> list[tuple[IndexEntry, ...]]:
        """Return the entries whose partitions belong to a tenant, grouped by template text.

        Entries that could share a partition with another entity's items are left out.
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
    """Return whether two entities can be in the same partition of an index."""
    return all(
        mine is None or theirs is None or find_collision([mine], [theirs]) is not None
        for mine, theirs in zip(one, other, strict=True)
    )


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Layout:
    """A table as policies see it: its key, its areas and its indexes.

    `unique` has the names of the guards of unique fields, by entity. A partition must be in one
    area at most; `find_overlaps` reports violations.
    """

    table: str
    key: tuple[str, ...]
    areas: Mapping[str, Area]
    indexes: Mapping[str, IndexLayout]
    unique: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])

    @property
    def key_names(self) -> TableKeyNames:
        """The key attributes of the table, and the partition keys of its indexes."""
        partition, *sort = self.key
        indexes = {index.name: index.partition for index in self.indexes.values()}
        return TableKeyNames(partition, sort[0] if sort else None, indexes)

    def find_guard_names(self, given: Iterable[str]) -> frozenset[str]:
        """Return the names of guards that a role names by themselves, or by their entities."""
        return frozenset[str]().union(*(self.unique.get(each, {each}) for each in given))

    def find_parts(self) -> set[str]:
        """Return the names of parts by which tenants can be told apart.

        Those are the parts of partition templates, and those that all sort keys of an area have.
        """
        areas = self.areas.values()
        parts = {name for area in areas for each in area.templates for name in each.fields}
        in_sort_keys = {
            name for area in areas for each in area.sort_templates for name in each.fields
        }
        shared = {name for name in in_sort_keys if any(area.is_shared_by(name) for area in areas)}
        return parts | shared


def pattern_of_parts(template: KeyTemplate) -> tuple[str, ...]:
    """Return the patterns of a template's parts, which can differ between templates of one text."""
    return tuple(part.format.pattern for part in template.parts)


def join_names(names: Iterable[str]) -> str:
    """Join names with commas and "and".

    >>> join_names(["get", "query", "create"])
    'get, query and create'
    """
    *rest, last = names
    return f"{', '.join(rest)} and {last}" if rest else last
