"""Several workers on one engine, taking turns call by call, in a time that only they pass."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from keyfold.errors import InternalServerError, KeyfoldError
from keyfold.model import Change, Table
from keyfold.store import Followed, StoreSettings
from keyfold.store._follow_options import read_options
from keyfold.store._following import Worker
from keyfold.store._plans import ApiCall, Handling, Pause, Steps, requests_of
from keyfold.testing import Clock
from tests.transports import Database

LEASE_SECONDS = 30.0


class Actor:
    """One worker: what it wants to do next, and when."""

    def __init__(self, name: str, worker: Worker) -> None:
        self.name, self.worker = name, worker
        self.steps: Steps[Followed] = worker.run()
        self.next: ApiCall | Pause | Handling | None = next(self.steps)
        self.wakes_at = 0.0
        self.is_frozen = False

    @property
    def shards(self) -> int:
        """How many shards it has leases for."""
        return sum(not each.lease.is_for_dead_letters for each in self.worker._keeper.held.values())


class Stage:
    """The workers, and what their handlers were told, in order."""

    def __init__(self, engine: Database, clock: Clock, table: Table, chance: random.Random) -> None:
        self.engine, self.clock, self.table, self.chance = engine, clock, table, chance
        self.actors: list[Actor] = []
        self.told: list[tuple[str, Change[Any]]] = []
        # How many calls the service fails to answer, whether it has carried them out or not.
        self.failing = 0.0

    def start(self, name: str, **options: Any) -> Actor:
        settings = StoreSettings(
            [self.table], cursor_key=bytes(32), clock=self.clock.now, jitter=lambda: 1.0
        )
        told: dict[str, Any] = {
            "name": "default",
            "start": "oldest",
            "batch": 5,
            "attempts": 1,
            "lease_seconds": LEASE_SECONDS,
            "poll_seconds": 1.0,
            "until_caught_up": False,
            "stop": None,
            "leases": None,
            "setup": True,
            **options,
        }
        worker = Worker(settings, read_options(settings, self.table, worker=name, **told))
        actor = Actor(name, worker)
        self.actors.append(actor)
        return actor

    def kill(self, actor: Actor) -> None:
        """End a worker as SIGKILL would: nothing is given back."""
        self.actors.remove(actor)

    def step(self) -> None:
        """Let one worker that is awake do one thing; if all sleep, time passes."""
        awake = [
            each for each in self.actors if not each.is_frozen and each.wakes_at <= self.clock()
        ]
        if not awake:
            sleeping = [each for each in self.actors if not each.is_frozen]
            self.clock.set(min((each.wakes_at for each in sleeping), default=self.clock() + 1))
            return
        self._take_turn(self.chance.choice(awake))

    def run(self, until: Callable[[], bool], most: int = 50_000) -> None:
        """Let the workers work until something is so."""
        for _ in range(most):
            if until():
                return
            self.step()
        raise AssertionError("it does not come to pass")

    def _take_turn(self, actor: Actor) -> None:
        step = actor.next
        try:
            if isinstance(step, Pause):
                actor.wakes_at = self.clock() + step.seconds
                actor.next = next(actor.steps)
                return
            try:
                answer = self._answer(actor, step)
            except Exception as error:
                if isinstance(step, ApiCall) and not isinstance(error, KeyfoldError):
                    raise
                actor.next = actor.steps.throw(error)
            else:
                actor.next = actor.steps.send(answer)
        except StopIteration:
            self.actors.remove(actor)

    def _answer(self, actor: Actor, step: ApiCall | Handling | None) -> Any:
        assert step is not None
        if isinstance(step, Handling):
            self.told.append((actor.name, step.change))
            reaction: Any = step.handler(step.change)
            return requests_of(reaction)
        # Time passes with every call.
        self.clock.advance(self.chance.random() * 0.01)
        fate = self.chance.random()
        if fate < self.failing / 2:
            raise InternalServerError
        answer = self.engine.execute(step.operation, step.request)
        if fate < self.failing:
            raise InternalServerError
        return answer
