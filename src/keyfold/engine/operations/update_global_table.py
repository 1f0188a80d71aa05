"""The UpdateGlobalTable operation: replicas are recorded, but nothing is replicated."""

from __future__ import annotations

from keyfold.engine.metadata_operations import MetadataWrite
from keyfold.engine.replication import global_tables

update_global_table = MetadataWrite(
    "UpdateGlobalTable",
    check=global_tables.check_replica_updates,
    find=global_tables.find_global_table,
    change=global_tables.change_replicas,
    save=global_tables.save_global_table,
    warn=global_tables.warn_not_replicated,
)
