"""What a studio is opened on: a database, its tables, and how each of them is known."""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any, Literal

from keyfold.api import find_operation
from keyfold.clocks import Clock
from keyfold.connect._opening import find_kept_key
from keyfold.model import Table
from keyfold.store import Executor, Store, StoreSettings
from keyfold.store._principals import PrincipalSettings
from keyfold.studio._marks import EntityMark, make_marks
from keyfold.studio._problems import StudioProblem

# How a table's declaration was found: named by the user or the project, one of the included designs,
# or inferred from the stored items.
Origin = Literal["declared", "design", "inferred"]
DatabaseKind = Literal["file", "memory", "service"]
# Making the store of a principal compiles its rights.
_REMEMBERED = 100


@dataclass(frozen=True)
class StudioTable:
    """A table of the studio. `source` says where its declaration comes from, in words."""

    table: Table
    origin: Origin = "declared"
    source: str = ""
    # The text of an inferred declaration.
    module: str | None = None
    # What stops the table from being used as declared, such as an index that it lacks.
    problems: tuple[str, ...] = ()
    # False for a table that had no items to infer a declaration from: it may have some later.
    is_final: bool = True

    @property
    def name(self) -> str:
        """The name of the table."""
        return self.table.name

    @cached_property
    def marks(self) -> Mapping[str, EntityMark]:
        """The marks of the entities, by name."""
        return make_marks(self.table.entities)


@dataclass(frozen=True, slots=True)
class StudioPrincipal:
    """Who the studio acts as: roles, and the ids of their tenants."""

    roles: tuple[str, ...]
    ids: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def identity(self) -> str:
        """A text that is different for every principal."""
        return repr((self.roles, sorted(self.ids.items())))


class ReadOnlyExecutor:
    """An executor that refuses everything that may change the database."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out an operation that reads; raises StudioProblem for any other."""
        if not (find_operation(operation).is_read or _is_read_statement(operation, request)):
            raise refuse_write()
        return self._executor.execute(operation, request)

    def __repr__(self) -> str:
        return repr(self._executor)


def _is_read_statement(operation: str, request: Mapping[str, Any]) -> bool:
    return operation == "ExecuteStatement" and (
        str(request.get("Statement", "")).lstrip()[:6].upper() == "SELECT"
    )


def refuse_write() -> StudioProblem:
    """Return the problem of a write in a studio that only reads."""
    message = "The studio was opened with --read-only. Start it without, to change items."
    return StudioProblem(403, "studio-read-only", message)


class Workspace:
    """A database and its tables. Rooms may use it in several threads at once."""

    def __init__(
        self,
        executor: Executor,
        tables: Sequence[StudioTable],
        *,
        name: str,
        kind: DatabaseKind,
        discover: Callable[[str], StudioTable] | None = None,
        read_only: bool = False,
        clock: Clock = time.time,
        url: str = "",
        traffic_file: str | None = None,
    ) -> None:
        self.executor: Executor = ReadOnlyExecutor(executor) if read_only else executor
        self._tables = {each.name: each for each in tables}
        # Finds or infers the declaration of another table of the database, when it is first shown.
        self._discover = discover
        self.name = name
        self.kind = kind
        # As commands take it; empty if no other process can open the database.
        self.url = url
        self.read_only = read_only
        # Where a server beside the studio records the keys and units of its requests.
        self.traffic_file = traffic_file
        self.clock = clock
        self._key = find_kept_key(executor) or os.urandom(32)
        self._settings: dict[str, StoreSettings] = {}
        self._principals: OrderedDict[tuple[str, str], StoreSettings] = OrderedDict()
        self._lock = Lock()
        self._discovering = Lock()
        # What rooms have made once, such as the review of a table, by name.
        self._made: dict[tuple[str, ...], Any] = {}

    def list_tables(self) -> tuple[str, ...]:
        """Return the names of all tables, declared ones first; some may have been created just now."""
        with self._lock:
            known = [*self._tables]
        found = [] if self._discover is None else _list_tables(self.executor)
        return (*known, *(each for each in found if each not in known))

    def find(self, name: str) -> StudioTable:
        """Return the table of a name, whose declaration may be inferred now; raises StudioProblem."""
        with self._lock:
            found = self._tables.get(name)
        if found is not None:
            return found
        known = self.list_tables()
        if self._discover is None or name not in known:
            message = f"The studio has no table {name!r}; it has {', '.join(known) or 'none'}."
            raise StudioProblem(404, "table-unknown", message)
        # Several requests may need a new table at once: the first one infers its declaration.
        with self._discovering:
            with self._lock:
                found = self._tables.get(name)
            if found is not None:
                return found
            made = self._discover(name)
            if made.is_final:
                with self._lock:
                    self._tables[name] = made
        return made

    def open_store(
        self, table: StudioTable, principal: StudioPrincipal | None, recorder: Executor
    ) -> Store:
        """Return a store of one table, whose calls are recorded; raises PrincipalInvalid."""
        with self._lock:
            settings = self._settings.get(table.name)
            if settings is None or settings.tables[table.name] is not table.table:
                settings = StoreSettings([table.table], cursor_key=self._key, clock=self.clock)
                self._settings[table.name] = settings
        if principal is not None:
            settings = self._restrict(table.name, settings, principal)
        return Store(recorder, settings)

    def _restrict(
        self, name: str, settings: StoreSettings, principal: StudioPrincipal
    ) -> StoreSettings:
        identity = (name, principal.identity)
        with self._lock:
            found = self._principals.get(identity)
            if found is None:
                found = PrincipalSettings(settings, principal.roles, principal.ids)
                self._principals[identity] = found
                if len(self._principals) > _REMEMBERED:
                    self._principals.popitem(last=False)
        return found

    def remember(self, name: tuple[str, ...], make: Callable[[], Any]) -> Any:
        """Return what was made under a name before, or make it now."""
        with self._lock:
            if name in self._made:
                return self._made[name]
        made = make()
        with self._lock:
            return self._made.setdefault(name, made)


def _list_tables(executor: Executor) -> list[str]:
    request: dict[str, Any] = {}
    names: list[str] = []
    while True:
        response = executor.execute("ListTables", request)
        names += response["TableNames"]
        last = response.get("LastEvaluatedTableName")
        if last is None:
            return names
        request = {"ExclusiveStartTableName": last}
