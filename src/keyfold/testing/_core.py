"""The engine under the faults: what clients, servers and tests all go through."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, cast

import orjson

from keyfold.engine import Engine
from keyfold.errors import OptionInvalid
from keyfold.testing._batches import add_leftovers, count_members, is_acceptable, split
from keyfold.testing._clock import Clock
from keyfold.testing._fault_injector import FaultInjector
from keyfold.testing._fault_profile import FaultProfile
from keyfold.testing._operations import (
    BACKUP_KEEPERS,
    BATCHES,
    TABLE_MAKERS,
    changes_tables,
    is_eventual_read,
    writes_items,
)
from keyfold.testing._replica import Replica, is_global_index

# How a call is put to an engine; both forms of requests and answers are dicts here.
Call = Callable[[Engine, str, dict[str, Any]], dict[str, Any]]

# How far upkeep is behind the clock, for the time of a call of it: an engine's own grace period
# is fixed when it is opened, faults come and go.
_upkeep_lag_seconds: ContextVar[float] = ContextVar("keyfold_upkeep_lag_seconds", default=0.0)


class Core:
    """One service: its engine, its clock, and what befalls its callers."""

    def __init__(
        self,
        *,
        clock: Clock,
        faults: FaultProfile,
        region: str,
        shard_records: int | None = None,
        sleep: Callable[[float], object] = time.sleep,
        buckets: str | os.PathLike[str] | None = None,
    ) -> None:
        self.clock = clock
        self.region = region
        self._buckets = buckets
        self._shard_records = shard_records
        self._sleep = sleep
        self.engine = self._open_engine()
        self.injector = FaultInjector(faults)
        self._replica = self._make_replica()
        self._stop_watching = clock.watch(self._keep_up)

    @property
    def faults(self) -> FaultProfile:
        """The faults of the moment."""
        return self.injector.faults

    def use(self, faults: FaultProfile) -> None:
        """Change the faults, and draw them from their seed."""
        if not isinstance(faults, FaultProfile):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not check types
            raise OptionInvalid("faults", faults, "Give a keyfold.testing.FaultProfile.")
        self.resume(FaultInjector(faults))

    def resume(self, injector: FaultInjector) -> None:
        """Go on with faults that were in use before, from where their draws were."""
        former = self._replica
        self.injector = injector
        self._replica = self._make_replica()
        if former is not None:
            former.close()
        # Items may have stayed for a lag that is shorter now.
        self._keep_up()

    def reset(self) -> None:
        """Start over with an empty engine."""
        former, former_replica = self.engine, self._replica
        self.engine = self._open_engine()
        self.injector = FaultInjector(self.faults)
        self._replica = self._make_replica()
        former.close()
        if former_replica is not None:
            former_replica.close()

    def close(self) -> None:
        """Give everything up."""
        self._stop_watching()
        self.engine.close()
        if self._replica is not None:
            self._replica.close()

    def wait(self) -> None:
        """Wait for as long as the next call is to be delayed."""
        delay = self.injector.draw_delay()
        if delay:
            self._sleep(delay)

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out an operation with dicts, as `Engine.execute` does."""
        if self.injector.can_strike:
            response = self._execute_hard(operation, request, _call)
        else:
            response = self.engine.execute(operation, request)
        if changes_tables(operation):
            self._keep_up()
        return response

    def execute_json(self, operation: str, body: bytes) -> bytes:
        """Carry out an operation with bytes, as `Engine.execute_json` does."""
        if not self.injector.can_strike:
            answer = self.engine.execute_json(operation, body)
        else:
            try:
                request = orjson.loads(body)
            except orjson.JSONDecodeError:
                # The engine has the words for it.
                request = None
            if not isinstance(request, dict):
                return self.engine.execute_json(operation, body)
            known = cast("dict[str, Any]", request)
            answer = orjson.dumps(self._execute_hard(operation, known, _call_json))
        if changes_tables(operation):
            self._keep_up()
        return answer

    def _execute_hard(self, operation: str, request: dict[str, Any], call: Call) -> dict[str, Any]:
        """Carry out an operation, or what the faults leave of it."""
        injector, engine = self.injector, self.engine
        refusal = injector.draw_refusal(operation, request)
        if refusal is not None:
            raise refusal
        left: dict[str, Any] = {}
        if operation in BATCHES:
            places = injector.draw_leftovers(count_members(operation, request))
            if places and is_acceptable(engine, operation, request):
                request, left = split(request, places)
        response = self._execute_late(operation, request, call)
        if left:
            add_leftovers(operation, response, left)
        return response

    def _execute_late(self, operation: str, request: dict[str, Any], call: Call) -> dict[str, Any]:
        """Carry out an operation on the engine or, if it is a read, perhaps on the replica."""
        engine, replica = self.engine, self._replica
        if replica is None or operation in BACKUP_KEEPERS:
            return call(engine, operation, request)
        if operation in TABLE_MAKERS:
            response = call(engine, operation, request)
            self._keep_up()
            replica.start_over()
            return response
        if writes_items(operation, request):
            return replica.write(operation, request, lambda: call(engine, operation, request))
        if changes_tables(operation):
            return replica.change_tables(
                operation, request, lambda: call(engine, operation, request)
            )
        if is_eventual_read(operation, request) and (
            self.injector.draw_staleness(of_global_index=is_global_index(engine, request))
        ):
            return replica.read(lambda any_engine: call(any_engine, operation, request))
        return call(engine, operation, request)

    def _open_engine(self) -> Engine:
        return Engine.open(
            ":memory:",
            clock=lambda: self.clock() - _upkeep_lag_seconds.get(),
            ttl_grace_seconds=0.0,
            upkeep_seconds=None,
            region=self.region,
            buckets=self._buckets,
            shard_records=self._shard_records,
        )

    def _make_replica(self) -> Replica | None:
        if not self.injector.needs_replica:
            return None
        return Replica(self.engine, self._open_engine, self.faults.lag_writes)

    def _keep_up(self) -> None:
        """Fill new indexes and delete expired items, now that the clock or a table has changed."""
        token = _upkeep_lag_seconds.set(self.faults.ttl_lag_seconds)
        try:
            self.engine.run_upkeep()
            if self._replica is not None:
                self._replica.catch_up()
        finally:
            _upkeep_lag_seconds.reset(token)


def _call(engine: Engine, operation: str, request: dict[str, Any]) -> dict[str, Any]:
    return engine.execute(operation, request)


def _call_json(engine: Engine, operation: str, request: dict[str, Any]) -> dict[str, Any]:
    return orjson.loads(engine.execute_json(operation, orjson.dumps(request)))
