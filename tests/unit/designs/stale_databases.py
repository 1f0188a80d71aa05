"""Designs on a database like AWS: reads may be stale, and expired items stay for a while."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from datetime import timedelta
from typing import Any

from keyfold import Store, Table
from keyfold.store import StoreSettings
from keyfold.testing import Clock, FaultProfile, Service, dynamodb
from keyfold.testing._core import Core
from keyfold.wire.server import Server
from tests.transports import START, Execute, Transport, executor_on, open_database

# Expired items stay stored for up to two days.
LATE_EXPIRY = FaultProfile(expiry_grace=timedelta(days=2))
STALE_READS = FaultProfile(
    expiry_grace=timedelta(days=2), stale_reads=1.0, index_lag=1.0, lag_writes=3
)


class Database:
    """A store on a service, its clock, and a record of its calls.

    `execute` calls the service; `read` reads its tables past all faults.
    """

    def __init__(self, table: Table, clock: Clock, execute: Execute, read: Execute) -> None:
        self._execute, self._read = execute, read
        self.clock = clock
        self.calls: list[tuple[str, dict[str, Any]]] = []
        settings = StoreSettings(
            [table], cursor_key=bytes(32), clock=self.clock, jitter=lambda: 0.0
        )
        self.store = Store(self, settings)
        with suppress(*transport.get().refusals):
            self.store.create_table(table)
        self.run, self.run_until = self.store.run, self.store.run_until

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        self.calls.append((operation, request))
        return self._execute(operation, request)

    def stored(self, table: Table) -> list[dict[str, Any]]:
        """Return every item in the table, expired or not."""
        return self._read("Scan", {"TableName": table.name})["Items"]


# The transport of the current test; its fixture sets it.
transport: ContextVar[Transport] = ContextVar("transport")


@contextmanager
def database(table: Table, faults: FaultProfile) -> Generator[Database]:
    used, clock = transport.get(), Clock(START)
    if used.kind == "foreign":
        # Other engines cannot be told to return stale reads.
        with open_database(used, clock=clock) as found:
            yield Database(table, clock, found.execute, found.execute)
    elif used.kind in ("embedded", "lagging"):
        if used.kind == "lagging":
            faults = replace(faults, index_lag=1.0, lag_writes=3)
        with dynamodb(clock=clock, faults=faults) as service:
            yield Database(table, clock, service.execute, service.engine.execute)
            assert service.engine.verify() == []
    else:
        with _served_database(used, table, clock, faults) as served:
            yield served


@contextmanager
def _served_database(
    used: Transport, table: Table, clock: Clock, faults: FaultProfile
) -> Generator[Database]:
    """A database behind a server, which boto3 calls over HTTP, not in process."""
    core = Core(clock=clock, faults=faults, region="us-east-1", sleep=lambda _: None)
    with (
        closing(core),
        Server(Service(core)).running() as url,
        executor_on(used, url) as execute,
    ):
        yield Database(table, clock, execute, core.engine.execute)
        assert core.engine.verify() == []
