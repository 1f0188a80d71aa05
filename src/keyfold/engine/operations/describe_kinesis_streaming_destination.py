"""The DescribeKinesisStreamingDestination operation: the streams recorded for a table."""

from __future__ import annotations

from keyfold.engine.metadata_operations import MetadataRead, find_table
from keyfold.engine.streams.kinesis import describe_destinations

describe_kinesis_streaming_destination = MetadataRead(find_table, describe_destinations)
