"""The EnableKinesisStreamingDestination operation: nothing is sent to the stream."""

from __future__ import annotations

from keyfold.engine.metadata_operations import MetadataWrite, find_table
from keyfold.engine.streams.kinesis import check_stream_arn, enable_destination, warn_unsent
from keyfold.engine.tables.catalog import write_body

enable_kinesis_streaming_destination = MetadataWrite(
    "EnableKinesisStreamingDestination",
    check=check_stream_arn,
    find=find_table,
    change=enable_destination,
    save=write_body,
    warn=warn_unsent,
)
