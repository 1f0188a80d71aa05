"""The ListTagsOfResource operation."""

from __future__ import annotations

from keyfold.engine.metadata_operations import MetadataRead
from keyfold.engine.tables.tags import find_tagged, list_tags

list_tags_of_resource = MetadataRead(find_tagged, list_tags)
