"""ExecuteStatement."""

from __future__ import annotations

from typing import Any

from keyfold.engine._capacity import Meter
from keyfold.engine._responses import Rendering
from keyfold.engine._services import Services
from keyfold.engine._writes import ConditionFailed, perform
from keyfold.engine.partiql import Exists, Select, WritePlan, plan_write, prepare, read_page_of
from keyfold.errors import ValidationException


def execute_statement(
    services: Services, request: dict[str, Any], rendering: Rendering
) -> dict[str, Any]:
    """Carry out one PartiQL statement: a page of items, or the change of one."""
    prepared = prepare(request)
    match prepared.statement:
        case Select() as select:
            return read_page_of(services, prepared, select, request, rendering)
        case Exists():
            raise ValidationException(
                "EXISTS can only be used in ExecuteTransaction write requests."
            )
        case statement:
            plan = plan_write(services, prepared, statement)
            return _write(services, plan, request, rendering)


def _write(
    services: Services, plan: WritePlan, request: dict[str, Any], rendering: Rendering
) -> dict[str, Any]:
    try:
        outcome = perform(services.storage, plan.write)
    except ConditionFailed as failure:
        raise plan.word_failure(failure, request, rendering) from None
    returned = plan.returned(outcome)
    response: dict[str, Any] = {"Items": [] if returned is None else rendering.items([returned])}
    meter = Meter(request.get("ReturnConsumedCapacity"))
    if meter.is_on:
        outcome.charge(meter.use_of(outcome.write.table))
        meter.report(response)
    return response
