"""Designs on a database as AWS runs one: answers lag, and what has expired stays for a while."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, TypeVar

from keyfold import Request, Store, Table
from keyfold.store import Settings
from keyfold.testing import Clock, Hardships, Service, dynamodb
from keyfold.testing._core import Core
from keyfold.wire.server import Server
from tests.roads import Road, executor_on

V = TypeVar("V")
Execute = Callable[[str, dict[str, Any]], Any]

START = datetime.fromtimestamp(1704067200, UTC)
# Expired items are still stored, up to two days after their time.
KEPT = Hardships(ttl_lag_seconds=172_800)
LAGGING = Hardships(ttl_lag_seconds=172_800, stale_reads=1.0, index_lag=1.0, lag_writes=3)


class Database:
    """A store on a service, its clock, and every call that went there."""

    def __init__(self, service: Service, table: Table, execute: Execute | None = None) -> None:
        self._service = service
        self._execute = execute or service.execute
        self.clock = service.clock
        self.calls: list[tuple[str, dict[str, Any]]] = []
        settings = Settings([table], cursor_key=bytes(32), clock=self.clock.now)
        self.store = Store(self, settings)
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
        return self._service.engine.execute("Scan", {"TableName": table.name})["Items"]


# The road that the test at hand takes; its fixture sets it.
road: ContextVar[Road] = ContextVar("road", default="embedded")


@contextmanager
def database(table: Table, hardships: Hardships) -> Generator[Database]:
    if road.get() != "embedded":
        with _far_database(table, hardships) as far:
            yield far
        return
    with dynamodb(clock=Clock(START), hardships=hardships) as service:
        yield Database(service, table)
        assert service.engine.verify() == []


@contextmanager
def _far_database(table: Table, hardships: Hardships) -> Generator[Database]:
    """The same behind a server; boto3 is not answered in process, as it would be elsewhere."""
    core = Core(clock=Clock(START), hardships=hardships, region="us-east-1", sleep=lambda _: None)
    with (
        closing(core),
        Server(Service(core)).running() as url,
        executor_on(road.get(), url) as execute,
    ):
        yield Database(Service(core), table, execute)
        assert core.engine.verify() == []
