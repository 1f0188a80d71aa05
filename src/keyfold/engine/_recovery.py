"""Continuous backups: back to which seconds a table can be restored.

A table with point-in-time recovery has a log of its changes, kept for as many days as it is
to be recoverable. Nothing else is kept for it: `_rewinding` makes the table of any moment from
the rows of now and the log.
"""

from __future__ import annotations

import math
from typing import Any

from keyfold.engine._changes import DAY_SECONDS, keep_body
from keyfold.engine._rewind_job import is_being_copied
from keyfold.engine._tables import RecoveryBody, TableBody
from keyfold.engine.storage import StorageReader, StorageWriter
from keyfold.errors import (
    ContinuousBackupsUnavailableException,
    PointInTimeRecoveryUnavailableException,
)

MOST_DAYS = 35


def switch_on(writer: StorageWriter, body: TableBody, days: int | None, now: float) -> TableBody:
    """Let a table be recoverable, from now on or as it was, for another number of days."""
    wanted = days or MOST_DAYS
    after: TableBody = {**body, "recovery": RecoveryBody(days=wanted, since=now)}
    if "recovery" in body:
        # Changes that were given up by a shorter period do not come back with a longer one.
        after["recovery"]["since"] = earliest_time(body, now)
    keep_body(writer, body, after, now)
    return after


def switch_off(writer: StorageWriter, body: TableBody, now: float) -> TableBody:
    """Let a table no longer be recoverable."""
    if "recovery" not in body:
        return body
    if is_being_copied(writer, body["name"]):
        raise ContinuousBackupsUnavailableException(
            f"Table is being restored or exported: {body['name']}"
        )
    after = body.copy()
    after.pop("recovery", None)
    keep_body(writer, body, after, now)
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
    """Return the body of a table that can be restored to a time, or raise."""
    if "recovery" not in body:
        raise PointInTimeRecoveryUnavailableException(
            f"Point in time recovery is not enabled for table '{body['name']}'"
        )
    return body


def earliest_time(body: TableBody, now: float) -> float:
    """Return the first moment that a table can be restored to."""
    recovery = body.get("recovery")
    assert recovery is not None  # the caller has seen that it is on
    return max(recovery["since"], now - recovery["days"] * DAY_SECONDS)


def is_recoverable(body: TableBody, at: float, now: float) -> bool:
    """Tell whether a table can be restored to a time.

    The second in which recovery begins is one of them: clients send whole seconds.
    """
    return math.floor(earliest_time(body, now)) <= at <= now


def last_change_at(reader: StorageReader, body: TableBody, at: float, now: float) -> int:
    """Return the sequence number of the last change that had been made at a time."""
    assert "log" in body  # as has every table that is recoverable
    if at >= now:
        # All of them, also where the clock went back: a change is never dated before another.
        return reader.log_span(body["log"])[1]
    return reader.find_change(body["log"], at)


def last_change_before(reader: StorageReader, body: TableBody, at: float) -> int:
    """Return the sequence number of the last change that had been made before a time."""
    return last_change_at(reader, body, math.nextafter(at, -math.inf), math.inf)
