"""Partitions of a table or a global index: how many there are, and what each can sustain.

DynamoDB does not publish how it places partitions. These functions follow what the developer guide
says about their limits ("Best practices for designing and using partition keys", "Key range
throughput exceeded", "Burst and adaptive capacity", "On-demand capacity mode"), and assume that
there are never more partitions than those limits require.
"""

from __future__ import annotations

from keyfold.capacity.units import UnitKind

# What one partition serves each second, reads and writes independently of each other.
PARTITION_UNITS: dict[UnitKind, int] = {"Read": 3_000, "Write": 1_000}
# The service's GB has 1,024 MB.
PARTITION_BYTES = 10 << 30
# What a new on-demand table or index serves each second: four partitions' worth.
ON_DEMAND_UNITS: dict[UnitKind, int] = {"Read": 12_000, "Write": 4_000}


def count_partitions(
    size_bytes: int, *, read_units_per_second: int, write_units_per_second: int
) -> int:
    """Return how many partitions it takes to hold `size_bytes` and to serve a throughput.

    The throughput is the table's warm throughput: at least what is provisioned, and never lower
    than it has been.

    >>> count_partitions(25 << 30, read_units_per_second=1_500, write_units_per_second=500)
    3
    >>> count_partitions(0, read_units_per_second=12_000, write_units_per_second=4_000)
    4
    """
    return max(
        1,
        -(-size_bytes // PARTITION_BYTES),
        -(-read_units_per_second // PARTITION_UNITS["Read"]),
        -(-write_units_per_second // PARTITION_UNITS["Write"]),
    )


def partition_units_per_second(kind: UnitKind, table_units_per_second: int) -> int:
    """Return what the hottest partition of a table can sustain, if the others are idle.

    Adaptive capacity lets a partition use more than its even share of a table's throughput: all of
    it, up to the limit of a partition. A single key never gets more than that limit, even if it
    has a partition of its own.

    >>> partition_units_per_second("Write", 400), partition_units_per_second("Write", 40_000)
    (400, 1000)
    """
    return min(table_units_per_second, PARTITION_UNITS[kind])
