"""The DescribeGlobalTable operation."""

from __future__ import annotations

from keyfold.engine.metadata_operations import MetadataRead
from keyfold.engine.replication import global_tables

describe_global_table = MetadataRead(
    global_tables.read_global_table, global_tables.describe_global_table
)
