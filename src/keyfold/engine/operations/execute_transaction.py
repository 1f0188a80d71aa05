"""The ExecuteTransaction operation."""

from __future__ import annotations

from typing import Any

from keyfold.capacity import TRANSACTION_FACTOR, read_units
from keyfold.engine.context import EngineContext
from keyfold.engine.items.consumed_capacity import CapacityMeter
from keyfold.engine.items.responses import Rendering
from keyfold.engine.items.single_reads import count_read
from keyfold.engine.items.transactions import MAX_BYTES, admit_all, check_distinct, write_all
from keyfold.engine.items.writes import CheckAction, ItemWrite
from keyfold.engine.partiql import (
    DUPLICATE,
    SingleRead,
    WritePlan,
    plan_check,
    plan_single_read,
    plan_write,
)
from keyfold.engine.storage import Row, StorageReader
from keyfold.errors import ValidationException
from keyfold.expressions.partiql import (
    Exists,
    Prepared,
    SelectStatement,
    parse_with,
    read_parameters,
)
from keyfold.values import text_size_bytes, value_size_bytes


def execute_transaction(
    context: EngineContext, request: dict[str, Any], rendering: Rendering
) -> dict[str, Any]:
    """Execute up to 100 PartiQL statements, all of them or none."""
    members: list[dict[str, Any]] = request["TransactStatements"]
    # As part of the request, all parameters are checked before any statement is.
    parameters = [read_parameters(member.get("Parameters")) for member in members]
    prepared: list[Prepared] = []
    for place, (member, given) in enumerate(zip(members, parameters, strict=True)):
        try:
            prepared.append(parse_with(member["Statement"], given))
        except ValidationException as error:
            raise _member_error(place, error) from None
    _check_payload(prepared)
    reads = [isinstance(each.statement, SelectStatement) for each in prepared]
    if any(reads) and not all(reads):
        raise ValidationException(
            "ExecuteTransaction API does not support both read and write operations "
            "in the same request."
        )
    if all(reads):
        return _read_all(context, request, prepared, rendering)
    return _write_all(context, request, prepared, rendering)


def _check_payload(prepared: list[Prepared]) -> None:
    total = 0
    for each in prepared:
        total += text_size_bytes(each.text) + sum(map(value_size_bytes, each.parameters))
        if total > MAX_BYTES:
            raise ValidationException(
                f"Transaction payload size cannot exceed 4MB. Payload Size: {total}"
            )


def _member_error(place: int, error: ValidationException) -> ValidationException:
    return ValidationException(f"Validation failed in TransactStatements[{place}]: {error.message}")


def _read_all(
    context: EngineContext, request: dict[str, Any], prepared: list[Prepared], rendering: Rendering
) -> dict[str, Any]:
    plans: list[SingleRead] = []
    for place, each in enumerate(prepared):
        try:
            plans.append(_plan_read(context, each))
        except ValidationException as error:
            raise _member_error(place, error) from None
    check_distinct([(plan.table, plan.row_key) for plan in plans])
    admit_all([(plan.table, plan.key) for plan in plans])

    def work(reader: StorageReader) -> list[Row | None]:
        return [reader.get(plan.table.rows, plan.row_key) for plan in plans]

    rows = context.storage.read(work)
    if sum(row[1] for row in rows if row is not None) > MAX_BYTES:
        raise ValidationException(
            "Aggregated size of all items in the transaction has exceeded the size limit"
        )
    meter = CapacityMeter(request.get("ReturnConsumedCapacity"))
    responses: list[dict[str, Any]] = []
    for plan, row in zip(plans, rows, strict=True):
        size = 0 if row is None else row[1]
        count_read(plan.table, plan.key, size, is_consistent=True, factor=TRANSACTION_FACTOR)
        if meter.is_on:
            meter.use_of(plan.table).units += TRANSACTION_FACTOR * read_units(
                size, is_consistent=True
            )
        responses.append({} if row is None else {"Item": plan.render(row[0], rendering)})
    response: dict[str, Any] = {"Responses": responses}
    meter.report_all(response, "Read")
    return response


def _plan_read(context: EngineContext, prepared: Prepared) -> SingleRead:
    assert isinstance(prepared.statement, SelectStatement)
    found = plan_single_read(context, prepared, prepared.statement)
    if found is not None:
        return found
    if prepared.statement.source.index_name is not None:
        raise ValidationException("Reads on indices are not supported within transactions.")
    raise ValidationException(
        "Select statements within ExecuteTransaction must specify the primary key "
        "in the where clause."
    )


def _write_all(
    context: EngineContext, request: dict[str, Any], prepared: list[Prepared], rendering: Rendering
) -> dict[str, Any]:
    plans: list[WritePlan] = []
    for place, each in enumerate(prepared):
        try:
            plans.append(_plan_write(context, each))
        except ValidationException as error:
            raise _member_error(place, error) from None
    writes = [plan.write for plan in plans]
    check_distinct([(write.table, write.row_key) for write in writes])
    wants_items = [
        member.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
        for member in request["TransactStatements"]
    ]

    def failure_error(place: int) -> dict[str, Any] | None:
        if not plans[place].is_insert:
            return None
        return {"Code": "ValidationError", "Message": DUPLICATE}

    response: dict[str, Any] = {"Responses": []}
    write_all(context, request, writes, wants_items, rendering, response, failure_error)
    return response


def _plan_write(context: EngineContext, prepared: Prepared) -> WritePlan:
    match prepared.statement:
        case SelectStatement():
            raise AssertionError  # a transaction with writes has no reads
        case Exists(select):
            check = plan_check(context, prepared, select)
            if check is None and select.source.index_name is not None:
                raise ValidationException("Operations on indices are not supported in transactions")
            if check is None:
                raise ValidationException(
                    "EXISTS() must contain a single item read with additional condition"
                )
            write = ItemWrite(check.table, check.row_key, CheckAction(check.key), check.holds)
            return WritePlan(write, None, None, is_insert=False)
        case statement:
            plan = plan_write(context, prepared, statement)
            if plan.returning is not None:
                raise ValidationException(
                    "RETURNING clause is not supported in ExecuteTransaction."
                )
            return plan
