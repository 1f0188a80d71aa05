"""Stores on a test's service: with its clock and its faults, and with their tables created."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keyfold.model import Table
from keyfold.store import AsyncStore, Store, StoreSettings
from keyfold.testing._core import Core
from keyfold.testing._store_options import StoreOptions

_SECRET = "cursors"  # noqa: S105 - the name of one


class ServiceExecutor:
    """Executes operations on a service, with its injected faults."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def execute(self, operation: str, request: dict[str, Any], /) -> dict[str, Any]:
        """Carry out one operation; raises ServiceError."""
        self._core.wait()
        return self._core.execute(operation, request)

    def __repr__(self) -> str:
        return "<Service>"


class AsyncServiceExecutor:
    """Executes operations on a service, and awaits injected latency."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def execute(self, operation: str, request: dict[str, Any], /) -> dict[str, Any]:
        """Carry out one operation; raises ServiceError."""
        await self._core.wait_async()
        return self._core.execute(operation, request)

    def __repr__(self) -> str:
        return "<Service>"


def open_store(core: Core, tables: Table | Sequence[Table], options: StoreOptions) -> Store:
    """Return a store on a service; create the tables that the service lacks."""
    return _create_tables(core, _make_settings(core, tables, options))


def open_async_store(
    core: Core, tables: Table | Sequence[Table], options: StoreOptions
) -> AsyncStore:
    """Return an async store on a service; create the tables that the service lacks."""
    settings = _make_settings(core, tables, options)
    # At once and without an event loop, so that the store can be opened in any fixture.
    _create_tables(core, settings)
    return AsyncStore(AsyncServiceExecutor(core), settings)


def _make_settings(
    core: Core, tables: Table | Sequence[Table], options: StoreOptions
) -> StoreSettings:
    # Stores of one service accept each other's cursors, as those of one file do.
    options.setdefault("cursor_key", core.engine.keep_secret(_SECRET))
    return StoreSettings(
        tuple(tables) if isinstance(tables, Sequence) else (tables,),
        clock=core.clock,
        # Retries do not pause: that would relieve no service, and only make the test slow.
        jitter=lambda: 0.0,
        is_embedded=True,
        **options,
    )


def _create_tables(core: Core, settings: StoreSettings) -> Store:
    store = Store(ServiceExecutor(core), settings)
    for table in settings.tables.values():
        store.create_table(table)
    return store
