"""A role compiled for a table: done once, for all principals that have the role."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple
from weakref import WeakKeyDictionary

from keyfold.api import TableKeyNames
from keyfold.keys import KeyTemplate, find_collision
from keyfold.policy._layouts import Area, IndexLayout, Layout, pattern_of_parts
from keyfold.policy._overlaps import find_writable_sort_keys
from keyfold.policy._own_items import OwnItems, find_own_items
from keyfold.policy._rights import EVERYTHING, Right, Role

NOTHING = Right(0)


@dataclass(frozen=True, slots=True)
class Grant:
    """What a role may do in an area, or in several areas that share an index.

    Rights are an integer here: operations on `Flag` are slow.
    """

    rights: int
    hidden: frozenset[str]
    fixed: frozenset[str]
    # The attributes that may be named if some are hidden.
    declared: frozenset[str]
    # The areas, each with the rights granted there.
    parts: tuple[tuple[str, int], ...]
    # Indexes whose keys would reveal hidden attributes: LastEvaluatedKey has them.
    closed: frozenset[str] = frozenset()
    # Unique attributes, which only a store may set.
    unique: frozenset[str] = frozenset()
    # Tells the tenant's items from others of the same partition; None if all of them are its own.
    own_items: OwnItems | None = None
    # The sort keys that may be written; None if all of them may.
    writable: tuple[Callable[[str], re.Match[str] | None], ...] | None = None

    @property
    def has_only_rights(self) -> bool:
        """Whether rights alone decide: nothing is hidden or fixed, no item is another tenant's.

        With `writable`, that is so for reads only.
        """
        return not self.hidden and not self.fixed and self.own_items is None

    def may_write(self, sort_key: str) -> bool:
        """Return whether the sort key of an item allows that it is written."""
        return self.writable is None or any(match(sort_key) for match in self.writable)


_NO_GRANT = Grant(0, frozenset(), frozenset(), frozenset(), ())


def join_grants(grants: Iterable[Grant]) -> Grant:
    """Return what may be done with an item that may be in any of several areas."""
    listed = list(grants)
    return Grant(
        reduce(lambda one, other: one & other, (each.rights for each in listed)),
        frozenset[str]().union(*(each.hidden for each in listed)),
        frozenset[str]().union(*(each.fixed for each in listed)),
        frozenset[str]().union(*(each.declared for each in listed)),
        tuple(part for each in listed for part in each.parts),
        frozenset[str]().union(*(each.closed for each in listed)),
        frozenset[str]().union(*(each.unique for each in listed)),
    )


class TenantPartition(NamedTuple):
    """A template whose only part is the tenant: the text before it and after it."""

    before: str
    after: str
    grant: Grant

    def render(self, tenant: str) -> str:
        """Return the partition key value of one tenant."""
        return self.before + tenant + self.after


class PartitionMatch(NamedTuple):
    """The grant for a partition, and its tenant; None if it belongs to no tenant."""

    grant: Grant
    tenant: str | None


@dataclass(frozen=True, slots=True)
class TenantIndexPartitions:
    """Partitions of an index that belong to a tenant, by a pattern for each attribute."""

    matches: tuple[Callable[[str], re.Match[str] | None] | None, ...]
    grant: Grant

    def find_tenant(self, texts: Sequence[str | None]) -> str | None:
        """Return the tenant whose partition these values are; None if they do not match."""
        found: set[str] = set()
        for match, text in zip(self.matches, texts, strict=True):
            if match is None:
                continue
            matched = None if text is None else match(text)
            if matched is None:
                return None
            tenant = matched.groupdict().get("tenant")
            if tenant is not None:
                found.add(tenant)
        return found.pop() if len(found) == 1 else None


@dataclass(frozen=True, slots=True)
class IndexRules:
    """What a role may do in an index."""

    name: str
    # For all items that can be in the index; used for roles without a tenant.
    grant: Grant
    own: tuple[TenantPartition, ...]
    own_by_match: tuple[TenantIndexPartitions, ...]


class WatchedAttribute(NamedTuple):
    """An attribute whose value can put an item into a tenant's partition of an index.

    A value matches at most one of the templates, and the only group that matches is the tenant.
    """

    attribute: str
    index_name: str
    match: Callable[[str], re.Match[str] | None]


@dataclass(frozen=True, slots=True)
class RoleRules:
    """The rights of a role in a table, prepared for lookups."""

    role: Role
    key_names: TableKeyNames
    # Partitions with a constant key, and those whose key is known once the tenant is.
    exact: dict[str, Grant]
    own: tuple[TenantPartition, ...]
    # Finds the area of a partition: the group that matches is a key of `areas`. None if no area
    # has templates.
    match: Callable[[str], re.Match[str] | None] | None
    areas: dict[str, tuple[Grant, str | None]]
    # For partitions that match no template; None if those are denied.
    otherwise: Grant | None
    # For scans, and for the partitions of guard items.
    everything: Grant | None
    indexes: dict[str, IndexRules]
    local: frozenset[str]
    watched: tuple[WatchedAttribute, ...]
    # Whether all of them are attributes of the table's key, which no update changes.
    watches_only_keys: bool
    # The templates that the tenant's id must fit.
    tenant_templates: tuple[KeyTemplate, ...]

    def find(self, text: str) -> PartitionMatch | None:
        """Return the area of a partition; None if it is in no area with templates."""
        found = None if self.match is None else self.match(text)
        if found is None:
            return None
        assert found.lastgroup is not None  # the outermost group is closed last
        grant, tenant = self.areas[found.lastgroup]
        return PartitionMatch(grant, None if tenant is None else found[tenant])


# Compiled roles by layout, kept as long as the layout: principals are created all the time.
_known: WeakKeyDictionary[Layout, dict[str, RoleRules]] = WeakKeyDictionary()


def rules_of(layout: Layout, role: Role) -> RoleRules:
    """Return the compiled rules of a role in a table."""
    by_name = _known.setdefault(layout, {})
    rules = by_name.get(role.name)
    if rules is None or rules.role is not role:
        rules = by_name[role.name] = _compile(layout, role)
    return rules


def _compile(layout: Layout, role: Role) -> RoleRules:
    granted = {name: _grant(layout, role, area) for name, area in layout.areas.items()}
    everything = _grant_everything(layout, role, granted)
    exact: dict[str, Grant] = {}
    own: list[TenantPartition] = []
    patterns: list[str] = []
    areas: dict[str, tuple[Grant, str | None]] = {}
    otherwise = everything
    for area in layout.areas.values():
        grant = granted[area.name]
        if not area.templates:
            otherwise = grant
        for template in area.templates:
            if not template.parts:
                exact[template.tail] = grant
            elif template.fields == (role.tenant,):
                own.append(TenantPartition(template.parts[0].before, template.tail, grant))
            whole, tenant = f"area{len(patterns)}", f"tenant{len(patterns)}"
            patterns.append(f"(?P<{whole}>{_pattern_of(template, role.tenant, tenant)})")
            areas[whole] = (grant, tenant if role.tenant in template.fields else None)
    index_rules = {
        index.name: _index_rules(role, index, granted, everything)
        for index in layout.indexes.values()
        if not index.is_local
    }
    watched = tuple(_find_watched(layout, role))
    return RoleRules(
        role,
        layout.key_names,
        exact,
        tuple(dict.fromkeys(own)),
        re.compile("|".join(patterns)).fullmatch if patterns else None,
        areas,
        otherwise,
        everything,
        index_rules,
        frozenset(index.name for index in layout.indexes.values() if index.is_local),
        watched,
        all(each.attribute in layout.key for each in watched),
        tuple(_find_tenant_templates(layout, role)),
    )


def _pattern_of(template: KeyTemplate, tenant: str | None, group: str) -> str:
    """Return the regular expression for a template, with the tenant's part as a named group."""
    return "".join(
        re.escape(part.before)
        + (f"(?P<{group}>" if part.name == tenant else "(?:")
        + part.format.pattern
        + ")"
        for part in template.parts
    ) + re.escape(template.tail)


