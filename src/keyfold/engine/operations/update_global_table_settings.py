"""The UpdateGlobalTableSettings operation: settings are recorded, in all regions or in some."""

from __future__ import annotations

from keyfold.engine.metadata_operations import MetadataWrite
from keyfold.engine.replication import global_tables

update_global_table_settings = MetadataWrite(
    "UpdateGlobalTableSettings",
    find=global_tables.find_global_table,
    change=global_tables.change_settings,
    save=global_tables.save_global_table,
)
