"""The model of throttling: which requests are refused, when, and why."""

from __future__ import annotations

import random

import pytest

from keyfold.capacity import (
    ACCOUNT_UNITS,
    KeyLayout,
    Refusal,
    ResourceLimits,
    ThroughputModel,
    Touch,
    UnitKind,
)
from keyfold.capacity.key_ranges import SPLIT_WINDOWS, WINDOW_SECONDS
from keyfold.capacity.throughput_model import GROWTH_SECONDS

_LAYOUT = KeyLayout(("pk",), ("sk",))


def _touch(key: str, units: float = 1.0, name: str = "") -> Touch:
    return Touch(name, _LAYOUT.place({"pk": {"S": key}}), units)


def _provisioned(reads: int, writes: int) -> ResourceLimits:
    return ResourceLimits({"Read": reads, "Write": writes})


def _refused(model: ThroughputModel, kind: UnitKind, touch: Touch, now: float, count: int) -> int:
    admitted, _ = model.admit(kind, [touch], now, count)
    return count - admitted


def test_a_key_of_an_on_demand_table_gets_what_one_partition_serves() -> None:
    model = ThroughputModel({"": ResourceLimits()}, now=0.0)
    assert model.admit("Write", [_touch("today")], 0.0, 1_500) == (
        1_000,
        Refusal("", "Write", "KeyRangeThroughputExceeded"),
    )
    # Reads are independent of writes, and a second later there are units again.
    assert _refused(model, "Read", _touch("today"), 0.0, 3_000) == 0
    assert _refused(model, "Write", _touch("today"), 1.0, 1_000) == 0


def test_a_new_on_demand_table_serves_four_partitions() -> None:
    model = ThroughputModel({"": ResourceLimits()}, now=0.0)
    assert len(model.partitions("")) == 4
    refused = sum(
        _refused(model, "Write", _touch(f"user-{number}"), 0.0, 1) for number in range(5_000)
    )
    assert 1_000 <= refused < 1_100


def test_provisioned_units_are_kept_for_a_burst() -> None:
    model = ThroughputModel({"": _provisioned(10, 10)}, now=0.0)
    assert len(model.partitions("")) == 1
    # Five minutes of ten units, and no more than a partition serves at once.
    served = sum(
        model.admit("Write", [_touch("a")], float(second), 2_000)[0] for second in range(10)
    )
    assert served == 3_000 + 9 * 10
    assert model.admit("Write", [_touch("a")], 10.0, 11) == (
        10,
        Refusal("", "Write", "ProvisionedThroughputExceeded"),
    )


def test_an_on_demand_table_has_a_quota() -> None:
    warm: dict[UnitKind, int] = {"Read": 400_000, "Write": 100_000}
    model = ThroughputModel({"": ResourceLimits(warm=warm)}, now=0.0)
    refusals = [
        model.admit("Write", [_touch(f"user-{number}", 100)], 0.0)[1] for number in range(500)
    ]
    assert refusals.count(None) == ACCOUNT_UNITS / 100
    assert set(refusals) == {None, Refusal("", "Write", "AccountLimitExceeded")}


def test_an_index_that_is_exhausted_refuses_writes_to_the_table() -> None:
    model = ThroughputModel({"": ResourceLimits(), "ByStatus": ResourceLimits()}, now=0.0)
    refusals: list[Refusal] = []
    for number in range(1_200):
        touches = [_touch(f"order-{number}"), _touch("open", 1.0, "ByStatus")]
        refusal = model.admit("Write", touches, 0.0)[1]
        if refusal is not None:
            refusals.append(refusal)
    assert len(refusals) == 200
    assert {each.reason for each in refusals} == {"IndexWriteKeyRangeThroughputExceeded"}


def test_a_maximum_of_an_index_applies_to_all_writes() -> None:
    limits = {"": ResourceLimits(), "ByStatus": ResourceLimits(maximums={"Write": 2})}
    model = ThroughputModel(limits, now=0.0, has_partitions=False)
    model.take("Write", [_touch("a"), _touch("open", 5.0, "ByStatus")], 0.0)
    refusal = model.check("Write", "", None, 0.0)
    assert refusal is not None
    assert refusal.reason == "IndexWriteMaxOnDemandThroughputExceeded"


@pytest.mark.parametrize("units", [0.5, 1.0, 3.0, 7.0])
def test_alike_requests_are_admitted_as_if_one_by_one(units: float) -> None:
    moves = [_touch("a", units), _touch("open", 1.0, "i"), _touch("done", 2.0, "i")]
    together = ThroughputModel({"": ResourceLimits(), "i": _provisioned(5, 5)}, now=0.0)
    single = ThroughputModel({"": ResourceLimits(), "i": _provisioned(5, 5)}, now=0.0)
    for second in range(5):
        now, count = float(second), 700
        admitted = sum(single.admit("Write", moves, now)[1] is None for _ in range(count))
        assert together.admit("Write", moves, now, count)[0] == admitted


def test_many_hot_keys_are_spread_over_more_partitions_and_served() -> None:
    model = ThroughputModel({"": _provisioned(4_000, 2_000)}, now=0.0)
    # All in one half of the hashes, so that one of two partitions is hot.
    first = model.partitions("")[0]
    keys = [f"user-{number}" for number in range(40)]
    hot = [key for key in keys if model.partition("", _touch(key).place or b"") is first]
    each = 1_500 // len(hot)

    def refused_in(second: int) -> int:
        return sum(_refused(model, "Write", _touch(key), float(second), each) for key in hot)

    assert refused_in(1) > 0
    for second in range(2, (SPLIT_WINDOWS + 1) * WINDOW_SECONDS):
        refused_in(second)
    assert len(model.partitions("")) == 3
    assert refused_in((SPLIT_WINDOWS + 1) * WINDOW_SECONDS + 2) == 0


def test_an_on_demand_table_grows_to_twice_its_peak() -> None:
    model = ThroughputModel({"": ResourceLimits()}, now=0.0)
    draw = random.Random(1)
    for second in range(WINDOW_SECONDS + 1):
        for _ in range(100):
            touch = _touch(f"user-{draw.random()}", 35)
            model.admit("Write", [touch], float(second))
    model.check("Write", "", None, float(WINDOW_SECONDS + GROWTH_SECONDS - 10))
    assert len(model.partitions("")) == 4
    model.check("Write", "", None, float(2 * WINDOW_SECONDS + GROWTH_SECONDS))
    assert len(model.partitions("")) == 7


def test_a_scan_reads_all_partitions() -> None:
    model = ThroughputModel({"": ResourceLimits()}, now=0.0)
    assert model.admit("Read", [Touch("", None, 128.0)], 0.0, 200) == (
        94,
        Refusal("", "Read", "KeyRangeThroughputExceeded"),
    )
    # It leaves nothing to any key.
    assert _refused(model, "Read", _touch("a"), 0.0, 1) == 1
