"""DescribeTable."""

from __future__ import annotations

from typing import Any

from keyfold.engine._catalog import require_body
from keyfold.engine._context import EngineContext
from keyfold.engine._descriptions import to_table_description
from keyfold.engine._responses import Rendering
from keyfold.engine.shapes import table_name


def describe_table(
    services: EngineContext,
    request: dict[str, Any],
    rendering: Rendering,  # noqa: ARG001 - one signature for all operations
) -> dict[str, Any]:
    """Return what a table is and how much it holds."""
    name = table_name(request)
    body = services.storage.read(lambda reader: require_body(reader, name))
    counts = services.census.count(body)
    return {"Table": to_table_description(services, body, counts)}
