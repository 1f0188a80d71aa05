"""The DescribeImport operation."""

from __future__ import annotations

from typing import Any

from keyfold.engine.bulk.import_records import require_import
from keyfold.engine.context import EngineContext


def describe_import(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters and the status of an import."""
    imported = context.storage.read(lambda reader: require_import(reader, request["ImportArn"]))
    return {"ImportTableDescription": imported["description"]}
