"""The DescribeTableReplicaAutoScaling operation."""

from __future__ import annotations

from keyfold.engine.metadata_operations import MetadataRead, find_table
from keyfold.engine.replication.table_scaling import describe_scaling

describe_table_replica_auto_scaling = MetadataRead(find_table, describe_scaling)
