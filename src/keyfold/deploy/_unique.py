"""Unique fields in deployments: whether their guards are complete, and the comparison with items."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from functools import partial

from keyfold.deploy._plans import UniqueStep
from keyfold.deploy._unique_removal import plan_deployed_marker, undeclared_names
from keyfold.model import Table
from keyfold.store import Executor
from keyfold.store._drivers import drive
from keyfold.store._plans import MakeCall, Plan, repeat_call
from keyfold.store._unique_audit import UniqueAudit, UniqueReport
from keyfold.store._unique_marker import complete_names, marker_key
from keyfold.store._unique_problems import UniqueProblem

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
    deletes stale ones, and corrects owners. Values that several items have are only reported, and
    so are guards of fields that are no longer unique, which `apply` removes.
    `on_items` is called with a table's name and the number of items read.
    """
    reports: list[UniqueReport] = []
    for table in tables:
        table.check()
        plan = _plan_verify(table, partial(on_items, table.name), repair=repair)
        reports.append(drive(plan, database.execute, sleep))
    return reports


def _plan_verify(
    table: Table, on_items: Callable[[int], object], *, repair: bool
) -> Plan[UniqueReport]:
    report = UniqueReport(table.name, 0)
    if table.has_guards:
        audit = UniqueAudit(CALL, table, table.name, on_items)
        report = yield from (audit.repair() if repair else audit.check())
    marker = yield from plan_deployed_marker(CALL, table)
    undeclared = undeclared_names(table, marker)
    return report.with_problems(
        [UniqueProblem("undeclared", name, marker_key(table)) for name in undeclared]
    )


def plan_unique_steps(table: Table) -> Plan[tuple[UniqueStep, ...]]:
    """Return the steps for guards: to make those of unique fields, and to remove undeclared ones."""
    marker = yield from plan_deployed_marker(CALL, table)
    fields = {
        field.guard: f"{schema.name}.{field.field}"
        for schema in table.entities.values()
        for field in schema.unique.values()
    }
    makings = [
        UniqueStep(f"make the guards of {fields[name]}, which is unique", name)
        for name in sorted(fields.keys() - complete_names(marker))
    ]
    removals = [
        UniqueStep(f"remove the guards {name}, which no unique field has", name, removes=True)
        for name in undeclared_names(table, marker)
    ]
    return (*makings, *removals)
