"""Carrying out a plan, step by step, each once the one before has taken effect."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from keyfold.deploy._plans import PlanStep, TablePlan, plan_table
from keyfold.deploy._states import Executor, TableState, read_state
from keyfold.errors import (
    LimitExceededException,
    ResourceInUseException,
    TableUnsettled,
    ValidationException,
)
from keyfold.model import Table

# Adding an index to a large table takes hours on the service.
LONGEST_WAIT_SECONDS = 24 * 3_600.0
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.25, 10.0
_TTL_TOO_SOON = "Time to live has been modified multiple times within a fixed interval"

Kind = Literal["begin", "wait", "done", "postponed"]


@dataclass(frozen=True, slots=True)
class Event:
    """Something to tell whoever watches: `kind` of it, about which step of which table."""

    kind: Kind
    table: str
    text: str


@dataclass(frozen=True, slots=True)
class Report:
    """What was done to one table, and what is left: `plan` is what it would still take."""

    table: str
    done: tuple[PlanStep, ...]
    postponed: tuple[PlanStep, ...]
    plan: TablePlan

    @property
    def is_as_declared(self) -> bool:
        """Whether the table is as declared now."""
        return self.plan.is_as_declared


def plan(
    database: Executor, tables: Sequence[Table], *, allow_removal: bool = False
) -> list[TablePlan]:
    """Compare tables with what is there; nothing is changed."""
    return [
        plan_table(table, read_state(database, table.name), allow_removal=allow_removal)
        for table in tables
    ]


def apply(
    database: Executor,
    tables: Sequence[Table],
    *,
    allow_removal: bool = False,
    tell: Callable[[Event], None] = lambda _: None,
    sleep: Callable[[float], None] = time.sleep,
    longest_wait_seconds: float = LONGEST_WAIT_SECONDS,
) -> list[Report]:
    """Make tables as they are declared; return what was done and what is left.

    The plan is made from what is there, so this can be run again after an interruption, and does
    what is left. Raises TableUnsettled when a change takes longer than `longest_wait_seconds`.
    """
    waiter = _Waiter(database, tell, sleep, longest_wait_seconds)
    return [_apply_to(database, table, waiter, allow_removal=allow_removal) for table in tables]


def _apply_to(database: Executor, table: Table, waiter: _Waiter, *, allow_removal: bool) -> Report:
    state = waiter.settle(table.name)
    planned = plan_table(table, state, allow_removal=allow_removal)
    done: list[PlanStep] = []
    postponed: list[PlanStep] = []
    for step in planned.steps:
        waiter.tell(Event("begin", table.name, step.text))
        if postponed and step.operation == postponed[-1].operation:
            # It follows from the one that could not be done yet.
            postponed.append(step)
        elif _carry_out(database, table, step, waiter):
            waiter.settle(table.name)
            done.append(step)
            waiter.tell(Event("done", table.name, step.text))
            continue
        else:
            postponed.append(step)
        waiter.tell(Event("postponed", table.name, step.text))
    left = plan_table(table, read_state(database, table.name), allow_removal=allow_removal)
    return Report(table.name, tuple(done), tuple(postponed), left)


def _carry_out(database: Executor, table: Table, step: PlanStep, waiter: _Waiter) -> bool:
    """Make a step's call; return whether it was made, and not refused as too soon."""
    pauses = waiter.pauses(table.name)
    while True:
        try:
            database.execute(step.operation, step.request)
        except ResourceInUseException:
            if step.operation == "CreateTable":
                # Somebody else makes it, or did so before this was interrupted.
                return True
            next(pauses)
            waiter.settle(table.name)
        except LimitExceededException:
            # So many changes at a time, in the whole account.
            next(pauses)
        except ValidationException as error:
            if step.operation == "UpdateTimeToLive" and _TTL_TOO_SOON in error.message:
                return False
            raise
        else:
            return True


class _Waiter:
    """Waits until what was begun has taken effect, and says how it goes."""

    def __init__(
        self,
        database: Executor,
        tell: Callable[[Event], None],
        sleep: Callable[[float], None],
        longest_seconds: float,
    ) -> None:
        self._database, self.tell, self._sleep = database, tell, sleep
        self._longest_seconds = longest_seconds

    def settle(self, name: str) -> TableState | None:
        """Return the table once nothing is under way; None when there is none."""
        pauses = self.pauses(name)
        told = ""
        while True:
            state = read_state(self._database, name)
            if state is None or state.is_settled:
                return state
            text = _show_progress(state)
            if text != told:
                self.tell(Event("wait", name, text))
                told = text
            next(pauses)

    def pauses(self, name: str) -> _Pauses:
        """Return pauses that grow, up to an end."""
        return _Pauses(name, self._sleep, self._longest_seconds)


class _Pauses:
    """Sleeps at each `next`, a little longer than the last time; raises TableUnsettled."""

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
