"""DescribeImport."""

from __future__ import annotations

from typing import Any

from keyfold.engine._context import EngineContext
from keyfold.engine._import_records import require_import
from keyfold.engine._responses import Rendering


def describe_import(
    services: EngineContext,
    request: dict[str, Any],
    rendering: Rendering,  # noqa: ARG001 - one signature for all operations
) -> dict[str, Any]:
    """Return what was asked of an import, and what came of it."""
    imported = services.storage.read(lambda reader: require_import(reader, request["ImportArn"]))
    return {"ImportTableDescription": imported["description"]}
