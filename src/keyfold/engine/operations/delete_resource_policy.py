"""The DeleteResourcePolicy operation."""

from __future__ import annotations

from keyfold.engine.metadata_operations import MetadataWrite
from keyfold.engine.tables.resource_policies import delete_policy, find_holder, save_holder

delete_resource_policy = MetadataWrite(
    "DeleteResourcePolicy", find=find_holder, change=delete_policy, save=save_holder
)
