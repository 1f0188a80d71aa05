"""Runs blocking work of async stores in threads; imported with the first async store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from keyfold.api import names_where
from keyfold.errors import EngineClosed
from keyfold.model import Table
from keyfold.store import Executor

if TYPE_CHECKING:
    from keyfold.engine import Engine

V = TypeVar("V")

_INLINE_OPERATIONS = names_where(lambda each: each.run == "inline")
_THREADS = 4


class ThreadExecutor:
    """A sync client for an event loop: every call runs in a thread."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    async def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        return await asyncio.to_thread(self._executor.execute, operation, request)

    def __repr__(self) -> str:
        return repr(self._executor)


class ThreadedEngine:
    """An engine for an event loop: calls that may wait for the disk run in threads."""

    def __init__(self, path: str, make: Callable[[], Engine], secret: str) -> None:
        self._path, self._make, self._secret = path, make, secret
        self._engine: Engine | None = None
        self._threads = ThreadPoolExecutor(_THREADS, "keyfold-store")

    async def open(self) -> bytes:
        """Open the engine, and return the secret stored in it."""
        loop = asyncio.get_running_loop()
        engine = await loop.run_in_executor(self._threads, self._make)
        self._engine = engine
        return await loop.run_in_executor(self._threads, engine.keep_secret, self._secret)

    async def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        engine = self._engine
        if engine is None:
            raise EngineClosed(self._path)
        if operation in _INLINE_OPERATIONS:
            return engine.execute(operation, request)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, engine.execute, operation, request)

    async def call(self, work: Callable[[Engine, Table], V], table: Table) -> V:
        """Call a function with the engine and a table in a thread."""
        assert self._engine is not None  # `open` was awaited before
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, work, self._engine, table)

    async def close(self) -> None:
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self._shut_down)

    def __repr__(self) -> str:
        return f"<Engine {self._path}>"

    def _shut_down(self) -> None:
        self._threads.shutdown()
        if self._engine is not None:
            self._engine.close()
