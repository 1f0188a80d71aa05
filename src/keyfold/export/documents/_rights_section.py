"""The section about shards and roles: who may do what in which partitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from keyfold.export.documents._blocks import (
    Block,
    Code,
    DocumentSection,
    Grid,
    Prose,
    join_codes,
)
from keyfold.model import Table
from keyfold.policy import ALL, EVERYTHING, READ, WRITE, Right

_NAMED = {ALL: "all", READ: "read", WRITE: "write"}


def describe_rights(table: Table) -> DocumentSection | None:
    """Return the section about shards and roles; None if there are neither."""
    blocks: list[Block] = []
    if table.shards:
        blocks.append(_list_shards(table))
    if table.roles:
        blocks += [_list_roles(table), *_list_limits(table)]
    return DocumentSection("Shards and roles", tuple(blocks)) if blocks else None


def _list_shards(table: Table) -> Grid:
    rows: list[tuple[Prose, ...]] = []
    for shard in table.shards.values():
        members = [each.name for each in table.entities.values() if each.shard == shard.name]
        rows.append(((Code(shard.name),), (Code(shard.template),), join_codes(members)))
    return Grid(("shard", "partition key", "contains"), tuple(rows))


def _list_roles(table: Table) -> Grid:
    """Return what each role may do in each shard; entities outside of shards have columns, too."""
    areas = [
        name for name in table.layout.areas if any(name in r.can for r in table.roles.values())
    ]
    columns = ("role", "own partitions by", *areas)
    everything = any(EVERYTHING in role.can for role in table.roles.values())
    rows: list[tuple[Prose, ...]] = []
    for role in table.roles.values():
        cells = [_show_rights(role.can.get(area)) for area in areas]
        whole = [_show_rights(role.can.get(EVERYTHING))] if everything else []
        tenant = () if role.tenant is None else (Code(role.tenant),)
        rows.append(((Code(role.name),), tenant, *cells, *whole))
    columns = (*columns, "the whole table") if everything else columns
    return Grid(columns, tuple(rows)).without_empty_columns()


def _show_rights(rights: Right | None) -> Prose:
    """Return rights in words: `read, update`."""
    if rights is None or not rights:
        return ()
    if rights in _NAMED:
        return (_NAMED[rights],)
    words = ["read"] if READ in rights else []
    rest = rights & ~READ if words else rights
    words += ["write"] if WRITE in rest else []
    rest = rest & ~WRITE if WRITE in rest else rest
    words += [(each.name or "").lower() for each in Right if each in rest]
    return (", ".join(words),)


def _list_limits(table: Table) -> Iterator[Block]:
    """Yield what else roles may or may not do."""
    rows: list[tuple[Prose, ...]] = [
        (
            (Code(role.name),),
            _show_attributes(role.hidden),
            _show_attributes(role.fixed),
            join_codes(sorted(role.lookups)),
            join_codes(sorted(role.unique)),
            join_codes(sorted(role.operations)),
            ("yes",) if role.is_end_user else (),
        )
        for role in table.roles.values()
    ]
    columns = (
        "role",
        "does not see",
        "does not change",
        "looks up in",
        "unique values of",
        "other operations",
        "end users",
    )
    grid = Grid(columns, tuple(row for row in rows if any(row[1:]))).without_empty_columns()
    if grid.rows:
        yield grid


def _show_attributes(areas: Mapping[str, frozenset[str]]) -> Prose:
    """Return attributes with the shards that they are in."""
    parts: list[str | Code] = []
    for area, names in areas.items():
        parts += [", "] if parts else []
        parts += join_codes(sorted(names))
        parts += [] if area == EVERYTHING else [" in ", Code(area)]
    return tuple(parts)
