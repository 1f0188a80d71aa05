"""The PutResourcePolicy operation."""

from __future__ import annotations

from keyfold.engine.metadata_operations import MetadataWrite
from keyfold.engine.tables.resource_policies import find_holder, put_policy, save_holder

put_resource_policy = MetadataWrite(
    "PutResourcePolicy", find=find_holder, change=put_policy, save=save_holder
)
