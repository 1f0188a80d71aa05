"""The UpdateKinesisStreamingDestination operation: the precision of timestamps is recorded."""

from __future__ import annotations

from keyfold.engine.metadata_operations import MetadataWrite, find_table
from keyfold.engine.streams.kinesis import check_updating, update_destination
from keyfold.engine.tables.catalog import write_body

update_kinesis_streaming_destination = MetadataWrite(
    "UpdateKinesisStreamingDestination",
    check=check_updating,
    find=find_table,
    change=update_destination,
    save=write_body,
)
