"""A studio's desk for tests of rooms: the four designs with their examples, and no browser."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import pytest

from keyfold.engine import Engine
from keyfold.model import Table
from keyfold.store import Store, StoreSettings
from keyfold.studio._actions import StudioCall, make_call
from keyfold.studio._bodies import StudioBody
from keyfold.studio._opening import DESIGNS, make_workspace
from keyfold.studio._workspace import Workspace
from keyfold.studio.rooms import ACTIONS

NOW = 1_800_000_000.0
TABLES: dict[str, Table] = {
    table.name: table
    for table in (import_module(f"keyfold.designs.{each}").table for each in DESIGNS)
}
_RUN = {action.name: action.run for action in ACTIONS}


@dataclass
class Desk:
    """Asks for actions as the browser does; `calls` has every call, the last one at the end."""

    engine: Engine
    workspace: Workspace
    now: list[float]
    calls: list[StudioCall] = field(default_factory=list[StudioCall])

    def act(self, name: str, table: str = "Market", **body: Any) -> Any:
        """Run an action; `principal` is who acts, as `{"roles": [...], "ids": {...}}`."""
        principal: Mapping[str, Any] | None = body.pop("principal", None)
        call = make_call(self.workspace, StudioBody({"table": table, "as": principal, **body}))
        self.calls.append(call)
        return _RUN[name](call)

    @property
    def units(self) -> float:
        """The read units of the last action."""
        return self.calls[-1].recorder.count_units()[0]

    def put(self, item: dict[str, Any], table: str = "Market") -> None:
        """Write an item as it is."""
        self.engine.execute("PutItem", {"TableName": table, "Item": item})


@pytest.fixture
def desk() -> Iterator[Desk]:
    """The four designs with their examples, in memory."""
    now = [NOW]
    with Engine.open(":memory:", clock=lambda: now[0], upkeep_seconds=None) as engine:
        tables = list(TABLES.values())
        store = Store(engine, StoreSettings(tables, clock=lambda: now[0]))
        for table in tables:
            store.create_table(table)
            for entity in table.example_registry.make(table):
                store.run(entity.put())
        yield Desk(engine, make_workspace(engine, tables, clock=lambda: now[0]), now)