def _match_of(template: KeyTemplate, tenant: str | None) -> Callable[[str], re.Match[str] | None]:
    return re.compile(_pattern_of(template, tenant, "tenant")).fullmatch


def _grant(layout: Layout, role: Role, area: Area) -> Grant:
    rights = role.can.get(area.name, NOTHING) | role.can.get(EVERYTHING, NOTHING)
    none = frozenset[str]()
    hidden = role.hidden.get(area.name, none) | role.hidden.get(EVERYTHING, none)
    writable = find_writable_sort_keys(layout, role, area)
    return Grant(
        rights.value,
        hidden,
        role.fixed.get(area.name, none) | role.fixed.get(EVERYTHING, none),
        area.attributes,
        ((area.name, rights.value),),
        _find_closed(layout, hidden),
        frozenset() if may_do_anything(role) else area.unique,
        find_own_items(area, role.tenant, _match_of),
        None if writable is None else tuple(_match_of(each, role.tenant) for each in writable),
    )


def may_do_anything(role: Role) -> bool:
    """Return whether a role may get and write every item, including guard items."""
    return Right.GET | Right.CREATE | Right.UPDATE | Right.DELETE in role.can.get(
        EVERYTHING, NOTHING
    )


def _find_closed(layout: Layout, hidden: frozenset[str]) -> frozenset[str]:
    return frozenset(
        index.name
        for index in layout.indexes.values()
        if not hidden.isdisjoint(index.partition + index.sort)
    )


