"""Carries out a plan step by step, waiting until each step has taken effect."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from keyfold.deploy._plans import PlanStep, TablePlan, UniqueStep, plan_table
from keyfold.deploy._states import TableState, plan_state
from keyfold.deploy._unique import CALL, plan_unique_steps
from keyfold.deploy._unique_removal import plan_remove_guards
from keyfold.errors import (
    LimitExceededException,
    ResourceInUseException,
    TableUnsettled,
    ThrottlingException,
    ValidationException,
)
from keyfold.model import Table
from keyfold.store import Executor
from keyfold.store._drivers import drive
from keyfold.store._plans import ApiCall, Plan
from keyfold.store._retries import Backoff, Pause
from keyfold.store._unique_audit import UniqueAudit, UniqueReport

# Adding an index to a large table takes hours on the service.
MAX_WAIT_SECONDS = 24 * 3_600.0
_BACKOFF = Backoff(0.25, 10.0, factor=1.5)
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
    """The result for one table: the steps done and postponed; `plan` has what is left to do.

    `unique` is the result for unique fields whose guards were to be made. If several items have
    one value, it lists them, and no guards were made.
    """

    table: str
    done: tuple[PlanStep, ...]
    postponed: tuple[PlanStep, ...]
    plan: TablePlan
    unique: UniqueReport | None = None

    @property
    def is_as_declared(self) -> bool:
        """Whether the table matches its declaration now."""
        return self.plan.is_as_declared


def plan(
    database: Executor, tables: Sequence[Table], *, allow_removal: bool = False
) -> list[TablePlan]:
    """Compare declared tables with the database; return the steps needed, and change nothing."""
    return [
        drive(_plan_existing(table, allow_removal=allow_removal), database.execute, time.sleep)
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
    applier = _Applier(on_event, longest_wait_seconds, allow_removal=allow_removal)
    return [drive(applier.apply(table), database.execute, sleep) for table in tables]


def _plan_existing(table: Table, *, allow_removal: bool) -> Plan[TablePlan]:
    """Compare a declared table with the database; return the steps needed."""
    table.check()
    state = yield from plan_state(table.name)
    unique: tuple[UniqueStep, ...] = ()
    if state is not None and tuple(name for name, *_ in state.key) == table.key.names:
        unique = yield from plan_unique_steps(table)
    return plan_table(table, state, allow_removal=allow_removal, unique=unique)


class _Applier:
    """Changes tables and waits until the changes have taken effect, as plans."""

    def __init__(
        self, on_event: Callable[[Event], None], longest_seconds: float, *, allow_removal: bool
    ) -> None:
        self._on_event, self._longest_seconds = on_event, longest_seconds
        self._allow_removal = allow_removal

    def apply(self, table: Table) -> Plan[Report]:
        """Do the steps of one table."""
        state = yield from self._wait_until_settled(table.name)
        planned = plan_table(table, state, allow_removal=self._allow_removal)
        done: list[PlanStep] = []
        postponed: list[PlanStep] = []
        for step in planned.steps:
            self._on_event(Event("begin", table.name, step.text))
            if postponed and step.operation == postponed[-1].operation:
                # It depends on the postponed step.
                postponed.append(step)
            elif (yield from self._carry_out(table, step)):
                yield from self._wait_until_settled(table.name)
                done.append(step)
                self._on_event(Event("done", table.name, step.text))
                continue
            else:
                postponed.append(step)
            self._on_event(Event("postponed", table.name, step.text))
        left = yield from _plan_existing(table, allow_removal=self._allow_removal)
        unique: UniqueReport | None = None
        removals = [step for step in left.unique if step.removes]
        makings = [step for step in left.unique if not step.removes]
        if removals:
            yield from self._remove_guards(table, removals)
        if makings:
            unique = yield from self._make_guards(table, makings)
        if left.unique:
            left = yield from _plan_existing(table, allow_removal=self._allow_removal)
        return Report(table.name, tuple(done), tuple(postponed), left, unique)

    def _make_guards(self, table: Table, steps: Sequence[UniqueStep]) -> Plan[UniqueReport]:
        """Make the guards of unique fields that do not have them yet; return the result."""
        self._report_all("begin", table, steps)
        audit = UniqueAudit(CALL, table, table.name, partial(self._report_items, table))
        report = yield from audit.complete({step.name for step in steps})
        if report.is_good:
            self._report_all("done", table, steps)
        return report

    def _remove_guards(self, table: Table, steps: Sequence[UniqueStep]) -> Plan[None]:
        """Remove guards that no unique field has."""
        self._report_all("begin", table, steps)
        names = {step.name for step in steps}
        yield from plan_remove_guards(CALL, table, names, partial(self._report_items, table))
        self._report_all("done", table, steps)

    def _report_all(self, kind: Kind, table: Table, steps: Sequence[UniqueStep]) -> None:
        for step in steps:
            self._on_event(Event(kind, table.name, step.text))

    def _report_items(self, table: Table, count: int) -> None:
        text = f"{count:,} item{'' if count == 1 else 's'} read"
        self._on_event(Event("wait", table.name, text))

    def _carry_out(self, table: Table, step: PlanStep) -> Plan[bool]:
        """Make the call of a step; return False if the service refused it as too soon."""
        wait = _Wait(table.name, self._longest_seconds)
        while True:
            try:
                # Not retried after an internal error: the change may have begun, and the service
                # would refuse it the second time.
                yield ApiCall(step.operation, step.request)
            except ResourceInUseException:
                if step.operation == "CreateTable":
                    # Another process is creating it, or an interrupted run did.
                    return True
                yield wait.pause()
                yield from self._wait_until_settled(table.name)
            except (LimitExceededException, ThrottlingException):
                # The account has reached its limit of simultaneous changes, or of calls.
                yield wait.pause()
            except ValidationException as error:
                if step.operation == "UpdateTimeToLive" and _TTL_TOO_SOON in error.message:
                    return False
                raise
            else:
                return True

    def _wait_until_settled(self, name: str) -> Plan[TableState | None]:
        """Wait until no change of a table is in progress, and return its state; None if missing."""
        wait = _Wait(name, self._longest_seconds)
        reported = ""
        while True:
            state = yield from plan_state(name)
            if state is None or state.is_settled:
                return state
            text = _show_progress(state)
            if text != reported:
                self._on_event(Event("wait", name, text))
                reported = text
            yield wait.pause()


class _Wait:
    """Growing pauses until a change of a table has taken effect."""

    def __init__(self, name: str, longest_seconds: float) -> None:
        self._name, self._longest_seconds = name, longest_seconds
        self._pauses, self._waited_seconds = 0, 0.0

    def pause(self) -> Pause:
        """Return the next pause; raises TableUnsettled after the longest wait."""
        if self._waited_seconds >= self._longest_seconds:
            raise TableUnsettled(self._name, self._waited_seconds)
        self._pauses += 1
        pause = _BACKOFF.pause(self._pauses)
        self._waited_seconds += pause.seconds
        return pause


def _show_progress(state: TableState) -> str:
    busy = [
        f"index {index.name} is {index.status.lower()}"
        for index in state.indexes.values()
        if index.status != "ACTIVE"
    ]
    table = [] if state.status == "ACTIVE" else [f"the table is {state.status.lower()}"]
    return ", ".join(busy or table)
