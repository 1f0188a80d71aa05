"""A story of a design: its patterns, run step by step by people with different roles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, NoReturn, ParamSpec, TypeVar

from keyfold.cli._quantities import count_of
from keyfold.cli._results import count_items
from keyfold.errors import AccessDenied, AccessDeniedException, KeyfoldError, ResultAwaited
from keyfold.model import Pattern, Request, Table
from keyfold.store import Store
from keyfold.store._sent_calls import CallLog, SentCall

P = ParamSpec("P")
T = TypeVar("T")


class StoryClock:
    """The time of a story, which passes only when the story says so."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> float:
        """Return the seconds since 1970."""
        return self.now.timestamp()


@dataclass(frozen=True, slots=True)
class Actor:
    """Someone in a story; without roles, the operator of the database, who may do anything."""

    name: str
    roles: tuple[str, ...] = ()
    ids: Mapping[str, str] = field(default_factory=dict[str, str])

    def __str__(self) -> str:
        return f"{self.name} ({', '.join(self.roles) or 'operator'})"


# Returns a store with the rights of an actor.
OpenAs = Callable[[Actor], Store]


@dataclass(slots=True)
class Step:
    """One step of a story, and what came of it.

    `outcome` is the number of items, or the error with which the step was refused; `problems` say
    how it differs from what the story expects.
    """

    text: str
    pattern: str | None = None
    calls: list[SentCall] = field(default_factory=list[SentCall])
    outcome: str = ""
    problems: list[str] = field(default_factory=list[str])

    @property
    def consumed(self) -> float:
        """The capacity units that its calls consumed together."""
        return sum(call.consumed for call in self.calls)

    def to_json(self) -> dict[str, Any]:
        """Return the step as a JSON object."""
        return {
            "text": self.text,
            "pattern": self.pattern,
            "calls": [call.to_json() for call in self.calls],
            "capacity_units": self.consumed,
            "outcome": self.outcome,
            "problems": self.problems,
        }


class StoryFailed(Exception):
    """A step did not go as the story has it, so that what follows cannot be told."""


class Teller:
    """Runs the steps of a story on a database, and keeps what came of each."""

    def __init__(
        self, table: Table, clock: StoryClock, log: CallLog, open_as: OpenAs, *, attempts: int = 1
    ) -> None:
        self.steps: list[Step] = []
        self._attempts = attempts
        self._table, self._clock, self._log, self._open_as = table, clock, log, open_as
        self._stores: dict[str, Store] = {}

    @property
    def now(self) -> datetime:
        """The time at this point of the story."""
        return self._clock.now.astimezone(UTC)

    def actor(self, name: str, /, *roles: str, **ids: str) -> Actor:
        """Introduce someone with roles and, for roles with a tenant, the ids of their tenants."""
        return Actor(name, roles, ids)

    def step(
        self,
        actor: Actor,
        text: str,
        pattern: Pattern[P, Request[T]],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Run a pattern as an actor, and return its result; `text` says what the actor does."""
        step, result = self._run(
            actor, text, pattern.name, lambda store: store.run(pattern(*args, **kwargs))
        )
        return self._finish(step, result)

    def read(
        self,
        actor: Actor,
        text: str,
        fact: str,
        holds: Callable[[T], object],
        pattern: Pattern[P, Request[T]],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Run a pattern that reads until `fact` holds for its result, and return the result.

        A read may lag behind the step before it, so it has several attempts.
        """

        def run(store: Store) -> T:
            return store.run_until(pattern(*args, **kwargs), holds, attempts=self._attempts)

        step, result = self._run(actor, text, pattern.name, run)
        if isinstance(result, ResultAwaited):
            self._fail(step, f"it does not hold that {fact}; got {result.result}")
        return self._finish(step, result)

    def refused(
        self,
        actor: Actor,
        text: str,
        expected: type[KeyfoldError],
        pattern: Pattern[P, Request[Any]],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> KeyfoldError:
        """Run a pattern that must be refused with an error, and return the error.

        A server denies access with an error of its own, so AccessDenied stands for both.
        """
        step, result = self._run(
            actor, text, pattern.name, lambda store: store.run(pattern(*args, **kwargs))
        )
        kinds = (AccessDenied, AccessDeniedException) if expected is AccessDenied else (expected,)
        if not isinstance(result, kinds):
            self._fail(step, f"expected {expected.__name__}; got {result!r:.300}")
        step.outcome = f"refused: {result}"
        return result

    def follow(self, text: str) -> None:
        """Run the change handlers of the table until they have seen every change."""
        step = self._begin(text)
        followed = self._store_of(Actor("The change handlers")).follow(
            self._table, until_caught_up=True, setup=True
        )
        # The calls of a follower are polls of its stream, and not worth telling.
        self._log.take()
        step.outcome = f"{followed.handled} handled"
        self.check(not followed.dead_letters, "no handler fails")

    def later(self, text: str, passed: timedelta) -> None:
        """Let time pass."""
        self._clock.now += passed
        self._begin(text)

    def check(self, holds: bool, fact: str) -> None:  # noqa: FBT001 - as in an assert statement
        """Note a problem with the latest step unless `fact` holds."""
        if not holds:
            self.steps[-1].problems.append(f"it does not hold that {fact}")

    def _run(
        self, actor: Actor, text: str, pattern: str, run: Callable[[Store], T]
    ) -> tuple[Step, T | KeyfoldError]:
        step = self._begin(f"{actor} {text}", pattern)
        store = self._store_of(actor)
        self._log.take()
        try:
            result: T | KeyfoldError = run(store)
        except KeyfoldError as error:
            result = error
        step.calls = self._log.take()
        return step, result

    def _finish(self, step: Step, result: T | KeyfoldError) -> T:
        if isinstance(result, KeyfoldError):
            self._fail(step, f"expected a result; got {result}")
        step.outcome = count_of(count_items(result), "item")
        return result

    def _begin(self, text: str, pattern: str | None = None) -> Step:
        step = Step(text, pattern)
        self.steps.append(step)
        return step

    def _store_of(self, actor: Actor) -> Store:
        known = self._stores.get(actor.name)
        if known is None:
            known = self._stores[actor.name] = self._open_as(actor)
        return known

    def _fail(self, step: Step, problem: str) -> NoReturn:
        step.problems.append(problem)
        raise StoryFailed


class Story(NamedTuple):
    """A story: its title, the table it is about, and the function that tells it."""

    title: str
    table: Table
    tell: Callable[[Teller], None]
