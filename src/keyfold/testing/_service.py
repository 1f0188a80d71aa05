"""The service that a test uses: its engine, its clock, and its fault profile."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Unpack

from keyfold.testing._clock import Clock
from keyfold.testing._fault_profile import FaultProfile

if TYPE_CHECKING:
    # Not at runtime: the engine is slow to load, and not every test run needs it.
    from keyfold.engine import Engine
    from keyfold.model import Table
    from keyfold.store import AsyncStore, Store
    from keyfold.testing._core import Core
    from keyfold.testing._store_options import StoreOptions


class Service:
    """The DynamoDB that clients use inside `dynamodb()`.

    >>> from keyfold.testing import FaultProfile, dynamodb
    >>> with dynamodb() as service:
    ...     with service.under(FaultProfile(throttling=1.0)):
    ...         try:
    ...             service.execute("Scan", {"TableName": "Music"})
    ...         except Exception as error:
    ...             print(type(error).__name__)
    ProvisionedThroughputExceededException

    It is thread-safe.
    """

    def __init__(self, core: Core) -> None:
        """Not for direct use: `dynamodb` creates services."""
        self._core = core

    @property
    def engine(self) -> Engine:
        """The current engine, for direct calls, which meet no faults; `reset` replaces it."""
        return self._core.engine

    @property
    def clock(self) -> Clock:
        """The service's clock; moving it deletes expired items at once."""
        return self._core.clock

    @property
    def faults(self) -> FaultProfile:
        """The current fault profile; may be set."""
        return self._core.faults

    @faults.setter
    def faults(self, faults: FaultProfile) -> None:
        self._core.set_faults(faults)

    @contextmanager
    def under(self, faults: FaultProfile) -> Generator[None]:
        """Inject other faults inside the `with` block, then continue with the former ones."""
        core = self._core
        before = core.injector
        core.set_faults(faults)
        try:
            yield
        finally:
            core.resume(before)

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out one operation as `Engine.execute` does, with injected faults."""
        self._core.wait()
        return self._core.execute(operation, request)

    def execute_json(self, operation: str, body: bytes) -> bytes:
        """Carry out one operation as `Engine.execute_json` does, with injected faults."""
        self._core.wait()
        return self._core.execute_json(operation, body)

    def execute_parsed(self, operation: str, request: Any) -> dict[str, Any]:
        """Carry out one operation as `Engine.execute_parsed` does, with injected faults.

        A server needs nothing else of an engine, so it can serve a service.
        """
        self._core.wait()
        return self._core.execute_parsed(operation, request)

    def open(self, tables: Table | Sequence[Table], /, **options: Unpack[StoreOptions]) -> Store:
        """Return a store for one or more tables, which are created if they are missing.

        The store has the service's clock, and meets its faults; its retries do not pause. It may be
        used until the service ends, and need not be closed. `options` are `cursor_key`,
        `on_invalid` and `on_call` of `keyfold.open`.

        >>> from keyfold import Entity, Key, Table
        >>> from keyfold.testing import dynamodb
        >>> songs = Table("Songs", key=Key("pk"))
        >>> class Song(Entity, table=songs, key="SONG#{title}"):
        ...     title: str
        >>> with dynamodb() as service:
        ...     service.open(songs).run(Song(title="Sinnerman").put())
        Song(title='Sinnerman')
        """
        from keyfold.testing._stores import open_store  # noqa: PLC0415 - slow to load

        return open_store(self._core, tables, options)

    def open_async(
        self, tables: Table | Sequence[Table], /, **options: Unpack[StoreOptions]
    ) -> AsyncStore:
        """Async version of `open`: return an `AsyncStore`, on any event loop."""
        from keyfold.testing._stores import open_async_store  # noqa: PLC0415 - slow to load

        return open_async_store(self._core, tables, options)

    def reset(self) -> None:
        """Drop every table, and restart the faults from their seed; takes under a millisecond.

        Clients can still be used. The former engine is closed.
        """
        self._core.reset()

    def __repr__(self) -> str:
        return f"<Service on {self._core.engine!r}, {self._core.clock!r}>"
