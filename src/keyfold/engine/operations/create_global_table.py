"""The CreateGlobalTable operation: replicas are recorded, but nothing is replicated."""

from __future__ import annotations

from keyfold.engine.metadata_operations import MetadataWrite
from keyfold.engine.replication import global_tables

create_global_table = MetadataWrite(
    "CreateGlobalTable",
    check=global_tables.check_regions,
    find=global_tables.start_global_table,
    change=global_tables.add_replicas,
    save=global_tables.save_global_table,
    warn=global_tables.warn_not_replicated,
)
