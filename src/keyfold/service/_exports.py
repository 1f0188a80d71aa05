"""A table's service in other formats: its OpenAPI document, and a client in Python."""

from __future__ import annotations

from keyfold.export import ExportedDocument
from keyfold.model import Table
from keyfold.service._client import write_client
from keyfold.service._endpoints import make_endpoints
from keyfold.service._openapi import write_openapi


def export_openapi(table: Table) -> ExportedDocument:
    """Return the OpenAPI 3.1 document of a table's service; raises DeclarationInvalid."""
    return ExportedDocument(write_openapi(table, make_endpoints(table)))


def export_client(table: Table) -> ExportedDocument:
    """Return a Python module with a typed client of a table's service; raises DeclarationInvalid.

    It needs pydantic, and nothing else: it does not import Keyfold.
    """
    return ExportedDocument(write_client(table))
