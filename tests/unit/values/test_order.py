"""Keys as bytes: they sort as in the service, and different keys have different bytes."""

from __future__ import annotations

from itertools import pairwise, product

import pytest

from keyfold.values import (
    encode_number,
    encode_partition,
    normalise_number,
    prefix_end,
    terminate_part,
)

IN_ORDER = [
    "-9.9e125",
    "-1e125",
    "-100",
    "-99.5",
    "-99",
    "-12.5",
    "-12.49",
    "-12",
    "-10",
    "-9",
    "-1.1",
    "-1",
    "-0.9",
    "-0.01",
    "-1e-130",
    "0",
    "1e-130",
    "9e-130",
    "0.01",
    "0.09",
    "0.1",
    "0.9",
    "1",
    "1.01",
    "1.1",
    "9",
    "9.9",
    "10",
    "12",
    "12.49",
    "12.5",
    "99",
    "100",
    "101",
    "1e38",
    "1e125",
    "9.9e125",
]


def test_numbers_sort_by_value() -> None:
    encoded = [encode_number(normalise_number(text)) for text in IN_ORDER]
    assert all(low < high for low, high in pairwise(encoded))


@pytest.mark.parametrize("text", ["1e125", "-1e-130", "9" * 38, "-" + "9" * 38, "0"])
def test_a_number_takes_no_more_bytes_than_a_key_may_have(text: str) -> None:
    assert 1 <= len(encode_number(normalise_number(text))) <= 22


def test_no_partition_is_the_start_of_another() -> None:
    parts = [b"a", b"ab", b"a\0", b"\0", b"\xff", b"", b"a" * 2_048]
    for one, other in product(parts, parts):
        prefix = encode_partition(one)
        assert encode_partition(other).startswith(prefix) is (one == other)


def test_joined_parts_sort_as_the_parts_one_by_one() -> None:
    parts = [b"", b"\0", b"\0\0", b"\0\xff", b"\1", b"a", b"a\0", b"a\0b", b"aa", b"b", b"\xff"]
    pairs = sorted(product(parts, parts))
    joined = [terminate_part(one) + terminate_part(other) for one, other in pairs]
    assert joined == sorted(joined)
    assert len(set(joined)) == len(pairs)


@pytest.mark.parametrize(
    ("prefix", "end"),
    [
        (b"a", b"b"),
        (b"a\xff", b"b"),
        (b"a\xff\xff", b"b"),
        (b"\0", b"\1"),
        (b"\xfe", b"\xff"),
        (b"\xff", None),
        (b"\xff\xff", None),
        (b"", None),
    ],
)
def test_the_end_of_a_prefix_is_above_all_that_starts_with_it(
    prefix: bytes, end: bytes | None
) -> None:
    assert prefix_end(prefix) == end
    if end is not None:
        assert prefix + b"\xff" * 9 < end
