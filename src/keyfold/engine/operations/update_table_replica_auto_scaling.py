"""The UpdateTableReplicaAutoScaling operation: settings are recorded, but nothing is scaled."""

from __future__ import annotations

from keyfold.engine.metadata_operations import MetadataWrite, find_table
from keyfold.engine.replication.table_scaling import change_scaling
from keyfold.engine.tables.catalog import write_body

update_table_replica_auto_scaling = MetadataWrite(
    "UpdateTableReplicaAutoScaling", find=find_table, change=change_scaling, save=write_body
)
