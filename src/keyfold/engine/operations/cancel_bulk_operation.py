"""The CancelBulkOperation operation."""

from __future__ import annotations

from typing import Any

from keyfold.engine.bulk.work_records import (
    BULK_JOB_RECORD,
    BULK_OPERATIONS,
    WorkBody,
    require_work,
    write_work,
)
from keyfold.engine.context import EngineContext
from keyfold.engine.storage import StorageWriter


def cancel_bulk_operation(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Cancel a bulk operation; the items that it has put stay in the table.

    An operation that has ended keeps its status, which the response reports: the API has no
    error for it.
    """

    def work(writer: StorageWriter) -> WorkBody:
        bulk = require_work(writer, BULK_OPERATIONS, request["BulkOperationArn"])
        if bulk["description"]["BulkOperationStatus"] != "IN_PROGRESS":
            return bulk
        described = {**bulk["description"], "BulkOperationStatus": "CANCELLING"}
        cancelled: WorkBody = {**bulk, "description": described}
        write_work(writer, BULK_OPERATIONS, cancelled)
        return cancelled

    bulk = context.storage.write(work)
    described = bulk["description"]
    if described["BulkOperationStatus"] == "CANCELLING":
        context.begin_job(BULK_JOB_RECORD, bulk["id"])
    return {name: described[name] for name in ("BulkOperationArn", "BulkOperationStatus")}
