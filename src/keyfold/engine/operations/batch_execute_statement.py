"""The BatchExecuteStatement operation."""

from __future__ import annotations

from typing import Any

from keyfold.capacity import read_units
from keyfold.engine.context import EngineContext
from keyfold.engine.insights.throttling_errors import THROTTLED
from keyfold.engine.items.consumed_capacity import CapacityMeter
from keyfold.engine.items.responses import Rendering
from keyfold.engine.items.single_reads import admit_read, count_read
from keyfold.engine.items.write_checks import check_outcomes
from keyfold.engine.items.writes import ConditionNotMet, WriteOutcome, evaluate_write, store
from keyfold.engine.partiql import SingleRead, WritePlan, plan_single_read, plan_write
from keyfold.engine.storage import RowsChanged, StorageWriter
from keyfold.errors import (
    ResourceNotFoundException,
    ServiceError,
    ValidationException,
)
from keyfold.expressions.partiql import Exists, SelectStatement, prepare

# The code that a batch response has for each exception.
_CODES = {
    "ConditionalCheckFailedException": "ConditionalCheckFailed",
    "DuplicateItemException": "DuplicateItem",
    "ProvisionedThroughputExceededException": "ProvisionedThroughputExceeded",
    "RequestLimitExceeded": "RequestLimitExceeded",
    "ResourceNotFoundException": "ResourceNotFound",
    "ThrottlingException": "ThrottlingError",
    "ValidationException": "ValidationError",
}

Plan = SingleRead | WritePlan


def batch_execute_statement(
    context: EngineContext, request: dict[str, Any], rendering: Rendering
) -> dict[str, Any]:
    """Execute several PartiQL statements, all reads or all writes, independently of each other."""
    members: list[dict[str, Any]] = request["Statements"]
    plans = [_plan(context, member) for member in members]
    _check_batch(plans)
    meter = CapacityMeter(request.get("ReturnConsumedCapacity"))
    if any(isinstance(plan, WritePlan) for plan in plans):
        responses = _write_all(context, members, plans, meter, rendering)
    else:
        responses = _read_all(context, members, plans, meter, rendering)
    response: dict[str, Any] = {"Responses": responses}
    meter.report_all(response)
    return response


def _plan(context: EngineContext, member: dict[str, Any]) -> Plan | ServiceError:
    """Return the plan of a statement, or the error that its response is to report."""
    try:
        prepared = prepare(member)
        match prepared.statement:
            case SelectStatement() as select:
                found = plan_single_read(context, prepared, select)
                if found is None:
                    raise ValidationException(
                        "Select statements within BatchExecuteStatement must specify "
                        "the primary key in the where clause."
                    )
                return found
            case Exists():
                raise ValidationException(
                    "EXISTS can only be used in ExecuteTransaction write requests."
                )
            case statement:
                return plan_write(context, prepared, statement)
    except (ValidationException, ResourceNotFoundException) as error:
        if context.catalog.is_outdated():
            # The error may be about an old version of a table: retry the whole request.
            raise RowsChanged from None
        return error


def _check_batch(plans: list[Plan | ServiceError]) -> None:
    """Raise ValidationException for statements that may not be in the same batch."""
    reads = [plan for plan in plans if isinstance(plan, SingleRead)]
    writes = [plan.write for plan in plans if isinstance(plan, WritePlan)]
    if reads and writes:
        raise ValidationException(
            "Read and write requests together in the same batch is not supported."
        )
    keys = [(each.table.name, each.row_key) for each in (*reads, *writes)]
    if len(set(keys)) != len(keys):
        raise ValidationException("Provided list of item keys contains duplicates")


def _read_all(
    context: EngineContext,
    members: list[dict[str, Any]],
    plans: list[Plan | ServiceError],
    meter: CapacityMeter,
    rendering: Rendering,
) -> list[dict[str, Any]]:
    responses: list[dict[str, Any]] = []
    for member, plan in zip(members, plans, strict=True):
        if not isinstance(plan, SingleRead):
            assert isinstance(plan, ServiceError)  # a batch with reads has no writes
            responses.append(_describe(plan))
            continue
        response: dict[str, Any] = {"TableName": plan.table.name}
        try:
            admit_read(plan.table, plan.key)
        except THROTTLED as throttled:
            responses.append({**_describe(throttled), **response})
            continue
        row = context.storage.get(plan.table.rows, plan.row_key)
        if row is not None:
            response["Item"] = plan.render(row[0], rendering)
        responses.append(response)
        size = 0 if row is None else row[1]
        is_consistent = bool(member.get("ConsistentRead"))
        count_read(plan.table, plan.key, size, is_consistent=is_consistent)
        if meter.is_on:
            meter.use_of(plan.table).units += read_units(size, is_consistent=is_consistent)
    return responses


def _write_all(
    context: EngineContext,
    members: list[dict[str, Any]],
    plans: list[Plan | ServiceError],
    meter: CapacityMeter,
    rendering: Rendering,
) -> list[dict[str, Any]]:
    def settle_one(
        writer: StorageWriter, member: dict[str, Any], plan: Plan | ServiceError
    ) -> WriteOutcome | ServiceError:
        if not isinstance(plan, WritePlan):
            assert isinstance(plan, ServiceError)  # a batch with writes has no reads
            return plan
        try:
            outcome = evaluate_write(writer, plan.write)
            check_outcomes(writer, (outcome,))
        except ConditionNotMet as failure:
            return plan.failure_error(failure, member, rendering)
        except (*THROTTLED, ValidationException) as error:
            return error
        store(writer, outcome)
        return outcome

    def work(writer: StorageWriter) -> list[WriteOutcome | ServiceError]:
        # One commit for all statements, although each succeeds or fails independently.
        pairs = zip(members, plans, strict=True)
        return [settle_one(writer, member, plan) for member, plan in pairs]

    responses: list[dict[str, Any]] = []
    for plan, result in zip(plans, context.storage.write(work), strict=True):
        response = _describe(result) if isinstance(result, ServiceError) else {}
        if isinstance(plan, WritePlan):
            response["TableName"] = plan.write.table.name
            if isinstance(result, WriteOutcome):
                returned = plan.returned(result)
                if returned is not None:
                    response["Item"] = rendering.item(returned)
                if meter.is_on:
                    result.charge(meter.use_of(plan.write.table))
        responses.append(response)
    return responses


def _describe(error: ServiceError) -> dict[str, Any]:
    # Of the additional fields of an error, a batch response includes only the item.
    item = {name: value for name, value in error.fields.items() if name == "Item"}
    described = {"Code": _CODES.get(error.type, error.type), "Message": error.message, **item}
    return {"Error": described}
