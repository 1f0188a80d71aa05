"""Unique fields in deployments: whether their guards are complete, and the comparison with items."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from functools import partial

from keyfold.deploy._plans import UniqueStep
from keyfold.model import Table
from keyfold.store import Executor
from keyfold.store._drivers import drive
from keyfold.store._plans import MakeCall, Plan, repeat_call
from keyfold.store._unique_audit import UniqueAudit, UniqueReport
from keyfold.store._unique_marker import guard_names, plan_complete_names

CALL: MakeCall = partial(repeat_call, random.random)


def verify(
    database: Executor,
    tables: Sequence[Table],
    *,
    repair: bool = False,
    on_items: Callable[[str, int], object] = lambda _, __: None,
    sleep: Callable[[float], None] = time.sleep,
) -> list[UniqueReport]:
    """Compare the guards of unique fields with the items of declared tables, both ways.

    Tables can stay in use. `repair` repairs what has one solution: it makes missing guards,
    deletes stale ones, and corrects owners. Values that several items have are only reported.
    `on_items` is called with a table's name and the number of items read.
    """
    reports: list[UniqueReport] = []
    for table in tables:
        table.check()
        if not table.has_guards:
            reports.append(UniqueReport(table.name, 0))
            continue
        audit = UniqueAudit(CALL, table, table.name, partial(on_items, table.name))
        plan = audit.repair() if repair else audit.check()
        reports.append(drive(plan, database.execute, sleep))
    return reports


def plan_unique_steps(table: Table) -> Plan[tuple[UniqueStep, ...]]:
    """Return a step for each unique field whose guards an existing table does not have yet."""
    if not table.has_guards:
        return ()
    complete = yield from plan_complete_names(CALL, table, table.name)
    fields = {
        field.guard: f"{schema.name}.{field.field}"
        for schema in table.entities.values()
        for field in schema.unique.values()
    }
    return tuple(
        UniqueStep(f"make the guards of {fields[name]}, which is unique", name)
        for name in sorted(guard_names(table) - complete)
    )
