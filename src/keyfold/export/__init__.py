"""Declarations in other formats: deployment files, models for other tools, types for a front end.

Each function takes tables and returns an `ExportedDocument`: its content, and gaps that say what the
format cannot express.
"""

from __future__ import annotations

from keyfold.export._aws_schema import export_aws_schema
from keyfold.export._cdk import export_cdk
from keyfold.export._cloudformation import export_cloudformation
from keyfold.export._create_table import export_create_table
from keyfold.export._exported import ExportedDocument, ExportGap
from keyfold.export._json_schema import export_jsonschema
from keyfold.export._terraform import export_terraform
from keyfold.export._typescript import export_typescript
from keyfold.export._workbench import export_workbench

__all__ = [
    "ExportGap",
    "ExportedDocument",
    "export_aws_schema",
    "export_cdk",
    "export_cloudformation",
    "export_create_table",
    "export_jsonschema",
    "export_terraform",
    "export_typescript",
    "export_workbench",
]
