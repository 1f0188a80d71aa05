"""Carries out a plan step by step, waiting until each step has taken effect."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from keyfold.deploy._plans import PlanStep, TablePlan, plan_table
from keyfold.deploy._states import TableState, read_state
from keyfold.errors import (
    LimitExceededException,
    ResourceInUseException,
    TableUnsettled,
    ValidationException,
)
from keyfold.model import Table
from keyfold.store import Executor

# Adding an index to a large table takes hours on the service.
MAX_WAIT_SECONDS = 24 * 3_600.0
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.25, 10.0
_TTL_TOO_SOON = "Time to live has been modified multiple times within a fixed interval"

Kind = Literal["begin", "wait", "done", "postponed"]


@dataclass(frozen=True, slots=True)
class Event:
    """Progress of `apply`: what happens to which table; `text` is the step, or its status."""

    kind: Kind
    table: str
    text: str


@dataclass(frozen=True, slots=True)
class Report:
    """The result for one table: the steps done and postponed; `plan` has what is left to do."""

    table: str
    done: tuple[PlanStep, ...]
    postponed: tuple[PlanStep, ...]
    plan: TablePlan

    @property
    def is_as_declared(self) -> bool:
        """Whether the table matches its declaration now."""
        return self.plan.is_as_declared


def plan(
    database: Executor, tables: Sequence[Table], *, allow_removal: bool = False
) -> list[TablePlan]:
    """Compare declared tables with the database; return the steps needed, and change nothing."""
    return [
        plan_table(table, read_state(database, table.name), allow_removal=allow_removal)
        for table in tables
    ]


def apply(
    database: Executor,
    tables: Sequence[Table],
    *,
    allow_removal: bool = False,
    on_event: Callable[[Event], None] = lambda _: None,
    sleep: Callable[[float], None] = time.sleep,
    longest_wait_seconds: float = MAX_WAIT_SECONDS,
) -> list[Report]:
    """Create and change tables to match their declarations; return what was done, and what is left.

    The plan is derived from the current state, so a run after an interruption does the rest.
    `on_event` is called with the progress. Raises TableUnsettled if a change takes longer than
    `longest_wait_seconds`.
    """
    waiter = _Waiter(database, on_event, sleep, longest_wait_seconds)
    return [_apply_to(database, table, waiter, allow_removal=allow_removal) for table in tables]


def _apply_to(database: Executor, table: Table, waiter: _Waiter, *, allow_removal: bool) -> Report:
    state = waiter.wait_until_settled(table.name)
    planned = plan_table(table, state, allow_removal=allow_removal)
    done: list[PlanStep] = []
    postponed: list[PlanStep] = []
    for step in planned.steps:
        waiter.on_event(Event("begin", table.name, step.text))
        if postponed and step.operation == postponed[-1].operation:
            # It depends on the postponed step.
            postponed.append(step)
        elif _carry_out(database, table, step, waiter):
            waiter.wait_until_settled(table.name)
            done.append(step)
            waiter.on_event(Event("done", table.name, step.text))
            continue
        else:
            postponed.append(step)
        waiter.on_event(Event("postponed", table.name, step.text))
    left = plan_table(table, read_state(database, table.name), allow_removal=allow_removal)
    return Report(table.name, tuple(done), tuple(postponed), left)


def _carry_out(database: Executor, table: Table, step: PlanStep, waiter: _Waiter) -> bool:
    """Make the call of a step; return False if the service refused it as too soon."""
    pauses = waiter.pauses(table.name)
    while True:
        try:
            database.execute(step.operation, step.request)
        except ResourceInUseException:
            if step.operation == "CreateTable":
                # Another process is creating it, or an interrupted run did.
                return True
            next(pauses)
            waiter.wait_until_settled(table.name)
        except LimitExceededException:
            # The account has reached its limit of simultaneous changes.
            next(pauses)
        except ValidationException as error:
            if step.operation == "UpdateTimeToLive" and _TTL_TOO_SOON in error.message:
                return False
            raise
        else:
            return True


class _Waiter:
    """Waits until changes have taken effect, and reports progress."""

    def __init__(
        self,
        database: Executor,
        on_event: Callable[[Event], None],
        sleep: Callable[[float], None],
        longest_seconds: float,
    ) -> None:
        self._database, self.on_event, self._sleep = database, on_event, sleep
        self._longest_seconds = longest_seconds

    def wait_until_settled(self, name: str) -> TableState | None:
        """Wait until no change of a table is in progress, and return its state; None if missing."""
        pauses = self.pauses(name)
        reported = ""
        while True:
            state = read_state(self._database, name)
            if state is None or state.is_settled:
                return state
            text = _show_progress(state)
            if text != reported:
                self.on_event(Event("wait", name, text))
                reported = text
            next(pauses)

    def pauses(self, name: str) -> _Pauses:
        """Return growing pauses; they raise TableUnsettled after the longest wait."""
        return _Pauses(name, self._sleep, self._longest_seconds)


class _Pauses:
    """Sleeps on each `next`, a little longer every time; raises TableUnsettled in the end."""

    def __init__(self, name: str, sleep: Callable[[float], None], longest_seconds: float) -> None:
        self._name, self._sleep, self._longest = name, sleep, longest_seconds
        self._seconds, self._waited = _FIRST_PAUSE_SECONDS, 0.0

    def __next__(self) -> None:
        if self._waited >= self._longest:
            raise TableUnsettled(self._name, self._waited)
        self._sleep(self._seconds)
        self._waited += self._seconds
        self._seconds = min(self._seconds * 1.5, _LONGEST_PAUSE_SECONDS)


def _show_progress(state: TableState) -> str:
    busy = [
        f"index {index.name} is {index.status.lower()}"
        for index in state.indexes.values()
        if index.status != "ACTIVE"
    ]
    table = [] if state.status == "ACTIVE" else [f"the table is {state.status.lower()}"]
    return ", ".join(busy or table)
