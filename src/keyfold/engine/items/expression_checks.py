"""Checks of a request's expressions against the keys of its table and of the table's indexes."""

from __future__ import annotations

from keyfold.engine.items.key_faults import KeyFaultKind, index_key_fault_error
from keyfold.engine.items.keys import KeySchema, find_key_fault
from keyfold.engine.tables.table import EngineTable
from keyfold.expressions.conditions import BoundCondition, check_filter_keys
from keyfold.expressions.parameters import ReadParameters
from keyfold.expressions.paths import Projection, check_scalar_keys
from keyfold.expressions.updates import UpdatePlan, check_updated_keys
from keyfold.values import Item


def check_update(plan: UpdatePlan | None, table: EngineTable) -> None:
    """Raise ValidationException if an update changes its item's key.

    Also raise it if the update sets a key attribute of an index to a value of the wrong type.
    """
    if plan is None:
        return
    check_updated_keys(plan, table.key.names)
    check_paths(table, plan)
    if table.index_key_names & plan.attributes:
        _check_given_index_keys(plan, table)


def _check_given_index_keys(plan: UpdatePlan, table: EngineTable) -> None:
    given: Item = {
        str(change.steps[0]): change.given
        for change in plan.changes
        if change.given is not None and len(change.steps) == 1
    }
    for index in table.indexes.values():
        fault = find_key_fault(index.key, given, index.name)
        # Other faults may not be final: the item that the update produces is checked later.
        if fault is not None and fault.kind is KeyFaultKind.WRONG_TYPE:
            raise index_key_fault_error(fault)


def check_paths(
    table: EngineTable, *parts: BoundCondition | Projection | UpdatePlan | None
) -> None:
    """Raise ValidationException if a path goes into a key attribute, which is a scalar."""
    for part in parts:
        if part is not None and any(len(path) > 1 for path in part.paths):
            check_scalar_keys(part.paths, table.key.names, sorted(table.index_key_names))


def check_read_filter(parameters: ReadParameters, schema: KeySchema) -> None:
    """Raise ValidationException if a query filters by a key attribute.

    Key attributes belong in the key condition.
    """
    if parameters.filter is not None:
        check_filter_keys(parameters.filter, schema.names, parameters.filter_kind)
