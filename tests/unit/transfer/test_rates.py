from __future__ import annotations

from keyfold.transfer._rates import RateLimiter
from tests.unit.transfer.world import Time


def make(rate: float) -> tuple[RateLimiter, Time]:
    time = Time()
    return RateLimiter(rate, clock=time.clock, sleep=time.sleep), time


def test_what_the_rate_allows_is_not_waited_for() -> None:
    bucket, time = make(10.0)
    for _ in range(5):
        bucket.wait()
        bucket.take(2.0)
    assert time.slept == []


def test_debts_are_waited_for() -> None:
    bucket, time = make(10.0)
    bucket.take(40.0)
    bucket.wait()
    bucket.wait()
    assert time.slept == [3.0]


def test_in_the_long_run_the_rate_is_kept() -> None:
    bucket, time = make(5.0)
    for _ in range(100):
        bucket.wait()
        bucket.take(3.0)
    bucket.wait()
    assert 300 / 5.0 - 1 <= time.seconds <= 300 / 5.0


def test_what_was_not_used_for_long_is_forgotten() -> None:
    bucket, time = make(10.0)
    time.seconds += 1_000.0
    bucket.take(30.0)
    bucket.wait()
    assert time.slept == [2.0]
