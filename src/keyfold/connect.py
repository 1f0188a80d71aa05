"""From a URL to a store."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from keyfold.engine import Engine
from keyfold.engine._engine import MEMORY
from keyfold.errors import (
    EngineClosed,
    FileUnreachable,
    ResourceNotFoundException,
    UrlUnknown,
    ValidationException,
)
from keyfold.model import Table
from keyfold.store import AsyncStore, Executor, Settings, Store
from keyfold.store._plans import OnUnfit
from keyfold.store._settings import Clock, Hook, real_now

__all__ = ["open", "open_async"]

V = TypeVar("V")

_QUICK = {"GetItem", "Query"}
_THREADS = 4
# Under this name, a file keeps what its cursors are sealed with.
_SECRET = "cursors"  # noqa: S105 - no password


def open(  # noqa: A001 - keyfold.open is what users call
    tables: Table | Sequence[Table],
    url: str | os.PathLike[str],
    *,
    clock: Clock = real_now,
    cursor_key: bytes | None = None,
    on_unfit: OnUnfit = "raise",
    on_call: Sequence[Hook] = (),
    **options: Any,
) -> Store:
    """Open a database for one table, or for several.

    `url` is a file, or `":memory:"`; the tables that it lacks are made, and streams that tables
    declare are switched on. `options` go to `Engine.open`. `clock` gives the time by which items
    expire. An item that fits no entity raises ItemUnfit, or comes back as a RawItem with `on_unfit="raw"`: in place of an entity,
    though the types of results do not say so, and in a page's `unfit`. `on_call` hooks see every
    low-level call.
    """
    listed = _list(tables)
    _check_url(url)
    engine = _open_engine(url, clock, options)
    try:
        key = engine.keep_secret(_SECRET) if cursor_key is None else cursor_key
        settings = Settings(
            listed,
            cursor_key=key,
            clock=clock,
            on_unfit=on_unfit,
            on_call=on_call,
            is_embedded=True,
        )
        store = Store(engine, settings, close=engine.close)
        for table in listed:
            described = _describe(engine, table)
            if described is None:
                store.create_table(table)
            elif _lacks_stream(table, described):
                _switch_stream_on(engine, table)
    except BaseException:
        engine.close()
        raise
    return store


def open_async(
    tables: Table | Sequence[Table],
    url: str | os.PathLike[str],
    *,
    clock: Clock = real_now,
    cursor_key: bytes | None = None,
    on_unfit: OnUnfit = "raise",
    on_call: Sequence[Hook] = (),
    **options: Any,
) -> AsyncStore:
    """Open a database for an event loop; takes what `open` takes, and is used with `async with`.

    Nothing is opened before that is entered, and whatever may wait for the disk is done aside.
    """
    listed = _list(tables)
    _check_url(url)
    settings = Settings(
        listed,
        cursor_key=cursor_key,
        clock=clock,
        on_unfit=on_unfit,
        on_call=on_call,
        is_embedded=True,
    )
    aside = _EngineAside(str(url), lambda: _open_engine(url, clock, options))

    async def prepare(store: AsyncStore) -> None:
        try:
            secret = await aside.open()
            if cursor_key is None:
                settings.use_cursor_key(secret)
            for table in listed:
                described = await aside.call(_describe, table)
                if described is None:
                    await store.create_table(table)
                elif _lacks_stream(table, described):
                    await aside.call(_switch_stream_on, table)
        except BaseException:
            await aside.close()
            raise

    return AsyncStore(aside, settings, prepare=prepare, close=aside.close)


class _EngineAside:
    """An engine for an event loop: what may wait for the disk is done by threads."""

    def __init__(self, path: str, make: Callable[[], Engine]) -> None:
        self._path, self._make = path, make
        self._engine: Engine | None = None
        self._threads = ThreadPoolExecutor(_THREADS, "keyfold-store")

    async def open(self) -> bytes:
        """Open the engine, and return the secret that is kept in it."""
        loop = asyncio.get_running_loop()
        engine = await loop.run_in_executor(self._threads, self._make)
        self._engine = engine
        return await loop.run_in_executor(self._threads, engine.keep_secret, _SECRET)

    async def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        engine = self._engine
        if engine is None:
            raise EngineClosed(self._path)
        if operation in _QUICK:
            return engine.execute(operation, request)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, engine.execute, operation, request)

    async def call(self, work: Callable[[Engine, Table], V], table: Table) -> V:
        """Do something with the engine and a table, aside."""
        assert self._engine is not None  # it was opened
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, work, self._engine, table)

    async def close(self) -> None:
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self._shut_down)

    def _shut_down(self) -> None:
        self._threads.shutdown()
        if self._engine is not None:
            self._engine.close()


@contextmanager
def open_executor(
    url: str | os.PathLike[str], *, may_make: bool = False, keeps_expired: bool = False
) -> Generator[Executor]:
    """Open a database for requests of DynamoDB's API as they are.

    Raises UrlUnknown, FileUnreachable and other file errors. No file is made unless it may be.
    With `keeps_expired`, what has expired in a file is not deleted meanwhile.
    """
    _check_url(url)
    if not may_make and os.fspath(url) != MEMORY and not os.path.exists(url):  # noqa: PTH110 - a path of any kind
        raise FileUnreachable(str(url), "there is no such file")
    options: dict[str, Any] = {"upkeep_seconds": None} if keeps_expired else {}
    with Engine.open(url, **options) as engine:
        yield engine


def _list(tables: Table | Sequence[Table]) -> tuple[Table, ...]:
    return tuple(tables) if isinstance(tables, Sequence) else (tables,)


def _check_url(url: str | os.PathLike[str]) -> None:
    scheme, separator, _ = str(url).partition("://")
    if separator:
        advice = (
            "Give the path of a file, or ':memory:'. Databases elsewhere are still to come."
            if scheme in ("dynamodb", "http", "https")
            else "Give the path of a file, or ':memory:'."
        )
        raise UrlUnknown(str(url), advice)


def _open_engine(url: str | os.PathLike[str], clock: Clock, options: dict[str, Any]) -> Engine:
    given: dict[str, Any] = {"clock": lambda: clock().timestamp(), **options}
    return Engine.open(url, **given)


def _describe(engine: Engine, table: Table) -> dict[str, Any] | None:
    try:
        return engine.execute("DescribeTable", {"TableName": table.name})["Table"]
    except ResourceNotFoundException:
        return None


def _lacks_stream(table: Table, described: dict[str, Any]) -> bool:
    return table.stream is not None and "StreamSpecification" not in described


def _switch_stream_on(engine: Engine, table: Table) -> None:
    """Begin the stream of a table that was made before it was declared to have one."""
    asked = {"TableName": table.name, "StreamSpecification": table.stream_to_dynamodb()}
    # Another process may be quicker.
    with suppress(ValidationException):
        engine.execute("UpdateTable", asked)
