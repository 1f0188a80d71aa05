"""ListTagsOfResource."""

from __future__ import annotations

from typing import Any

from keyfold.engine._catalog import require_body
from keyfold.engine._context import EngineContext
from keyfold.engine._responses import Rendering
from keyfold.engine._tags import table_of_arn


def list_tags_of_resource(
    services: EngineContext,
    request: dict[str, Any],
    rendering: Rendering,  # noqa: ARG001 - one signature for all operations
) -> dict[str, Any]:
    """Return a table's tags; fifty at the most, so never in pages."""
    name = table_of_arn(services, request)
    body = services.storage.read(lambda reader: require_body(reader, name))
    return {"Tags": [{"Key": key, "Value": value} for key, value in body["tags"].items()]}
