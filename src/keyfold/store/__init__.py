"""Stores: typed reads and writes of entities in a database, sync and async."""

from __future__ import annotations

from keyfold.store._async_store import AsyncExecutor, AsyncStore
from keyfold.store._call_records import CallRecord, Hook
from keyfold.store._follow_options import DeadLetter, Followed, Stop
from keyfold.store._handles import Handles
from keyfold.store._opentelemetry import trace_calls
from keyfold.store._settings import StoreSettings
from keyfold.store._store import Executor, Store
from keyfold.store._write_checks import make_write_checks

__all__ = [
    "AsyncExecutor",
    "AsyncStore",
    "CallRecord",
    "DeadLetter",
    "Executor",
    "Followed",
    "Handles",
    "Hook",
    "Stop",
    "Store",
    "StoreSettings",
    "make_write_checks",
    "trace_calls",
]
