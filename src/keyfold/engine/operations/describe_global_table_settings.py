"""The DescribeGlobalTableSettings operation: the settings of a global table in every region."""

from __future__ import annotations

from keyfold.engine.metadata_operations import MetadataRead
from keyfold.engine.replication import global_tables

describe_global_table_settings = MetadataRead(
    global_tables.find_global_table, global_tables.describe_settings
)
