"""ExecuteStatement."""

from __future__ import annotations

from typing import Any

from keyfold.engine._capacity import CapacityMeter
from keyfold.engine._context import EngineContext
from keyfold.engine._responses import Rendering
from keyfold.engine._writes import ConditionNotMet, perform
from keyfold.engine.partiql import (
    Exists,
    SelectStatement,
    WritePlan,
    plan_write,
    prepare,
    read_page_of,
)
from keyfold.errors import ValidationException


def execute_statement(
    services: EngineContext, request: dict[str, Any], rendering: Rendering
) -> dict[str, Any]:
    """Carry out one PartiQL statement: a page of items, or the change of one."""
    prepared = prepare(request)
    match prepared.statement:
        case SelectStatement() as select:
            return read_page_of(services, prepared, select, request, rendering)
        case Exists():
            raise ValidationException(
                "EXISTS can only be used in ExecuteTransaction write requests."
            )
        case statement:
            plan = plan_write(services, prepared, statement)
            return _write(services, plan, request, rendering)


def _write(
    services: EngineContext, plan: WritePlan, request: dict[str, Any], rendering: Rendering
) -> dict[str, Any]:
    try:
        outcome = perform(services.storage, plan.write)
    except ConditionNotMet as failure:
        raise plan.failure_error(failure, request, rendering) from None
    returned = plan.returned(outcome)
    response: dict[str, Any] = {"Items": [] if returned is None else rendering.items([returned])}
    meter = CapacityMeter(request.get("ReturnConsumedCapacity"))
    if meter.is_on:
        outcome.charge(meter.use_of(outcome.write.table))
        meter.report(response)
    return response
