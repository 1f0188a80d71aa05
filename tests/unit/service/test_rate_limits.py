"""Rate limits: units that are taken afterwards, and come back with time."""

from __future__ import annotations

import pytest

from keyfold.errors import OptionInvalid, RateLimited
from keyfold.service._rate_limits import RateLimit, RateLimits


class Watch:
    """A monotonic clock that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def watch() -> Watch:
    return Watch()


def make(watch: Watch, rate: float = 10, burst: float = 20, most: int = 100) -> RateLimits:
    return RateLimits(RateLimit(rate, burst), monotonic=watch, most_buckets=most)


def test_a_burst_is_admitted_and_then_the_rate(watch: Watch) -> None:
    limits = make(watch)
    for _ in range(4):
        assert limits.admit("ada") is None
        limits.charge("ada", 5)
    assert limits.admit("ada") is not None
    watch.now += 0.1
    assert limits.admit("ada") is None
    limits.charge("ada", 1)
    assert limits.admit("ada") is not None


def test_a_costly_request_delays_those_that_follow(watch: Watch) -> None:
    limits = make(watch)
    limits.charge("ada", 70)
    assert limits.admit("ada") == 5.0
    watch.now += 2
    assert limits.admit("ada") == 3.0
    with pytest.raises(RateLimited) as caught:
        limits.check("ada")
    assert caught.value.seconds == 3
    assert caught.value.public == ("The caller has used its capacity for now. Try again in 3 s.")
    watch.now += 3.01
    assert limits.admit("ada") is None
    limits.check("ada")


def test_a_wait_is_told_in_whole_seconds_and_at_most_an_hour(watch: Watch) -> None:
    limits = make(watch)
    limits.charge("ada", 20.5)
    limits.charge("bob", 1e9)
    for name, seconds in (("ada", 1), ("bob", 3_600)):
        with pytest.raises(RateLimited) as caught:
            limits.check(name)
        assert caught.value.seconds == seconds


def test_principals_have_buckets_of_their_own(watch: Watch) -> None:
    limits = make(watch)
    limits.charge("ada", 1_000)
    assert limits.admit("ada") is not None
    assert limits.admit("bob") is None


def test_unused_units_are_kept_up_to_the_burst(watch: Watch) -> None:
    limits = make(watch)
    limits.charge("ada", 1)
    watch.now += 10_000
    limits.charge("ada", 20)
    assert limits.admit("ada") is not None


def test_buckets_that_are_full_are_forgotten_first(watch: Watch) -> None:
    limits = make(watch, most=2)
    limits.charge("ada", 1_000)
    watch.now += 1
    limits.charge("bob", 1)
    watch.now += 1
    limits.charge("eve", 1)
    # Bob's is full again; Ada's is older, but she still has to wait.
    assert limits.admit("ada") is not None
    assert len(limits._buckets) == 2


def test_memory_is_bounded_even_if_everybody_has_to_wait(watch: Watch) -> None:
    limits = make(watch, most=10)
    for number in range(100):
        limits.charge(f"principal {number}", 1_000)
    assert len(limits._buckets) == 10
    assert limits.admit("principal 99") is not None
    assert limits.admit("principal 0") is None


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), True, "10"])
def test_a_limit_is_a_number_above_zero(value: float) -> None:
    with pytest.raises(OptionInvalid, match="units_per_second: got"):
        RateLimit(value, 1)
    with pytest.raises(OptionInvalid, match="burst_units: got"):
        RateLimit(1, value)
