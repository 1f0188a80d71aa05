from __future__ import annotations

from keyfold.transfer._rates import RateLimiter
from tests.unit.transfer.shop import Time


def make(rate: float) -> tuple[RateLimiter, Time]:
    time = Time()
    return RateLimiter(rate, monotonic=time.clock, sleep=time.sleep), time


def test_calls_within_the_rate_do_not_wait() -> None:
    bucket, time = make(10.0)
    for _ in range(5):
        bucket.wait()
        bucket.take(2.0)
    assert time.slept == []


def test_calls_beyond_the_rate_wait() -> None:
    bucket, time = make(10.0)
    bucket.take(40.0)
    bucket.wait()
    bucket.wait()
    assert time.slept == [3.0]


def test_the_rate_is_kept_in_the_long_run() -> None:
    bucket, time = make(5.0)
    for _ in range(100):
        bucket.wait()
        bucket.take(3.0)
    bucket.wait()
    assert 300 / 5.0 - 1 <= time.seconds <= 300 / 5.0


def test_unused_units_are_not_saved_up() -> None:
    bucket, time = make(10.0)
    time.seconds += 1_000.0
    bucket.take(30.0)
    bucket.wait()
    assert time.slept == [2.0]
