"""Capacity: the arithmetic of units, index entries, partitions and throttling, as pure functions.

`units` says what a read or write of some bytes costs, `index_writes` what a change of an item costs
in an index, `partitions` how many partitions there are and what each sustains, and `throttling`
when a rate is exceeded. `throughput_model` puts them together: which of the requests of a table are
refused, by partitions that are split as they get hot (`key_ranges`). Nothing here knows a table's
rows, and times are passed in.

>>> from keyfold.capacity import read_units, write_units
>>> read_units(9_000, is_consistent=False), write_units(1_500)
(1.5, 2.0)
"""

from __future__ import annotations

from keyfold.capacity.index_writes import EntryChange, IndexWrite, find_index_write
from keyfold.capacity.key_ranges import PartitionRange, place_key
from keyfold.capacity.partitions import (
    ON_DEMAND_UNITS,
    PARTITION_BYTES,
    PARTITION_UNITS,
    count_partitions,
    partition_units_per_second,
)
from keyfold.capacity.throttling import (
    BURST_SECONDS,
    LimitType,
    TokenBucket,
    new_bucket,
    refill,
    take,
    throttling_reason,
)
from keyfold.capacity.throughput_model import (
    ACCOUNT_UNITS,
    Refusal,
    ResourceLimits,
    ThroughputModel,
)
from keyfold.capacity.touches import KeyLayout, KeyUse, Touch, find_index_uses
from keyfold.capacity.units import (
    READ_UNIT_BYTES,
    TRANSACTION_FACTOR,
    WRITE_UNIT_BYTES,
    UnitKind,
    read_units,
    scan_units,
    write_units,
)

__all__ = [
    "ACCOUNT_UNITS",
    "BURST_SECONDS",
    "ON_DEMAND_UNITS",
    "PARTITION_BYTES",
    "PARTITION_UNITS",
    "READ_UNIT_BYTES",
    "TRANSACTION_FACTOR",
    "WRITE_UNIT_BYTES",
    "EntryChange",
    "IndexWrite",
    "KeyLayout",
    "KeyUse",
    "LimitType",
    "PartitionRange",
    "Refusal",
    "ResourceLimits",
    "ThroughputModel",
    "TokenBucket",
    "Touch",
    "UnitKind",
    "count_partitions",
    "find_index_uses",
    "find_index_write",
    "new_bucket",
    "partition_units_per_second",
    "place_key",
    "read_units",
    "refill",
    "scan_units",
    "take",
    "throttling_reason",
    "write_units",
]
