"""Point-in-time recovery: switching it on and off, and the times to which a table can be restored.

A table with point-in-time recovery has a log of its changes, kept for the number of days for which
it is recoverable. Nothing else is stored for it: `rewind_job` reconstructs the table as of any
time from its current rows and the log.
"""

from __future__ import annotations

import math
from typing import Any

from keyfold.engine.recovery.rewind_job import is_being_copied
from keyfold.engine.storage import StorageReader, StorageWriter
from keyfold.engine.streams.change_log import DAY_SECONDS, save_changed_body
from keyfold.engine.tables.table import RecoveryBody, TableBody
from keyfold.errors import (
    ContinuousBackupsUnavailableException,
    PointInTimeRecoveryUnavailableException,
)

MAX_DAYS = 35


def switch_on(writer: StorageWriter, body: TableBody, days: int | None, now: float) -> TableBody:
    """Enable point-in-time recovery, or change its number of days; return the new body."""
    period = days or MAX_DAYS
    after: TableBody = {**body, "recovery": RecoveryBody(days=period, since=now)}
    if "recovery" in body:
        # Changes that expired under a shorter period do not come back with a longer one.
        after["recovery"]["since"] = earliest_time(body, now)
    save_changed_body(writer, body, after, now)
    return after


def switch_off(writer: StorageWriter, body: TableBody, now: float) -> TableBody:
    """Disable point-in-time recovery; return the new body.

    Raises ContinuousBackupsUnavailableException while the table is being restored or exported,
    which needs the log.
    """
    if "recovery" not in body:
        return body
    if is_being_copied(writer, body["name"]):
        raise ContinuousBackupsUnavailableException(
            f"Table is being restored or exported: {body['name']}"
        )
    after = body.copy()
    after.pop("recovery", None)
    save_changed_body(writer, body, after, now)
    return after


def describe_recovery(body: TableBody, now: float) -> dict[str, Any]:
    """Return the ContinuousBackupsDescription of the API."""
    described: dict[str, Any] = {"PointInTimeRecoveryStatus": "DISABLED"}
    if "recovery" in body:
        described = {
            "PointInTimeRecoveryStatus": "ENABLED",
            "RecoveryPeriodInDays": body["recovery"]["days"],
            "EarliestRestorableDateTime": earliest_time(body, now),
            "LatestRestorableDateTime": now,
        }
    return {
        "ContinuousBackupsStatus": "ENABLED",
        "PointInTimeRecoveryDescription": described,
    }


def require_recovery(body: TableBody) -> TableBody:
    """Return `body` if point-in-time recovery is enabled, otherwise raise.

    The error is PointInTimeRecoveryUnavailableException.
    """
    if "recovery" not in body:
        raise PointInTimeRecoveryUnavailableException(
            f"Point in time recovery is not enabled for table '{body['name']}'"
        )
    return body


def earliest_time(body: TableBody, now: float) -> float:
    """Return the earliest time to which a table can be restored."""
    recovery = body.get("recovery")
    assert recovery is not None  # the caller has checked it
    return max(recovery["since"], now - recovery["days"] * DAY_SECONDS)


def is_recoverable(body: TableBody, at: float, now: float) -> bool:
    """Return whether a table can be restored to a time.

    The whole second in which recovery begins counts: clients send whole seconds.
    """
    return math.floor(earliest_time(body, now)) <= at <= now


def last_change_at(reader: StorageReader, body: TableBody, at: float, now: float) -> int:
    """Return the sequence number of the last change that was made at or before a time."""
    assert "log" in body  # every recoverable table has one
    if at >= now:
        # All changes count. If the clock went back, the newest may have a time after `now`,
        # since a change never has an earlier time than the previous one.
        return reader.log_span(body["log"])[1]
    return reader.find_change(body["log"], at)


def last_change_before(reader: StorageReader, body: TableBody, at: float) -> int:
    """Return the sequence number of the last change that was made before a time."""
    return last_change_at(reader, body, math.nextafter(at, -math.inf), math.inf)
