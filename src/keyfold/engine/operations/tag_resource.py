"""The TagResource operation."""

from __future__ import annotations

from keyfold.engine.metadata_operations import MetadataWrite
from keyfold.engine.tables.catalog import write_body
from keyfold.engine.tables.tags import add_tags, check_tags, find_tagged

tag_resource = MetadataWrite(
    "TagResource", check=check_tags, find=find_tagged, change=add_tags, save=write_body
)
