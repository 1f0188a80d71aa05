"""Units of single reads and writes, by the examples of the developer guide."""

from __future__ import annotations

import pytest

from keyfold.capacity import TRANSACTION_FACTOR, read_units, write_units

KB = 1_024


@pytest.mark.parametrize(
    ("size_bytes", "units"),
    [(0, 1), (1, 1), (3_500, 1), (4 * KB, 1), (4 * KB + 1, 2), (8 * KB, 2), (10 * KB, 3)],
)
def test_a_read_is_rounded_up_to_four_kilobytes(size_bytes: int, units: int) -> None:
    assert read_units(size_bytes, is_consistent=True) == units
    assert read_units(size_bytes, is_consistent=False) == units / 2


def test_a_transactional_read_costs_twice_a_consistent_one() -> None:
    assert TRANSACTION_FACTOR * read_units(8 * KB, is_consistent=True) == 4


def test_a_page_is_rounded_once_and_a_batch_for_each_member() -> None:
    sizes = [3 * KB // 2, 13 * KB // 2]
    assert read_units(sum(sizes), is_consistent=True) == 2
    assert sum(read_units(size, is_consistent=True) for size in sizes) == 3


@pytest.mark.parametrize(
    ("size_bytes", "units"), [(0, 1), (500, 1), (KB, 1), (KB + 1, 2), (3 * KB // 2, 2)]
)
def test_a_write_is_rounded_up_to_one_kilobyte(size_bytes: int, units: int) -> None:
    assert write_units(size_bytes) == units


def test_a_write_costs_the_larger_of_what_it_writes_and_replaces() -> None:
    assert write_units(500, replaced_bytes=5 * KB) == write_units(5 * KB, replaced_bytes=500) == 5
