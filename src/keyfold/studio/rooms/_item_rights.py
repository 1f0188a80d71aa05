"""The partitions that a principal can be shown without asking: its own, and those with one key."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from keyfold.model import Table
from keyfold.policy import READ, Area, Guard, PrincipalGuard
from keyfold.studio.rooms._item_reading import BandRange, BandReader, SortOperator


@dataclass(frozen=True, slots=True)
class OwnRanges:
    """The partitions of a principal, and sentences about others that it may read.

    `unlisted` are the areas that have such others: how many items it may read there is not known.
    """

    ranges: tuple[BandRange, ...]
    notes: tuple[str, ...]
    unlisted: frozenset[str] = frozenset()


def find_own_ranges(reader: BandReader, guard: PrincipalGuard) -> OwnRanges:
    """Return what a principal that may not scan can be shown."""
    ranges: dict[str, BandRange] = {}
    notes: dict[str, str] = {}
    for each in guard.guards:
        found = _list_of_index(reader, each) if reader.index else _list_of_table(reader.table, each)
        for one in found:
            ranges.setdefault(repr(one), one)
        if reader.index is None:
            notes |= dict(_list_notes(reader.table, each))
    return OwnRanges(tuple(ranges.values()), tuple(notes), frozenset(notes.values()))


def _list_of_table(table: Table, guard: Guard) -> Iterator[BandRange]:
    attribute, tenant = table.key.partition[0], guard.role.tenant
    for area in table.layout.areas.values():
        for template in area.templates:
            if template.fields and template.fields != (tenant,):
                continue
            text = template.tail
            if template.parts:
                text = f"{template.parts[0].before}{guard.tenant}{template.tail}"
            partition = {attribute: {"S": text}}
            if tenant is not None and area.is_shared_by(tenant):
                for sort in _list_sort_conditions(area, tenant, guard.tenant or ""):
                    yield BandRange(partition, sort)
            else:
                yield BandRange(partition)


def _list_sort_conditions(area: Area, tenant: str, own: str) -> Iterator[tuple[SortOperator, str]]:
    """Yield conditions for the items of a tenant, in a partition that several share."""
    for template in area.sort_templates:
        first = template.parts[0] if template.parts else None
        if first is None or first.name != tenant:
            continue
        if len(template.parts) == 1:
            yield "=", f"{first.before}{own}{template.tail}"
        else:
            yield "begins_with", f"{first.before}{own}{first.after}"


def _list_of_index(reader: BandReader, guard: Guard) -> Iterator[BandRange]:
    assert reader.index is not None  # else the table is read
    rules = guard.rules.indexes.get(reader.index.name)
    attribute, *more = reader.key.partition
    if rules is None or guard.tenant is None or more:
        return
    for each in rules.own:
        yield BandRange({attribute: {"S": each.render(guard.tenant)}})


def _list_notes(table: Table, guard: Guard) -> Iterator[tuple[str, str]]:
    """Yield what else the role may read, if one says which partition, and in which area."""
    role = guard.role
    for area in table.layout.areas.values():
        if not role.can.get(area.name, READ & ~READ) & READ:
            continue
        for template in area.templates:
            others = [name for name in template.fields if name != role.tenant]
            if others:
                note = (
                    f"{role.name} may read {area.name}, {template.text}, but not list its partitions: "
                    f"filter by {' and '.join(others)}."
                )
                yield note, area.name
