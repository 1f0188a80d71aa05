"""Detection of lease tables, in which stream followers keep their positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keyfold.model._schemas import ItemMismatch
from keyfold.store._follow_options import LEASE_TABLE_ENDING
from keyfold.store._leases import lease_table
from keyfold.transfer._calls import MeteredCaller
from keyfold.values import restore_binaries


def find_lease_tables(caller: MeteredCaller, names: Sequence[str]) -> list[str]:
    """Return the lease tables among a database's tables.

    A lease table is named after the followed table, which is also in the database, and its first
    item is a lease or another item that followers write.
    """
    known = set(names)
    return [
        name
        for name in names
        if name.endswith(LEASE_TABLE_ENDING)
        and name.removesuffix(LEASE_TABLE_ENDING) in known
        and _holds_leases(caller, name)
    ]


def _holds_leases(caller: MeteredCaller, name: str) -> bool:
    items: list[dict[str, Any]] = caller.call("Scan", {"TableName": name, "Limit": 1})["Items"]
    if not items:
        return False
    item = restore_binaries(items[0])
    try:
        lease_table(name).table.find_schema(item).decode(item)
    except ItemMismatch:
        return False
    return True
