"""What a role means in a table: worked out once, for all principals that have it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple
from weakref import WeakKeyDictionary

from keyfold.keys import KeyTemplate, find_collision
from keyfold.policy._layouts import Area, IndexLayout, Layout, pattern_of_parts
from keyfold.policy._rights import EVERYTHING, Right, Role

NOTHING = Right(0)


@dataclass(frozen=True, slots=True)
class Grant:
    """What a role may do in an area, or in several that an index brings together.

    Rights are a number here: flags take their time.
    """

    rights: int
    hidden: frozenset[str]
    fixed: frozenset[str]
    # All that may be named where something is hidden.
    declared: frozenset[str]
    # The areas, each with the rights that are granted there.
    parts: tuple[tuple[str, int], ...]
    # Indexes by whose keys something hidden would be seen: each page tells the last one's.
    closed: frozenset[str] = frozenset()
    # What only a store sets, which keeps it unique.
    unique: frozenset[str] = frozenset()

    @property
    def is_plain(self) -> bool:
        """Whether rights are all that there is to look at."""
        return not self.hidden and not self.fixed


_NO_GRANT = Grant(0, frozenset(), frozenset(), frozenset(), ())


def join_grants(grants: Iterable[Grant]) -> Grant:
    """Return what may be done with items of any of several areas."""
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


class Own(NamedTuple):
    """A template with no part but the tenant: what stands before it and behind."""

    before: str
    after: str
    grant: Grant

    def render(self, tenant: str) -> str:
        """Return the partition of one tenant."""
        return self.before + tenant + self.after


class Found(NamedTuple):
    """Where a partition lies, and whose it is; None where it is nobody's in particular."""

    grant: Grant
    tenant: str | None


@dataclass(frozen=True, slots=True)
class Opening:
    """Partitions of an index that are a tenant's own, by what their attributes are to match."""

    matches: tuple[Callable[[str], re.Match[str] | None] | None, ...]
    grant: Grant

    def find_tenant(self, texts: Sequence[str | None]) -> str | None:
        """Return whose partition these values are; None where they are no such partition."""
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
    # Of all items that can be in it; for roles without a tenant.
    grant: Grant
    own: tuple[Own, ...]
    openings: tuple[Opening, ...]


class Watched(NamedTuple):
    """An attribute by which an item can come into some tenant's partition of an index.

    A value matches one of the templates at most, and the one group that matches is the tenant.
    """

    attribute: str
    index_name: str
    match: Callable[[str], re.Match[str] | None]


@dataclass(frozen=True, slots=True)
class RoleRules:
    """A role's rights, laid out for looking them up."""

    role: Role
    # Partitions that are known to the letter, and those that are once the tenant is.
    exact: dict[str, Grant]
    own: tuple[Own, ...]
    # Which area a partition lies in, by the group that has matched; where areas have no templates,
    # there is nothing to match.
    match: Callable[[str], re.Match[str] | None] | None
    areas: dict[str, tuple[Grant, str | None]]
    # Of partitions that lie in no template's area; None where those are denied.
    otherwise: Grant | None
    # Of the partitions that keep unique values apart; and of everything at once.
    everything: Grant | None
    indexes: dict[str, IndexRules]
    local: frozenset[str]
    watched: tuple[Watched, ...]
    # Whether all of those are attributes of the table's key, which no update changes.
    watches_keys_alone: bool
    # Those that the tenant's id is to fit.
    tenant_templates: tuple[KeyTemplate, ...]

    def find(self, text: str) -> Found | None:
        """Return where a partition lies; None where it is in no area that has templates."""
        found = None if self.match is None else self.match(text)
        if found is None:
            return None
        assert found.lastgroup is not None  # the group around all others is closed last
        grant, tenant = self.areas[found.lastgroup]
        return Found(grant, None if tenant is None else found[tenant])


# By their tables, as long as those are there; principals come and go.
_known: WeakKeyDictionary[Layout, dict[str, RoleRules]] = WeakKeyDictionary()


def rules_of(layout: Layout, role: Role) -> RoleRules:
    """Return what a role means in a table."""
    by_name = _known.setdefault(layout, {})
    rules = by_name.get(role.name)
    if rules is None or rules.role is not role:
        rules = by_name[role.name] = _compile(layout, role)
    return rules


def _compile(layout: Layout, role: Role) -> RoleRules:
    granted = {name: _grant(layout, role, area) for name, area in layout.areas.items()}
    everything = _grant_everything(layout, role, granted)
    exact: dict[str, Grant] = {}
    own: list[Own] = []
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
                own.append(Own(template.parts[0].before, template.tail, grant))
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
    """Return the source of what a template matches, with the tenant's part as a group."""
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
    return Grant(
        rights.value,
        hidden,
        role.fixed.get(area.name, none) | role.fixed.get(EVERYTHING, none),
        area.attributes,
        ((area.name, rights.value),),
        _find_closed(layout, hidden),
        frozenset() if may_do_anything(role) else area.unique,
    )


def may_do_anything(role: Role) -> bool:
    """Tell whether a role may do all that a store does to keep values unique."""
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
    """Return what a role may do with the table as a whole; None if it was not given that."""
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
    own: list[Own] = []
    openings: list[Opening] = []
    for group in index.find_own(role.tenant) if role.tenant is not None else ():
        grant = join_grants(granted[name] for name in dict.fromkeys(each.area for each in group))
        for entry in group:
            template = entry.templates[0]
            if len(entry.templates) == 1 and template and template.fields == (role.tenant,):
                own.append(Own(template.parts[0].before, template.tail, grant))
            else:
                matches = [
                    None if each is None else _match_of(each, role.tenant)
                    for each in entry.templates
                ]
                openings.append(Opening(tuple(matches), grant))
    return IndexRules(index.name, whole, tuple(dict.fromkeys(own)), tuple(openings))


def _find_watched(layout: Layout, role: Role) -> Iterable[Watched]:
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
            for group in _group_apart(templates):
                patterns = [
                    _pattern_of(each, role.tenant, f"tenant{number}")
                    for number, each in enumerate(group)
                ]
                match = re.compile("|".join(patterns)).fullmatch
                yield Watched(attribute, index.name, match)


def _group_apart(templates: Iterable[KeyTemplate]) -> list[list[KeyTemplate]]:
    """Return templates in as few groups as will do, in none of which a text could match two."""
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
    """Yield templates that have the tenant, one for each form that its id is to have there."""
    templates = [each for area in layout.areas.values() for each in area.templates]
    for index in layout.indexes.values():
        for entry in index.entries:
            templates += (each for each in entry.templates if each is not None)
    seen: set[str] = set()
    for template in templates:
        for part in template.parts:
            if part.name == role.tenant and part.format.pattern not in seen:
                seen.add(part.format.pattern)
                yield template
