"""Which attributes of a known item a principal could get."""

from __future__ import annotations

from collections.abc import Iterable

from keyfold.policy._access import Access
from keyfold.policy._guard_unions import PrincipalGuard
from keyfold.policy._rights import Right
from keyfold.values import Item

_GET = Right.GET.value


def find_readable(guard: PrincipalGuard, key: Item, names: Iterable[str]) -> frozenset[str] | None:
    """Return which attributes of an item a principal could read with GetItem.

    None if it could not read the item at all. `names` are the attributes that the item has.
    """
    partition, sort = key[guard.partition], guard.key_names.sort
    if guard.admits(_GET, partition):
        return frozenset(names)
    whole = Access(
        "GetItem",
        guard.layout.table,
        rights=Right.GET,
        partition=(partition,),
        sort_key=None if sort is None else key[sort],
        attributes=None,
        select="ALL_ATTRIBUTES",
    )

    def may_get(*named: str) -> bool:
        attributes = frozenset((*key, *named))
        some = whole._replace(attributes=attributes, select="SPECIFIC_ATTRIBUTES")
        return guard.check(some) is None

    if not may_get():
        return None
    if guard.check(whole) is None:
        return frozenset(names)
    # One by one: each of several roles may show others, in a GetItem of its own.
    return frozenset(filter(may_get, names))