def _grant_everything(layout: Layout, role: Role, granted: dict[str, Grant]) -> Grant | None:
    """Return the grant for EVERYTHING; None if the role does not have it."""
    rights = role.can.get(EVERYTHING)
    if rights is None:
        return None
    whole = Grant(
        rights.value,
        role.hidden.get(EVERYTHING, frozenset()),
        role.fixed.get(EVERYTHING, frozenset()),
        frozenset(),
        (("EVERYTHING", rights.value),),
    )
    joined = join_grants([whole, *granted.values()])
    return Grant(
        whole.rights,
        joined.hidden,
        joined.fixed,
        joined.declared,
        whole.parts,
        _find_closed(layout, joined.hidden),
        joined.unique,
    )


def _index_rules(
    role: Role, index: IndexLayout, granted: dict[str, Grant], everything: Grant | None
) -> IndexRules:
    grants = [granted[name] for name in index.areas]
    whole = join_grants(grants) if grants else everything or _NO_GRANT
    own: list[TenantPartition] = []
    own_by_match: list[TenantIndexPartitions] = []
    for group in index.find_own(role.tenant) if role.tenant is not None else ():
        grant = join_grants(granted[name] for name in dict.fromkeys(each.area for each in group))
        for entry in group:
            template = entry.templates[0]
            if len(entry.templates) == 1 and template and template.fields == (role.tenant,):
                own.append(TenantPartition(template.parts[0].before, template.tail, grant))
            else:
                matches = [
                    None if each is None else _match_of(each, role.tenant)
                    for each in entry.templates
                ]
                own_by_match.append(TenantIndexPartitions(tuple(matches), grant))
    return IndexRules(index.name, whole, tuple(dict.fromkeys(own)), tuple(own_by_match))


def _find_watched(layout: Layout, role: Role) -> Iterable[WatchedAttribute]:
    if role.tenant is None:
        return
    for index in layout.indexes.values():
        if index.is_local:
            continue
        for place, attribute in enumerate(index.partition):
            templates = [
                each
                for entry in index.entries
                if (each := entry.templates[place]) is not None and role.tenant in each.fields
            ]
            for group in _group_disjoint(templates):
                patterns = [
                    _pattern_of(each, role.tenant, f"tenant{number}")
                    for number, each in enumerate(group)
                ]
                match = re.compile("|".join(patterns)).fullmatch
                yield WatchedAttribute(attribute, index.name, match)


def _group_disjoint(templates: Iterable[KeyTemplate]) -> list[list[KeyTemplate]]:
    """Group templates so that no text matches two templates of a group."""
    groups: list[list[KeyTemplate]] = []
    for template in {(each.text, pattern_of_parts(each)): each for each in templates}.values():
        for group in groups:
            if all(find_collision([template], [other]) is None for other in group):
                group.append(template)
                break
        else:
            groups.append([template])
    return groups


def _find_tenant_templates(layout: Layout, role: Role) -> Iterable[KeyTemplate]:
    """Yield templates with the tenant, one for each format that the tenant's id must have."""
    templates = [each for area in layout.areas.values() for each in area.templates]
    for area in layout.areas.values():
        if role.tenant is not None and area.is_shared_by(role.tenant):
            templates += area.sort_templates
    for index in layout.indexes.values():
        for entry in index.entries:
            templates += (each for each in entry.templates if each is not None)
    seen: set[str] = set()
    for template in templates:
        for part in template.parts:
            if part.name == role.tenant and part.format.pattern not in seen:
                seen.add(part.format.pattern)
                yield template
