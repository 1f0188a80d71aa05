"""Rights and roles: what a kind of principal may do in which parts of a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Flag, auto
from typing import Any

# Stands for all partitions of a table, including those outside every shard.
EVERYTHING = "*"


class Right(Flag):
    """An action on the items of a partition; combine rights with `|`.

    >>> Right.GET in READ
    True
    """

    # Reads of single items by their full keys.
    GET = auto()
    QUERY = auto()
    CREATE = auto()
    UPDATE = auto()
    DELETE = auto()


READ = Right.GET | Right.QUERY
WRITE = Right.CREATE | Right.UPDATE | Right.DELETE
ALL = READ | WRITE


@dataclass(frozen=True, slots=True)
class Role:
    """What a kind of principal may do in a table; everything else is denied.

    `can` maps shards to rights, and also entities that are outside every shard; `EVERYTHING`
    stands for the whole table. `tenant` names the part of key templates that holds the principal's
    id: in templates with that part, rights are for the principal's own partitions only. `hidden`
    and `fixed` map shards to stored attributes that the role may not see, or may not change.
    `lookups` names indexes in which the role may look up items by their index key: over the wire,
    it gets those that it may get by their keys, and learns nothing about the others.
    `unique` names entities whose unique values the role may take and release, or the guards of
    single fields, such as `"Member.email"`; `operations` are further operations of the API that it
    may call on the table. To a principal whose roles are all `is_end_user`, surfaces such as
    `keyfold run --as` show handles instead of ids that are system keys.

    >>> Role("customer", tenant="user", can={"orders": READ}).can["orders"]
    <Right.GET|QUERY: 3>
    """

    name: str
    tenant: str | None = None
    can: Mapping[str, Right] = field(default_factory=dict[str, Right])
    hidden: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    fixed: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    unique: frozenset[str] = frozenset()
    lookups: frozenset[str] = frozenset()
    operations: frozenset[str] = frozenset()
    is_end_user: bool = False

    def __init__(
        self,
        name: str,
        *,
        can: Mapping[Any, Right],
        tenant: str | None = None,
        hidden: Mapping[Any, str | Iterable[str]] | None = None,
        fixed: Mapping[Any, str | Iterable[str]] | None = None,
        unique: Any | Iterable[Any] = (),
        lookups: Any | Iterable[Any] = (),
        operations: str | Iterable[str] = (),
        is_end_user: bool = False,
    ) -> None:
        values = {
            "name": name,
            "tenant": tenant,
            "can": {_name(area): right for area, right in can.items()},
            "hidden": {_name(area): _names(names) for area, names in (hidden or {}).items()},
            "fixed": {_name(area): _names(names) for area, names in (fixed or {}).items()},
            "unique": _names(unique),
            "lookups": _names(lookups),
            "operations": _names(operations),
            "is_end_user": is_end_user,
        }
        for attribute, value in values.items():
            object.__setattr__(self, attribute, value)


def _names(given: Any) -> frozenset[str]:
    """Return the names of one or several shards, entities, indexes or attributes."""
    if isinstance(given, str | type) or hasattr(given, "name"):
        return frozenset((_name(given),))
    return frozenset(map(_name, given))


def _name(given: Any) -> str:
    """Return the name of a shard or entity, given by name or as the object."""
    if isinstance(given, str):
        return given
    name = given.__name__ if isinstance(given, type) else getattr(given, "name", None)
    # An object without a name is shown by its repr in the error about an unknown area.
    return name if isinstance(name, str) else repr(given)
