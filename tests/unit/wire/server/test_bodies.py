"""Bodies that arrive in parts."""

from __future__ import annotations

import random

import pytest

from keyfold.wire.server._bodies import ReceivedBody

PART_BYTES = 1 << 16


@pytest.mark.parametrize("longest", [1, 7, 5_000, PART_BYTES - 1, PART_BYTES, 300_000])
def test_the_parts_are_joined_in_order(longest: int) -> None:
    chance = random.Random(longest)
    parts = [chance.randbytes(chance.randint(1, longest)) for _ in range(100)]
    body = ReceivedBody(parts[0])
    for part in parts[1:]:
        body.append(part)
    assert len(body) == sum(map(len, parts))
    assert body.take() == b"".join(parts)
    assert (len(body), body.take()) == (sum(map(len, parts)), b"")


def test_a_body_of_short_parts_is_kept_in_few() -> None:
    body = ReceivedBody(b"ab")
    for _ in range(500_000):
        body.append(b"ab")
    # Nothing larger than a part is ever copied, until all are joined.
    assert {len(part) for part in body._parts} == {PART_BYTES}
    assert len(body._gathered) < PART_BYTES


def test_a_long_part_is_kept_as_it_is() -> None:
    long = b"x" * PART_BYTES
    body = ReceivedBody(b"ab")
    body.append(long)
    assert body._parts[1] is long
