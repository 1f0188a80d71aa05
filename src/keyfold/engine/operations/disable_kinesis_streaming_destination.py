"""The DisableKinesisStreamingDestination operation."""

from __future__ import annotations

from keyfold.engine.metadata_operations import MetadataWrite, find_table
from keyfold.engine.streams.kinesis import check_disabling, disable_destination
from keyfold.engine.tables.catalog import write_body

disable_kinesis_streaming_destination = MetadataWrite(
    "DisableKinesisStreamingDestination",
    check=check_disabling,
    find=find_table,
    change=disable_destination,
    save=write_body,
)
