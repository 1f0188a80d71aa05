"""Capacity units that single reads and writes consume.

The rules are those of "DynamoDB read and write operations" in the developer guide.
"""

from __future__ import annotations

from typing import Literal

UnitKind = Literal["Read", "Write"]

READ_UNIT_BYTES = 4_096
WRITE_UNIT_BYTES = 1_024
# A transaction prepares and commits each of its reads and writes, and pays for both. Indexes
# follow the table, so an entry is written and paid for once.
TRANSACTION_FACTOR = 2


def read_units(size_bytes: int, *, is_consistent: bool) -> float:
    """Return the units that reading `size_bytes` consumes; eventually consistent reads cost half.

    A page of Query or Scan is one read of the sum of its items' sizes; the members of a batch are
    one read each. A read that finds nothing costs the minimum. A member of a transaction costs
    `TRANSACTION_FACTOR` consistent reads.

    >>> read_units(4_097, is_consistent=True), read_units(0, is_consistent=False)
    (2.0, 0.5)
    """
    units = max(1, -(-size_bytes // READ_UNIT_BYTES))
    return float(units) if is_consistent else units / 2


def scan_units(size_bytes: int, *, is_consistent: bool, partitions: int) -> float:
    """Return the units that a scan from the first item to the last consumes, in one page.

    It reads every partition, and costs at least the minimum of each.

    >>> scan_units(100, is_consistent=False, partitions=4)
    2.0
    >>> scan_units(100_000, is_consistent=False, partitions=4)
    12.5
    """
    minimum = partitions * read_units(0, is_consistent=is_consistent)
    return max(minimum, read_units(size_bytes, is_consistent=is_consistent))


def write_units(size_bytes: int, replaced_bytes: int = 0) -> float:
    """Return the units that writing `size_bytes` over an item of `replaced_bytes` consumes.

    The larger of the two counts. A delete writes 0 bytes; a write that changes nothing costs the
    minimum. A member of a transaction costs `TRANSACTION_FACTOR` writes to the table, and one to
    each index.

    >>> write_units(1_025), write_units(10, replaced_bytes=3_000), write_units(0)
    (2.0, 3.0, 1.0)
    """
    return float(max(1, -(-max(size_bytes, replaced_bytes) // WRITE_UNIT_BYTES)))
