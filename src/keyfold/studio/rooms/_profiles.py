"""Profiles of tables, made once: running every pattern takes a while, pricing what they do does not."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Any, Literal

from keyfold.analysis import (
    TableProfile,
    find_sample,
    profile_table,
    read_workload,
    sample_database,
)
from keyfold.capacity import read_units
from keyfold.studio._actions import StudioCall
from keyfold.studio._problems import StudioProblem

ProfileSource = Literal["examples", "database"]
_ProfileName = tuple[str, ProfileSource, int]
# A profile of a large database has 20,000 items.
_KEPT = 8
_MOST_ROUNDS = 2**53


class ProfileCache:
    """The latest profiles. Requests that want the same one at the same time make it once."""

    def __init__(self, most: int = _KEPT) -> None:
        self._most = most
        self._lock = Lock()
        self._making: dict[_ProfileName, Lock] = {}
        self._made: OrderedDict[_ProfileName, TableProfile] = OrderedDict()

    def find(
        self,
        name: _ProfileName,
        make: Callable[[], TableProfile],
        *,
        is_current: Callable[[TableProfile], bool],
    ) -> TableProfile:
        """Return the profile of a table, if it is current; otherwise make it."""
        with self._lock:
            making = self._making.setdefault(name, Lock())
        with making:
            with self._lock:
                found = self._made.get(name)
            if found is None or not is_current(found):
                found = make()
            with self._lock:
                self._made[name] = found
                self._made.move_to_end(name)
                if len(self._made) > self._most:
                    self._made.popitem(last=False)
        return found


def find_profile(call: StudioCall) -> TableProfile:
    """Return the profile of the table: on its examples or, if the browser asks for it, on the database.

    The body has `source`, and `round`: another number measures a database once more.
    """
    source, table = _read_source(call), call.table
    number = call.body.integer("round", least=0, most=_MOST_ROUNDS, default=0)
    cache: ProfileCache = call.workspace.remember(("costs", "profiles"), ProfileCache)

    def make() -> TableProfile:
        # The studio's own reader: what it reads is counted like every other read.
        sample = find_sample(table) if source == "examples" else sample_database(table, call.store)
        return profile_table(table, sample, read_workload(table))

    # An inferred declaration may have been inferred anew.
    name = (table.name, source, number)
    return cache.find(name, make, is_current=lambda found: found.table is table)


def _read_source(call: StudioCall) -> ProfileSource:
    given = call.body.optional_text("source") or "examples"
    if given == "examples":
        return "examples"
    if given != "database":
        message = f"source has to be examples or database; got {given!r:.60}."
        raise StudioProblem(400, "request-malformed", message)
    if call.principal is not None:
        message = "A role sees a part of the items only. Measure on the database as administrator."
        raise StudioProblem(403, "costs-administrator-only", message)
    return "database"


def describe_database(call: StudioCall) -> dict[str, Any] | None:
    """Return how many items the table has, and the units to read them all; None as a role."""
    if call.principal is not None:
        return None
    request = {"TableName": call.table.name}
    described = call.workspace.executor.execute("DescribeTable", request)["Table"]
    size = described["TableSizeBytes"]
    return {
        "items": described["ItemCount"],
        "bytes": size,
        "units": read_units(size, is_consistent=False) if size else 0,
    }
