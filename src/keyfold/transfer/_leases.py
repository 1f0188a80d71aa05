"""Which tables of a database belong to followers of its streams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keyfold.model._schemas import ItemMismatch
from keyfold.store._follow_options import LEASE_TABLE_ENDING
from keyfold.store._leases import lease_table
from keyfold.transfer._calls import Caller
from keyfold.values import restore_binaries


def find_lease_tables(caller: Caller, names: Sequence[str]) -> list[str]:
    """Return those of a database's tables in which followers of another keep how far they are.

    Such a table is called after the one that is followed, which is there as well, and has a
    lease, or what else followers keep, as its first item.
    """
    known = set(names)
    return [
        name
        for name in names
        if name.endswith(LEASE_TABLE_ENDING)
        and name.removesuffix(LEASE_TABLE_ENDING) in known
        and _holds_leases(caller, name)
    ]


def _holds_leases(caller: Caller, name: str) -> bool:
    items: list[dict[str, Any]] = caller.call("Scan", {"TableName": name, "Limit": 1})["Items"]
    if not items:
        return False
    item = restore_binaries(items[0])
    try:
        lease_table(name).table.find_schema(item).decode(item)
    except ItemMismatch:
        return False
    return True
