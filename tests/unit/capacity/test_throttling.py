"""Token buckets, and the reasons for throttling."""

from __future__ import annotations

from itertools import product
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from keyfold.capacity import (
    BURST_SECONDS,
    LimitType,
    UnitKind,
    new_bucket,
    refill,
    take,
    throttling_reason,
)


def test_a_bucket_admits_while_any_units_are_left() -> None:
    bucket = take(new_bucket(10, now=0.0), 9.5)
    assert not bucket.is_empty
    bucket = take(bucket, 20.5)
    assert bucket.is_empty
    # It is 20 units short, which take two seconds.
    assert refill(bucket, 2.0).is_empty
    assert not refill(bucket, 2.1).is_empty


def test_unused_units_are_kept_for_a_while_only() -> None:
    bucket = take(new_bucket(10, now=0.0), 10)
    assert refill(bucket, 100.0).units_left == 10
    bucket = take(new_bucket(10, now=0.0, kept_seconds=BURST_SECONDS), 3_000)
    assert refill(bucket, 100.0).units_left == 1_000
    assert refill(bucket, 1_000.0).units_left == 3_000


def test_a_burst_lasts_as_long_as_the_service_says() -> None:
    # 150 units a second, unused for five minutes, and then 200 a second: for 15 minutes.
    bucket = new_bucket(150, now=0.0, kept_seconds=BURST_SECONDS)
    seconds = 0
    while not bucket.is_empty:
        bucket = refill(take(bucket, 200), float(seconds := seconds + 1))
    assert seconds == 900


def test_a_clock_that_goes_back_adds_nothing_and_goes_on_from_there() -> None:
    bucket = refill(take(new_bucket(10, now=100.0), 15), 50.0)
    assert bucket.units_left == -5
    assert refill(bucket, 51.0).units_left == 5


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 50)), max_size=50))
def test_what_is_admitted_never_exceeds_the_rate_by_more_than_the_last_request(
    requests: list[tuple[int, int]],
) -> None:
    bucket, now, admitted = new_bucket(5, now=0.0), 0.0, 0
    for tenths, units in requests:
        now += tenths / 10
        bucket = refill(bucket, now)
        if not bucket.is_empty:
            bucket = take(bucket, units)
            # One second's units were there at the start.
            assert admitted < 5 + 5 * now + 1e-6
            admitted += units


def test_there_are_sixteen_reasons() -> None:
    reasons = {
        throttling_reason(resource, kind, limit)
        for resource, kind, limit in product(
            ("Table", "Index"), get_args(UnitKind), get_args(LimitType)
        )
    }
    assert len(reasons) == 16
    assert {
        "TableReadProvisionedThroughputExceeded",
        "IndexWriteAccountLimitExceeded",
        "TableWriteKeyRangeThroughputExceeded",
        "IndexReadMaxOnDemandThroughputExceeded",
    } < reasons
