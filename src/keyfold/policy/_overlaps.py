"""Finds areas that overlap: a partition key of one may be one of the other, and so would the rights.

Areas may overlap if their partition keys are nothing but UUIDs or typed ids, which are never given
twice. A role that is limited to the partition of its own id cannot reach another's through it. So
each role must be limited in this way to one of the areas, or have the same rights on all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from keyfold.keys import KeyTemplate, find_collision
from keyfold.keys._formats import UlidFormat, UuidFormat
from keyfold.policy._layouts import Area, Layout
from keyfold.policy._rights import EVERYTHING, Right, Role


def find_overlaps(layout: Layout, roles: Iterable[Role]) -> list[str]:
    """Return descriptions of areas that overlap, so that rights cannot be granted separately."""
    listed, areas = list(roles), list(layout.areas.values())
    return [
        f"{layout.table}: {problem}"
        for place, area in enumerate(areas)
        for other in areas[:place]
        for problem in _find_problems(other, area, listed)
    ]


def find_writable_sort_keys(
    layout: Layout, role: Role, area: Area
) -> tuple[KeyTemplate, ...] | None:
    """Return the templates of the sort keys that a role may write in an area; None if it may write any.

    They are those of the area, if other areas can have the same partitions, with other rights.
    """
    overlapping = [
        other
        for other in layout.areas.values()
        if other is not area
        and other.templates
        and _find_shared(area, other) is not None
        and _rules_on(role, other) != _rules_on(role, area)
    ]
    return area.sort_templates if overlapping and area.sort_templates else None


def _find_problems(one: Area, other: Area, roles: list[Role]) -> Iterator[str]:
    example = _find_shared(one, other)
    if example is None:
        return
    fact = f"{_show(one)} and {_show(other)} can both have the partition {example}"
    if not _has_unique_ids(one) or not _has_unique_ids(other):
        yield (
            f"{fact}, so rights on one would apply to the other. "
            "Change a template, or put both into one shard."
        )
        return
    for role in roles:
        if not _keeps_apart(role, one, other):
            yield (
                f"{fact}, and role {role.name!r} has rights on one that would apply to the other. "
                "Give it the same rights on both, or only those to partitions of its own tenant."
            )


def _keeps_apart(role: Role, one: Area, other: Area) -> bool:
    """Return whether no right of a role on one area would apply to partitions of the other."""
    mine, theirs = _rules_on(role, one), _rules_on(role, other)
    if mine == theirs and _is_own(role, one) == _is_own(role, other):
        return True
    granted = [area for area, rules in ((one, mine), (other, theirs)) if rules[0]]
    return len(granted) == 1 and _is_own(role, granted[0])


def _rules_on(role: Role, area: Area) -> tuple[Right, frozenset[str], frozenset[str]]:
    none = frozenset[str]()
    return (
        role.can.get(area.name, Right(0)) | role.can.get(EVERYTHING, Right(0)),
        role.hidden.get(area.name, none) | role.hidden.get(EVERYTHING, none),
        role.fixed.get(area.name, none) | role.fixed.get(EVERYTHING, none),
    )


def _is_own(role: Role, area: Area) -> bool:
    """Return whether the role may use no partition of an area but that of its own id."""
    return all(template.fields == (role.tenant,) for template in area.templates)


def _has_unique_ids(area: Area) -> bool:
    """Return whether every partition of an area is that of a UUID or a typed id, and of nothing else."""
    return bool(area.templates) and all(map(_is_unique_id, area.templates))


def _is_unique_id(template: KeyTemplate) -> bool:
    return len(template.parts) == 1 and isinstance(
        template.parts[0].format, UuidFormat | UlidFormat
    )


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
