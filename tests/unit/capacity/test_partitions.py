"""How many partitions a table has, and what each sustains."""

from __future__ import annotations

import pytest

from keyfold.capacity import (
    ON_DEMAND_UNITS,
    PARTITION_UNITS,
    UnitKind,
    count_partitions,
    partition_units_per_second,
)

GB = 1 << 30


@pytest.mark.parametrize(
    ("size_bytes", "reads", "writes", "count"),
    [
        (0, 0, 0, 1),
        (10 * GB, 3_000, 1_000, 1),
        (10 * GB + 1, 1, 1, 2),
        (0, 3_001, 1, 2),
        (0, 1, 2_001, 3),
        (35 * GB, 6_000, 2_000, 4),
    ],
)
def test_the_tightest_limit_decides_the_number_of_partitions(
    size_bytes: int, reads: int, writes: int, count: int
) -> None:
    counted = count_partitions(
        size_bytes, read_units_per_second=reads, write_units_per_second=writes
    )
    assert counted == count


@pytest.mark.parametrize("kind", ["Read", "Write"])
def test_a_new_on_demand_table_has_four_partitions(kind: UnitKind) -> None:
    assert ON_DEMAND_UNITS[kind] == 4 * PARTITION_UNITS[kind]


def test_a_hot_partition_gets_more_than_its_share_but_no_more_than_its_limit() -> None:
    # The developer guide's table: 400 units over four partitions, of which one needs 150.
    assert partition_units_per_second("Write", 400) >= 150 > 400 / 4
    assert partition_units_per_second("Read", 2_000) == 2_000
    assert partition_units_per_second("Read", 12_000) == 3_000
