"""What a role may touch, from the policy's own compiled rules: areas and indexes, by right.

An area is a shard, or the partitions of an entity outside of all shards.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from keyfold.keys import KeyTemplate
from keyfold.model import Table
from keyfold.policy import EVERYTHING, Area, IndexEntry, IndexLayout, Right, Role
from keyfold.policy._rules import Grant, RoleRules, rules_of
from keyfold.studio._shown_items import find_entity
from keyfold.studio._shown_keys import show_key
from keyfold.studio.rooms._role_trials import find_lookups
from keyfold.values import Item

RIGHTS = tuple((each.name or "").lower() for each in Right)


def name_rights(rights: int) -> list[str]:
    """Return the names of rights, in the order of the matrix.

    >>> name_rights((Right.QUERY | Right.GET).value)
    ['get', 'query']
    """
    return [(each.name or "").lower() for each in Right if rights & each.value]


def find_right(name: str) -> Right | None:
    """Return the right of a name, such as `create`; None if there is none."""
    return next((each for each in Right if (each.name or "").lower() == name), None)


def find_grant(rules: RoleRules, area: Area) -> Grant | None:
    """Return what a role may do in an area; None if nothing at all."""
    for grant, _ in rules.areas.values():
        if grant.parts[0][0] == area.name:
            return grant
    return rules.otherwise if not area.templates else None


def show_areas(table: Table, role: Role, own: str | None) -> list[dict[str, Any]]:
    """Return a row of the matrix for each area; `own` is the id of the tenant, if it is known."""
    rules = rules_of(table.layout, role)
    return [_show_area(rules, area, own) for area in table.layout.areas.values()]


def _show_area(rules: RoleRules, area: Area, own: str | None) -> dict[str, Any]:
    role = rules.role
    grant = find_grant(rules, area)
    rights = 0 if grant is None else grant.rights
    is_shared = role.tenant is not None and area.is_shared_by(role.tenant)
    has_tenant = any(role.tenant in each.fields for each in area.templates)
    return {
        "name": area.name,
        "shard": area.is_shard,
        "entities": list(area.entities),
        "rights": name_rights(rights),
        # Whether its partitions are the tenant's, or only some of their items, or all tenants'.
        "scope": "own" if has_tenant else "items" if is_shared else "all",
        "partitions": _unique(show_pieces(each, role.tenant, own) for each in area.templates),
        "items": _unique(show_pieces(each, role.tenant, own) for each in area.sort_templates)
        if is_shared
        else [],
        "hidden": sorted(grant.hidden) if grant else [],
        "fixed": sorted(grant.fixed) if grant else [],
        "writable": grant is None or grant.writable is None,
    }


def show_pieces(template: KeyTemplate, tenant: str | None, own: str | None) -> list[dict[str, str]]:
    """Return the pieces of a key with the tenant's id; other parts are shown by their names."""
    pieces: list[dict[str, str]] = []
    for part in template.parts:
        if part.before:
            pieces.append({"text": part.before})
        text = own if own and part.name == tenant else f"{{{part.name}}}"
        pieces.append({"text": text, "part": part.name})
    if template.tail:
        pieces.append({"text": template.tail})
    return pieces


def show_indexes(table: Table, role: Role, own: str | None) -> list[dict[str, Any]]:
    """Return a row of the matrix for each index."""
    looked_up = find_lookup_patterns(table)
    return [
        _show_index(table, role, index, own, looked_up.get(index.name, []))
        for index in table.layout.indexes.values()
    ]


def find_lookup_patterns(table: Table) -> dict[str, list[str]]:
    """Return the patterns that look items up in each index."""
    found: dict[str, list[str]] = {}
    for pattern in table.patterns.values():
        for index in find_lookups(pattern):
            found.setdefault(index, []).append(pattern.__name__)
    return found


def _show_index(
    table: Table, role: Role, index: IndexLayout, own: str | None, patterns: list[str]
) -> dict[str, Any]:
    grants = dict(_find_index_grants(table, role, index))
    query = Right.QUERY.value
    allowed = {
        entry: grant
        for entry, grant in grants.items()
        if grant.rights & query and index.name not in grant.closed
    }
    closed = sorted(
        {name for grant in grants.values() if index.name in grant.closed for name in grant.hidden}
    )
    reason = ""
    if not allowed and closed and any(grant.rights & query for grant in grants.values()):
        reason = f"its keys would show {', '.join(closed)}"
    elif not allowed and role.tenant is not None and not grants:
        reason = f"no partition of it is one {role.tenant}'s alone"
    elif not allowed:
        lacking = {
            area for grant in grants.values() for area, rights in grant.parts if not rights & query
        }
        reason = f"it has items of {', '.join(sorted(lacking))}, which it may not query"
    entries = [entry for entry in allowed if entry is not None]
    return {
        "name": index.name,
        "local": index.is_local,
        "query": bool(allowed),
        "entities": list(dict.fromkeys(entry.entity for entry in index.entries)),
        "partitions": _unique(
            show_pieces(each, role.tenant, own)
            for entry in entries
            for each in entry.templates
            if each is not None
        ),
        "lookup": index.name in role.lookups,
        "lookupPatterns": patterns,
        "reason": reason,
    }


def _find_index_grants(
    table: Table, role: Role, index: IndexLayout
) -> Iterator[tuple[IndexEntry | None, Grant]]:
    """Yield what a role may do in an index: for each entry that is the tenant's, or for all."""
    rules = rules_of(table.layout, role)
    if index.is_local:
        # It has the partitions of the table.
        for area in index.areas:
            grant = find_grant(rules, table.layout.areas[area])
            if grant is not None:
                yield IndexEntry("", area, table.layout.areas[area].templates), grant
        return
    found = rules.indexes[index.name]
    if role.tenant is None:
        yield None, found.grant
        return
    for group in index.find_own(role.tenant):
        areas = {entry.area for entry in group}
        for grant in (
            *(each.grant for each in found.own),
            *(each.grant for each in found.own_by_match),
        ):
            if {name for name, _ in grant.parts} == areas:
                yield group[0], grant
                break


def show_extras(role: Role) -> dict[str, Any]:
    """Return what else a role may do: scans, unique values, further operations."""
    everything = role.can.get(EVERYTHING)
    return {
        "everything": name_rights(everything.value) if everything else [],
        "unique": sorted(role.unique),
        "operations": sorted(role.operations),
        "lookups": sorted(role.lookups),
        "endUser": role.is_end_user,
    }


def _unique(listed: Iterable[list[dict[str, str]]]) -> list[list[dict[str, str]]]:
    by_text = {"".join(piece["text"] for piece in each): each for each in listed}
    return list(by_text.values())


def find_tenant_ids(table: Table, role: Role, item: Item) -> Iterator[str]:
    """Yield the ids of a role's tenant in the key of an item."""
    schema = find_entity(table, item)
    for part in () if schema is None else schema.keys:
        for piece in show_key(part, part.attribute, item[part.attribute])["pieces"]:
            if piece.get("part") == role.tenant:
                yield piece["text"]
