"""Designs on a database as AWS runs one: answers lag, and what has expired stays for a while."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, suppress
from contextvars import ContextVar
from typing import Any, TypeVar

from keyfold import Request, Store, Table
from keyfold.store import StoreSettings
from keyfold.testing import Clock, FaultProfile, Service, dynamodb
from keyfold.testing._core import Core
from keyfold.wire.server import Server
from tests.transports import START, Execute, Transport, executor_on, open_database

V = TypeVar("V")

# Expired items are still stored, up to two days after their time.
KEPT = FaultProfile(ttl_lag_seconds=172_800)
LAGGING = FaultProfile(ttl_lag_seconds=172_800, stale_reads=1.0, index_lag=1.0, lag_writes=3)


class Database:
    """A store on a service, its clock, and every call that went there.

    `execute` is what calls the service, and `read` what reads its tables as they are.
    """

    def __init__(self, table: Table, clock: Clock, execute: Execute, read: Execute) -> None:
        self._execute, self._read = execute, read
        self.clock = clock
        self.calls: list[tuple[str, dict[str, Any]]] = []
        settings = StoreSettings([table], cursor_key=bytes(32), clock=self.clock.now)
        self.store = Store(self, settings)
        with suppress(*transport.get().refusals):
            self.store.create_table(table)
        self.run = self.store.run

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        self.calls.append((operation, request))
        return self._execute(operation, request)

    def settle(self, request: Request[V], is_right: Callable[[V], bool]) -> V:
        """Run a request until its answer is right: late answers come nearer with each."""
        answer = self.run(request)
        for _ in range(20):
            if is_right(answer):
                break
            answer = self.run(request)
        return answer

    def stored(self, table: Table) -> list[dict[str, Any]]:
        """Return every item as it is in the table, expired or not."""
        return self._read("Scan", {"TableName": table.name})["Items"]


# The road that the test at hand takes; its fixture sets it.
transport: ContextVar[Transport] = ContextVar("transport")


@contextmanager
def database(table: Table, faults: FaultProfile) -> Generator[Database]:
    taken, clock = transport.get(), Clock(START)
    if taken.kind == "foreign":
        # It lags as it likes, if at all.
        with open_database(taken, clock=clock) as found:
            yield Database(table, clock, found.execute, found.execute)
    elif taken.kind == "embedded":
        with dynamodb(clock=clock, faults=faults) as service:
            yield Database(table, clock, service.execute, service.engine.execute)
            assert service.engine.verify() == []
    else:
        with _far_database(taken, table, clock, faults) as far:
            yield far


@contextmanager
def _far_database(
    taken: Transport, table: Table, clock: Clock, faults: FaultProfile
) -> Generator[Database]:
    """The same behind a server; boto3 is not answered in process, as it would be elsewhere."""
    core = Core(clock=clock, faults=faults, region="us-east-1", sleep=lambda _: None)
    with (
        closing(core),
        Server(Service(core)).running() as url,
        executor_on(taken, url) as execute,
    ):
        yield Database(table, clock, execute, core.engine.execute)
        assert core.engine.verify() == []
