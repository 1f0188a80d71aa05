"""The ExecuteStatement operation."""

from __future__ import annotations

from typing import Any

from keyfold.engine.context import EngineContext
from keyfold.engine.items.consumed_capacity import CapacityMeter
from keyfold.engine.items.responses import Rendering
from keyfold.engine.items.writes import ConditionNotMet, perform
from keyfold.engine.partiql import WritePlan, plan_write, read_page_of
from keyfold.errors import ValidationException
from keyfold.expressions.partiql import Exists, SelectStatement, prepare


def execute_statement(
    context: EngineContext, request: dict[str, Any], rendering: Rendering
) -> dict[str, Any]:
    """Execute a PartiQL statement: return a page of items, or write one item."""
    prepared = prepare(request)
    match prepared.statement:
        case SelectStatement() as select:
            return read_page_of(context, prepared, select, request, rendering)
        case Exists():
            raise ValidationException(
                "EXISTS can only be used in ExecuteTransaction write requests."
            )
        case statement:
            plan = plan_write(context, prepared, statement)
            return _write(context, plan, request, rendering)


def _write(
    context: EngineContext, plan: WritePlan, request: dict[str, Any], rendering: Rendering
) -> dict[str, Any]:
    try:
        outcome = perform(context.storage, plan.write)
    except ConditionNotMet as failure:
        raise plan.failure_error(failure, request, rendering) from None
    returned = plan.returned(outcome)
    response: dict[str, Any] = {"Items": [] if returned is None else rendering.items([returned])}
    meter = CapacityMeter(request.get("ReturnConsumedCapacity"))
    if meter.is_on:
        outcome.charge(meter.use_of(outcome.write.table))
        meter.report(response)
    return response
