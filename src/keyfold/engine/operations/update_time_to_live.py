"""The UpdateTimeToLive operation."""

from __future__ import annotations

from typing import Any

from keyfold.api.shapes import table_name
from keyfold.engine.context import EngineContext
from keyfold.engine.storage import StorageWriter
from keyfold.engine.tables.backfill import begin_backfill, fill_first_batch
from keyfold.engine.tables.catalog import change_columns, require_settled
from keyfold.engine.tables.table import TableBody, TtlBody
from keyfold.errors import ValidationException


def update_time_to_live(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Enable or disable time to live on an attribute of a table."""
    name = table_name(request)
    specification = request["TimeToLiveSpecification"]
    attribute: str = specification["AttributeName"]
    is_enabled: bool = specification["Enabled"]

    def work(writer: StorageWriter) -> None:
        body = require_settled(writer, name)
        _check_change(body, attribute, is_enabled=is_enabled)
        changed: TableBody = {**body, "version": body["version"] + 1}
        if is_enabled:
            changed["ttl"] = TtlBody(attribute=attribute, column=f"i{body['next_column']}")
            changed["next_column"] += 1
        else:
            del changed["ttl"]
        change_columns(writer, body, changed)
        if is_enabled:
            begin_backfill(writer, changed)

    context.storage.write(work)
    context.catalog.forget()
    if is_enabled:
        fill_first_batch(context, name)
        context.wake_upkeep()
    return {"TimeToLiveSpecification": {"Enabled": is_enabled, "AttributeName": attribute}}


def _check_change(body: TableBody, attribute: str, *, is_enabled: bool) -> None:
    ttl = body.get("ttl")
    if ttl is None:
        if not is_enabled:
            raise ValidationException("TimeToLive is already disabled")
        return
    if ttl["attribute"] != attribute:
        raise ValidationException(
            "TimeToLive is active on a different AttributeName: "
            f"current AttributeName is {ttl['attribute']}"
        )
    if is_enabled:
        raise ValidationException("TimeToLive is already enabled")
