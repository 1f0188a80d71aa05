"""Validates a role against the layout of its table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from keyfold.policy._layouts import Layout
from keyfold.policy._operations import BY_NAME, BY_RIGHTS, HARMLESS, MOVING, SHOWING
from keyfold.policy._rights import ALL, EVERYTHING, READ, Right, Role

_match_name = re.compile(r"[A-Za-z0-9_.-]{1,64}").fullmatch


def find_role_problems(layout: Layout, role: Role) -> list[str]:
    """Return all problems of a role of a table, as sentences."""
    subject = f"{layout.table}: role {role.name!r}"
    return [
        *_check_name(subject, role),
        *_check_can(subject, layout, role),
        *_check_tenant(subject, layout, role),
        *_check_attributes(subject, layout, "hides", role.hidden),
        *_check_attributes(subject, layout, "fixes", role.fixed),
        *_check_names(subject, layout, "hides", role.hidden),
        *_check_names(subject, layout, "fixes", role.fixed),
        *_check_copies(subject, layout, role),
        *_check_unique(subject, layout, role),
        *_check_lookups(subject, layout, role),
        *_check_operations(subject, role),
    ]


def _check_name(subject: str, role: Role) -> Iterator[str]:
    if not isinstance(role.name, str) or _match_name(role.name) is None:  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not check types
        yield f"{subject} needs a name of 1 to 64 letters, digits, '_', '-' and '.'."


def _check_can(subject: str, layout: Layout, role: Role) -> Iterator[str]:
    for name, right in role.can.items():
        yield from _check_area(subject, layout, name)
        if not isinstance(right, Right):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not check types
            yield (
                f"{subject} has {right!r:.80} for {name!r}. Give a Right, or several joined with "
                "|, such as READ | WRITE."
            )


def _check_area(subject: str, layout: Layout, name: str) -> Iterator[str]:
    if name == EVERYTHING or name in layout.areas:
        return
    for area in layout.areas.values():
        if name in area.entities:
            yield (
                f"{subject} names {name}, which is in shard {area.name!r}. Rights are for whole "
                f"partitions: name the shard."
            )
            return
    known = ", ".join(layout.areas) or "none"
    yield (
        f"{subject} names {name!r}, which is neither a shard nor an entity outside every shard; "
        f"known are {known}."
    )


def _check_tenant(subject: str, layout: Layout, role: Role) -> Iterator[str]:
    if role.tenant is None:
        return
    if EVERYTHING in role.can:
        yield (
            f"{subject} has the tenant {role.tenant!r} and EVERYTHING, which would include other "
            "tenants. Name the shards, or leave out the tenant."
        )
    parts = layout.find_parts()
    if role.tenant not in parts:
        known = ", ".join(sorted(parts)) or "none"
        yield (
            f"{subject} has the tenant {role.tenant!r}, which is neither a part of a partition "
            f"template nor of all sort keys of a partition; such parts are {known}."
        )


def _check_attributes(
    subject: str, layout: Layout, verb: str, rules: Mapping[str, frozenset[str]]
) -> Iterator[str]:
    for name, attributes in rules.items():
        yield from _check_area(subject, layout, name)
        if name == EVERYTHING:
            known = frozenset[str]().union(*(area.attributes for area in layout.areas.values()))
        elif name in layout.areas:
            known = layout.areas[name].attributes
        else:
            continue
        for attribute in sorted(attributes, key=str):
            if attribute in layout.key:
                yield f"{subject} {verb} {attribute!r}, which is part of the key of every item."
            elif attribute not in known:
                listed = ", ".join(sorted(known - set(layout.key))) or "none"
                yield (
                    f"{subject} {verb} {attribute!r}, but no entity of {name!r} stores an attribute "
                    f"of that name; they store {listed}."
                )


def _check_names(
    subject: str, layout: Layout, verb: str, rules: Mapping[str, frozenset[str]]
) -> Iterator[str]:
    """Yield a problem for each renamed attribute of which a rule has some names but not all."""
    everywhere = rules.get(EVERYTHING, frozenset[str]())
    for area in layout.areas.values():
        named = rules.get(area.name, frozenset[str]()) | everywhere
        for names in area.names:
            if named & names and not names <= named:
                yield (
                    f"{subject} {verb} {min(named & names)!r}, which may also be stored as "
                    f"{', '.join(map(repr, sorted(names - named)))}. Name it, too."
                )


def _check_copies(subject: str, layout: Layout, role: Role) -> Iterator[str]:
    """Yield a problem for each hidden attribute that a key attribute reveals."""
    everywhere = role.hidden.get(EVERYTHING, frozenset[str]())
    reported: set[tuple[str, str]] = set()
    for area in layout.areas.values():
        hidden = role.hidden.get(area.name, frozenset[str]()) | everywhere
        for attribute in sorted(hidden & area.copies.keys(), key=str):
            for copy in sorted(area.copies[attribute] - hidden):
                if (attribute, copy) in reported:
                    continue
                reported.add((attribute, copy))
                made = f"{subject} hides {attribute!r}, but {copy!r} is derived from it"
                if copy in layout.key:
                    yield f"{made} and is part of the key of every item."
                else:
                    yield f"{made} for an index. Hide it, too."


def _check_unique(subject: str, layout: Layout, role: Role) -> Iterator[str]:
    entities = {name for area in layout.areas.values() for name in area.entities}
    guards = frozenset[str]().union(*layout.unique.values())
    for name in sorted(role.unique - layout.unique.keys() - guards):
        if name not in entities:
            known = ", ".join(sorted(guards)) or "none"
            yield (
                f"{subject} may take unique values of {name!r}, which is neither an entity of the "
                f"table nor the name of its guards ({known})."
            )
        else:
            yield f"{subject} may take unique values of {name}, which has no unique fields."


def _check_lookups(subject: str, layout: Layout, role: Role) -> Iterator[str]:
    hidden = frozenset[str]().union(*role.hidden.values())
    for name in sorted(role.lookups, key=str):
        index = layout.indexes.get(name)
        if index is None:
            known = ", ".join(layout.indexes) or "none"
            yield f"{subject} looks up items in {name!r}, which is not an index; known are {known}."
        elif index.is_local:
            yield (
                f"{subject} looks up items in {name}, a local index, which has the partitions of "
                "the table. Grant Right.QUERY instead."
            )
        else:
            for attribute in sorted(hidden.intersection(index.partition + index.sort)):
                yield (
                    f"{subject} looks up items in {name}, whose key would show {attribute!r}, "
                    "which the role hides."
                )


def _check_operations(subject: str, role: Role) -> Iterator[str]:
    for name in sorted(role.operations, key=str):
        if name in BY_RIGHTS:
            yield f"{subject} names the operation {name}. Give rights on items in `can`."
        elif name not in BY_NAME:
            yield f"{subject} names {name!r}, which is not an operation of the API."
        elif role.tenant is not None and name not in HARMLESS:
            yield (
                f"{subject} has a tenant, and names the operation {name}, which concerns all "
                f"tenants. It may name {', '.join(sorted(HARMLESS))}."
            )
        elif name in SHOWING and not _has_all(role, READ):
            yield (
                f"{subject} names the operation {name}, which shows items of every partition: it "
                "needs READ of EVERYTHING, with nothing hidden."
            )
        elif name in MOVING and not _has_all(role, ALL):
            yield (
                f"{subject} names the operation {name}, which may read and write any item: it "
                "needs ALL of EVERYTHING, with nothing hidden or fixed."
            )


def _has_all(role: Role, rights: Right) -> bool:
    granted: Any = role.can.get(EVERYTHING)
    if not isinstance(granted, Right) or rights not in granted or any(role.hidden.values()):
        return False
    return rights is not ALL or not any(role.fixed.values())
