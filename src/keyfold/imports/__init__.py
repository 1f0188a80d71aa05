"""Declarations made from other sources: live tables, data models and schemas of other tools.

Each function returns inferred tables; `write_module` makes a Python module of them, which declares the
tables, their entities, and the access patterns that their keys allow.
"""

from __future__ import annotations

from keyfold.imports._aws_schema import import_aws_schema
from keyfold.imports._checking import load_tables
from keyfold.imports._dynamodb import import_dynamodb
from keyfold.imports._inference import infer_entities
from keyfold.imports._inferred import (
    Evidence,
    InferredEntity,
    InferredField,
    InferredId,
    InferredIndex,
    InferredTable,
)
from keyfold.imports._module_writer import write_module
from keyfold.imports._projects import (
    copy_design,
    make_project,
    make_starter,
    name_table,
    write_project,
)
from keyfold.imports._workbench import import_workbench

__all__ = [
    "Evidence",
    "InferredEntity",
    "InferredField",
    "InferredId",
    "InferredIndex",
    "InferredTable",
    "copy_design",
    "import_aws_schema",
    "import_dynamodb",
    "import_workbench",
    "infer_entities",
    "load_tables",
    "make_project",
    "make_starter",
    "name_table",
    "write_module",
    "write_project",
]
