"""The UntagResource operation."""

from __future__ import annotations

from keyfold.engine.metadata_operations import MetadataWrite
from keyfold.engine.tables.catalog import write_body
from keyfold.engine.tables.tags import check_tag_keys, find_tagged, remove_tags

untag_resource = MetadataWrite(
    "UntagResource", check=check_tag_keys, find=find_tagged, change=remove_tags, save=write_body
)
