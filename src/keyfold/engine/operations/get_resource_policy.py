"""The GetResourcePolicy operation."""

from __future__ import annotations

from keyfold.engine.metadata_operations import MetadataRead
from keyfold.engine.tables.resource_policies import describe_policy, find_holder

get_resource_policy = MetadataRead(find_holder, describe_policy)
