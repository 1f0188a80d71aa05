"""A simulation of several workers on one engine that take turns, call by call, on a fake clock."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from keyfold.errors import InternalServerError, KeyfoldError
from keyfold.model import Change, Table
from keyfold.store import Followed, StoreSettings
from keyfold.store._follow_options import FollowOptions
from keyfold.store._followers import Follower
from keyfold.store._following import Worker
from keyfold.store._plans import ApiCall, HandlerCall, ParallelPlans, Steps, requests_of
from keyfold.store._retries import Pause
from keyfold.testing import Clock
from tests.transports import Database

LEASE_SECONDS = 30.0


class SimulatedWorker:
    """One worker: the next step it wants to take, and when it wakes up."""

    def __init__(self, name: str, worker: Worker) -> None:
        self.name, self.worker = name, worker
        self.steps: Steps[Followed] = worker.run()
        self.next: ApiCall | Pause | ParallelPlans | HandlerCall | None = next(self.steps)
        self.wakes_at = 0.0
        self.is_frozen = False

    @property
    def shards(self) -> int:
        """How many shards it has leases for."""
        return sum(
            not each.lease.is_for_dead_letters for each in self.worker._keeper.owned.values()
        )


class WorkerSimulation:
    """Workers on one engine, and the changes that their handlers got, in order."""

    def __init__(self, engine: Database, clock: Clock, table: Table, rng: random.Random) -> None:
        self.engine, self.clock, self.table, self.rng = engine, clock, table, rng
        self.workers: list[SimulatedWorker] = []
        self.handled: list[tuple[str, Change[Any]]] = []
        # The fraction of calls that fail: half of them before they are carried out, half after.
        self.failing = 0.0

    def start(self, name: str, **options: Any) -> SimulatedWorker:
        settings = StoreSettings(
            [self.table], cursor_key=bytes(32), clock=self.clock, jitter=lambda: 1.0
        )
        given: dict[str, Any] = {
            "batch": 5,
            "attempts": 1,
            "lease_seconds": LEASE_SECONDS,
            "setup": True,
            **options,
        }
        arguments = FollowOptions(self.table, worker=name, **given)
        follower = Follower(settings, self.table, arguments.name, arguments.leases)
        worker = follower.make_worker(arguments, may_await=False)
        simulated = SimulatedWorker(name, worker)
        self.workers.append(simulated)
        return simulated

    def kill(self, worker: SimulatedWorker) -> None:
        """End a worker as SIGKILL would: no lease is released."""
        self.workers.remove(worker)

    def step(self) -> None:
        """Let one random worker that is awake take one step; if all sleep, advance the clock."""
        awake = [
            each for each in self.workers if not each.is_frozen and each.wakes_at <= self.clock()
        ]
        if not awake:
            sleeping = [each for each in self.workers if not each.is_frozen]
            self.clock.set(min((each.wakes_at for each in sleeping), default=self.clock() + 1))
            return
        self._take_turn(self.rng.choice(awake))

    def run(self, until: Callable[[], bool], max_steps: int = 50_000) -> None:
        """Step until a condition holds."""
        for _ in range(max_steps):
            if until():
                return
            self.step()
        raise AssertionError(f"the condition did not hold within {max_steps} steps")

    def _take_turn(self, worker: SimulatedWorker) -> None:
        step = worker.next
        try:
            if isinstance(step, Pause):
                worker.wakes_at = self.clock() + step.seconds
                worker.next = next(worker.steps)
                return
            try:
                result = self._carry_out(worker, step)
            except Exception as error:
                if isinstance(step, ApiCall) and not isinstance(error, KeyfoldError):
                    raise
                worker.next = worker.steps.throw(error)
            else:
                worker.next = worker.steps.send(result)
        except StopIteration:
            self.workers.remove(worker)

    def _carry_out(
        self, worker: SimulatedWorker, step: ApiCall | ParallelPlans | HandlerCall | None
    ) -> Any:
        assert step is not None
        assert not isinstance(step, ParallelPlans)  # followers scan nothing
        if isinstance(step, HandlerCall):
            self.handled.append((worker.name, step.change))
            returned: Any = step.handler(step.change)
            return requests_of(returned)
        # Time passes with every call.
        self.clock.advance(self.rng.random() * 0.01)
        drawn = self.rng.random()
        if drawn < self.failing / 2:
            raise InternalServerError
        response = self.engine.execute(step.operation, step.request)
        if drawn < self.failing:
            raise InternalServerError
        return response
