"""INSERT, UPDATE and DELETE statements: plan the write of a single item."""

from __future__ import annotations

from typing import Any, NamedTuple

from keyfold.engine.context import EngineContext
from keyfold.engine.items.expression_checks import check_paths, check_update
from keyfold.engine.items.responses import Rendering
from keyfold.engine.items.writes import (
    ConditionNotMet,
    DeleteAction,
    ItemWrite,
    UpdateAction,
    WriteOutcome,
    check_item_size,
    make_put,
)
from keyfold.engine.partiql.access import check_key, require_one_key
from keyfold.engine.partiql.sources import find_table
from keyfold.engine.partiql.translation import Translation, as_validation_error, bind_where
from keyfold.engine.tables.table import EngineTable
from keyfold.errors import (
    ConditionalCheckFailedException,
    DuplicateItemException,
    ServiceError,
    ValidationException,
)
from keyfold.expressions.partiql.statements import Prepared
from keyfold.expressions.partiql.trees import (
    DeleteStatement,
    InsertStatement,
    Returning,
    UpdateStatement,
)
from keyfold.expressions.partiql.values import read_item
from keyfold.expressions.paths import merge_paths
from keyfold.expressions.updates import UpdatePlan, compile_update
from keyfold.values import Item, normalise_item

DUPLICATE = "Duplicate primary key exists in table"


class WritePlan(NamedTuple):
    """The write of a statement, and what it returns."""

    write: ItemWrite
    returning: Returning | None
    update: UpdatePlan | None
    is_insert: bool

    def returned(self, outcome: WriteOutcome) -> Item | None:
        """Return the attributes that RETURNING asks for; None if there are none."""
        if self.returning is None:
            return None
        item = outcome.old if self.returning.age == "OLD" else outcome.new
        if item is None or self.returning.extent == "ALL" or self.update is None:
            return item
        return self.update.project_touched(item) or None

    def failure_error(
        self, failure: ConditionNotMet, member: dict[str, Any], rendering: Rendering
    ) -> ServiceError:
        """Return the error for a write whose condition is false."""
        if self.is_insert:
            return DuplicateItemException(DUPLICATE)
        fields: dict[str, Any] = {}
        wants_item = member.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
        if wants_item and failure.item is not None:
            fields["Item"] = rendering.item(failure.item)
        return ConditionalCheckFailedException("The conditional request failed", fields)


def plan_write(
    context: EngineContext,
    prepared: Prepared,
    statement: InsertStatement | UpdateStatement | DeleteStatement,
) -> WritePlan:
    """Return the write of a statement.

    Raises ValidationException, ResourceNotFoundException.
    """
    table = _find_target(context, prepared, statement)
    prepared.check_supported()
    match statement:
        case InsertStatement():
            return _plan_insert(table, prepared, statement)
        case UpdateStatement():
            return _plan_update(table, prepared, statement)
        case DeleteStatement():
            return _plan_delete(table, prepared, statement)


def _find_target(
    context: EngineContext,
    prepared: Prepared,
    statement: InsertStatement | UpdateStatement | DeleteStatement,
) -> EngineTable:
    source = statement.source
    where = None if isinstance(statement, InsertStatement) else statement.where
    table = find_table(context, source.table, where, prepared.parameters)
    if source.index_name is not None:
        raise ValidationException("This operation is not supported on an index")
    return table


def _plan_insert(table: EngineTable, prepared: Prepared, statement: InsertStatement) -> WritePlan:
    item, size = normalise_item(read_item(statement.item, prepared.parameters))
    check_key(table.key, item)
    check_item_size(size)
    row_key, put = make_put(table, item, size)
    return WritePlan(ItemWrite(table, row_key, put, _is_absent), None, None, is_insert=True)


def _is_absent(item: Item) -> bool:
    return not item


def _plan_update(table: EngineTable, prepared: Prepared, statement: UpdateStatement) -> WritePlan:
    actions = Translation(prepared.parameters).actions(statement.changes)
    with as_validation_error():
        # In the order of the statement, unlike the paths of an update expression.
        merge_paths(action.path.steps for action in actions)
        update = compile_update(actions)
    where, condition = bind_where(statement.where, prepared.parameters)
    key = require_one_key(table, where)
    check_update(update, table)
    check_paths(table, condition)
    assert condition is not None  # a clause with a key is not empty
    # The condition includes the key, so it is false for an item that does not exist.
    write = ItemWrite(table, table.encode_key(key), UpdateAction(key, update), condition.holds)
    return WritePlan(write, statement.returning, update, is_insert=False)


def _plan_delete(table: EngineTable, prepared: Prepared, statement: DeleteStatement) -> WritePlan:
    returning = statement.returning
    if returning is not None and returning != ("ALL", "OLD"):
        raise ValidationException(
            f"Invalid returning clause: RETURNING {returning.extent} {returning.age} *. "
            "Only RETURNING ALL OLD * is allowed in DELETE statements."
        )
    where, condition = bind_where(statement.where, prepared.parameters)
    key = require_one_key(table, where)
    check_paths(table, condition)
    assert condition is not None  # a clause with a key is not empty
    condition_holds = condition.holds

    def holds(item: Item) -> bool:
        # Deleting an item that does not exist succeeds.
        return not item or condition_holds(item)

    write = ItemWrite(table, table.encode_key(key), DeleteAction(key), holds)
    return WritePlan(write, returning, None, is_insert=False)
