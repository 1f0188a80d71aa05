"""An engine with fault injection; clients, servers and tests all call it through here."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import orjson

from keyfold.api import WriteCheck
from keyfold.api.bodies import parse_body
from keyfold.api.wordings import Wording
from keyfold.clocks import read_duration
from keyfold.engine import Engine, Throttling
from keyfold.errors import OptionInvalid
from keyfold.testing._batches import add_leftovers, count_members, is_acceptable, split
from keyfold.testing._clock import Clock
from keyfold.testing._fault_injector import FaultInjector
from keyfold.testing._fault_profile import FaultProfile
from keyfold.testing._operations import (
    BACKUP_WRITES,
    BATCHES,
    TABLE_MAKERS,
    changes_tables,
    is_eventual_read,
    writes_items,
)
from keyfold.testing._replica import Replica, reads_global_index

if TYPE_CHECKING:
    from keyfold.model import Table

# Calls an engine by `execute` or `execute_parsed`; requests and responses are dicts here.
Call = Callable[[Engine, str, dict[str, Any]], dict[str, Any]]

# How far the engine's clock is set back during upkeep. It stands for the expiry grace, which an
# engine fixes when it is opened, while faults change.
_upkeep_lag_seconds: ContextVar[float] = ContextVar("keyfold_upkeep_lag_seconds", default=0.0)


class Core:
    """One service: its engine, its clock, and its fault injection."""

    def __init__(
        self,
        *,
        clock: Clock,
        faults: FaultProfile,
        region: str,
        shard_records: int | None = None,
        sleep: Callable[[float], object] = time.sleep,
        buckets: str | os.PathLike[str] | None = None,
        tables: Sequence[Table] = (),
        wording: Wording = "2026",
        throttling: Throttling | None = None,
    ) -> None:
        self.clock = clock
        self.region = region
        self._buckets = buckets
        self._write_checks = _make_write_checks(tables, clock) if tables else None
        self._shard_records = shard_records
        self._wording: Wording = wording
        self._throttling: Throttling | None = throttling
        self._sleep = sleep
        self.engine = self._open_engine(self._write_checks)
        self.injector = FaultInjector(faults)
        self._replica = self._make_replica()
        self._stop_watching = clock.watch(self._run_upkeep)

    @property
    def faults(self) -> FaultProfile:
        """The current fault profile."""
        return self.injector.faults

    def set_faults(self, faults: FaultProfile) -> None:
        """Replace the fault profile, and start its random numbers from its seed."""
        if not isinstance(faults, FaultProfile):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not check types
            raise OptionInvalid("faults", faults, "Give a keyfold.testing.FaultProfile.")
        self.resume(FaultInjector(faults))

    def resume(self, injector: FaultInjector) -> None:
        """Use an injector that may have been in use before; its random numbers continue."""
        former = self._replica
        self.injector = injector
        self._replica = self._make_replica()
        if former is not None:
            former.close()
        # If the expiry grace is shorter now, more items may have expired.
        self._run_upkeep()

    def reset(self) -> None:
        """Replace the engine with an empty one, and restart the faults from their seed."""
        former, former_replica = self.engine, self._replica
        self.engine = self._open_engine(self._write_checks)
        self.injector = FaultInjector(self.faults)
        self._replica = self._make_replica()
        former.close()
        if former_replica is not None:
            former_replica.close()

    def close(self) -> None:
        """Close the engine and the replica, and stop following the clock."""
        self._stop_watching()
        self.engine.close()
        if self._replica is not None:
            self._replica.close()

    def wait(self) -> None:
        """Sleep for the injected latency of the next call, if it has any."""
        delay = self.injector.draw_delay()
        if delay:
            self._sleep(delay)

    async def wait_async(self) -> None:
        """Async version of `wait`, which awaits asyncio.sleep."""
        delay = self.injector.draw_delay()
        if delay:
            # Imported here: it is slow to load, and who awaits has loaded it already.
            import asyncio  # noqa: PLC0415

            await asyncio.sleep(delay)

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out an operation with dicts, as `Engine.execute` does."""
        if self.injector.is_active:
            response = self._execute_with_faults(operation, request, _call)
        else:
            response = self.engine.execute(operation, request)
        if changes_tables(operation):
            self._run_upkeep()
        return response

    def execute_json(self, operation: str, body: bytes) -> bytes:
        """Carry out an operation with bytes, as `Engine.execute_json` does."""
        return orjson.dumps(self.execute_parsed(operation, parse_body(body)))

    def execute_parsed(self, operation: str, request: Any) -> dict[str, Any]:
        """Carry out an operation with parsed JSON, as `Engine.execute_parsed` does."""
        if self.injector.is_active and request.__class__ is dict:
            response = self._execute_with_faults(operation, request, _call_parsed)
        else:
            response = self.engine.execute_parsed(operation, request)
        if changes_tables(operation):
            self._run_upkeep()
        return response

    def _execute_with_faults(
        self, operation: str, request: dict[str, Any], call: Call
    ) -> dict[str, Any]:
        """Carry out an operation with injected faults: refusals, and batches done in part."""
        injector, engine = self.injector, self.engine
        refusal = injector.draw_refusal(operation, request)
        if refusal is not None:
            raise refusal
        left: dict[str, Any] = {}
        if operation in BATCHES:
            indexes = injector.draw_leftovers(count_members(operation, request))
            if indexes and is_acceptable(engine, operation, request):
                request, left = split(request, indexes)
        response = self._execute_on_engine_or_replica(operation, request, call)
        if left:
            add_leftovers(operation, response, left)
        return response

    def _execute_on_engine_or_replica(
        self, operation: str, request: dict[str, Any], call: Call
    ) -> dict[str, Any]:
        """Carry out an operation on the engine; a read may go to the replica instead."""
        engine, replica = self.engine, self._replica
        if replica is None or operation in BACKUP_WRITES:
            return call(engine, operation, request)
        if operation in TABLE_MAKERS:
            response = call(engine, operation, request)
            self._run_upkeep()
            replica.recreate()
            return response
        if writes_items(operation, request):
            return replica.write(operation, request, lambda: call(engine, operation, request))
        if changes_tables(operation):
            return replica.change_tables(
                operation, request, lambda: call(engine, operation, request)
            )
        if is_eventual_read(operation, request) and (
            self.injector.draw_staleness(of_global_index=reads_global_index(engine, request))
        ):
            return replica.read(lambda any_engine: call(any_engine, operation, request))
        return call(engine, operation, request)

    def _open_engine(self, write_checks: Mapping[str, WriteCheck] | None = None) -> Engine:
        return Engine.open(
            ":memory:",
            clock=lambda: self.clock() - _upkeep_lag_seconds.get(),
            expiry_grace=0,
            upkeep_seconds=None,
            region=self.region,
            buckets=self._buckets,
            shard_records=self._shard_records,
            write_checks=write_checks,
            wording=self._wording,
            throttling=self._throttling,
        )

    def _make_replica(self) -> Replica | None:
        if not self.injector.needs_replica:
            return None
        return Replica(self.engine, self._open_engine, self.faults.lag_writes)

    def _run_upkeep(self) -> None:
        """Fill new indexes and delete expired items, after the clock or a table has changed."""
        token = _upkeep_lag_seconds.set(read_duration("expiry_grace", self.faults.expiry_grace))
        try:
            self.engine.run_upkeep()
            if self._replica is not None:
                self._replica.catch_up()
        finally:
            _upkeep_lag_seconds.reset(token)


def _make_write_checks(tables: Sequence[Table], clock: Clock) -> Mapping[str, WriteCheck]:
    # Imported here: the model is slow to load, and few tests of boto3 code declare tables.
    from keyfold.store import make_write_checks  # noqa: PLC0415

    return make_write_checks(tables, clock=clock)


def _call(engine: Engine, operation: str, request: dict[str, Any]) -> dict[str, Any]:
    return engine.execute(operation, request)


def _call_parsed(engine: Engine, operation: str, request: dict[str, Any]) -> dict[str, Any]:
    # Without fragments, since batches done in part change the response.
    return orjson.loads(orjson.dumps(engine.execute_parsed(operation, request)))
