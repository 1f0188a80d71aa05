"""Rights and roles: what somebody may do, in which parts of a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Flag, auto
from typing import Any

# The name of all partitions of a table, those outside every shard included.
EVERYTHING = "*"


class Right(Flag):
    """What may be done with the items of a partition.

    >>> Right.GET in READ
    True
    """

    # Reading items one by one, by their whole keys.
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
    """What a kind of principal may do in a table; what it does not say is denied.

    `can` has rights by shard, or by entity for one that is outside every shard; `EVERYTHING`
    stands for all of the table. `tenant` names the part of key templates that holds the
    principal's own id: where a template has it, the right is for the principal's own partitions.
    `hidden` and `fixed` have stored attributes, by shard, that the role may not see, or not
    change. `unique` names entities whose unique values the role may take and give up;
    `operations` are others of the API that it may call on the table.

    >>> Role("customer", tenant="user", can={"orders": READ}).can["orders"]
    <Right.GET|QUERY: 3>
    """

    name: str
    tenant: str | None = None
    can: Mapping[str, Right] = field(default_factory=dict[str, Right])
    hidden: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    fixed: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    unique: frozenset[str] = frozenset()
    operations: frozenset[str] = frozenset()

    def __init__(
        self,
        name: str,
        *,
        can: Mapping[Any, Right],
        tenant: str | None = None,
        hidden: Mapping[Any, str | Iterable[str]] | None = None,
        fixed: Mapping[Any, str | Iterable[str]] | None = None,
        unique: Any | Iterable[Any] = (),
        operations: str | Iterable[str] = (),
    ) -> None:
        values = {
            "name": name,
            "tenant": tenant,
            "can": {_name(area): right for area, right in can.items()},
            "hidden": {_name(area): _names(names) for area, names in (hidden or {}).items()},
            "fixed": {_name(area): _names(names) for area, names in (fixed or {}).items()},
            "unique": _names(unique),
            "operations": _names(operations),
        }
        for attribute, value in values.items():
            object.__setattr__(self, attribute, value)


def _names(given: Any) -> frozenset[str]:
    """Return the names of several things, or of one that is given alone."""
    return frozenset(map(_name, (given,) if isinstance(given, str | type) else given))


def _name(given: Any) -> str:
    """Return the name of a shard or an entity, which may be given itself."""
    if isinstance(given, str):
        return given
    name = given.__name__ if isinstance(given, type) else getattr(given, "name", None)
    # What has none is shown, for whoever looks for it.
    return name if isinstance(name, str) else repr(given)
