"""The DescribeContinuousBackups operation."""

from __future__ import annotations

from typing import Any

from keyfold.api.shapes import table_name
from keyfold.engine.context import EngineContext
from keyfold.engine.recovery.backups import require_source
from keyfold.engine.recovery.point_in_time import describe_recovery


def describe_continuous_backups(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Return whether a table has point-in-time recovery, and the times it can be restored to."""
    name = table_name(request)
    body = context.storage.read(lambda reader: require_source(reader, name))
    return {"ContinuousBackupsDescription": describe_recovery(body, context.clock())}
