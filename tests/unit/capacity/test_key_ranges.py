"""Partitions as ranges of keys, and how they are split."""

from __future__ import annotations

from typing import Any

from keyfold.capacity import place_key
from keyfold.capacity.key_ranges import SPLIT_WINDOWS, WINDOW_SECONDS, PartitionRanges


def _place(partition: str, sort: str | None = None) -> bytes:
    key: dict[str, Any] = {"pk": {"S": partition}}
    if sort is not None:
        key["sk"] = {"S": sort}
    return place_key(key, ["pk"], ["sk"])


def _heat(ranges: PartitionRanges, places: list[bytes], windows: int = SPLIT_WINDOWS) -> None:
    """Let partitions refuse requests to some places, window after window."""
    for window in range(windows):
        for place in places:
            found = ranges.find(place)
            found.has_refused = True
            found.note(place, 1)
        ranges.end_windows((window + 1) * WINDOW_SECONDS)


def test_partitions_divide_the_hashes_evenly() -> None:
    ranges = PartitionRanges(4, now=0.0)
    found = [ranges.find(_place(f"user-{number}")).number for number in range(4_000)]
    assert [900 < found.count(number) < 1_100 for number in (1, 2, 3, 4)] == [True] * 4


def test_items_of_a_partition_key_lie_side_by_side() -> None:
    first, second, other = _place("a", "1"), _place("a", "2"), _place("b", "1")
    assert first < second
    assert not first < other < second


def test_numbers_and_binaries_are_placed_by_value() -> None:
    numbers = [
        place_key({"pk": {"S": "a"}, "n": {"N": text}}, ["pk"], ["n"]) for text in ("-2", "9", "10")
    ]
    assert numbers == sorted(numbers)
    in_text = place_key({"pk": {"B": "AAE="}}, ["pk"])
    assert in_text == place_key({"pk": {"B": b"\x00\x01"}}, ["pk"])


def test_a_key_of_several_attributes_has_one_place_for_each_combination() -> None:
    places = {
        place_key({"a": {"S": first}, "b": {"S": second}}, ["a", "b"])
        for first, second in (("x", "yz"), ("xy", "z"), ("x", "y"))
    }
    assert len(places) == 3


def test_a_partition_that_stays_hot_is_split_where_its_requests_halve() -> None:
    ranges = PartitionRanges(1, now=0.0)
    places = [_place(f"user-{number}") for number in range(100)]
    _heat(ranges, places, SPLIT_WINDOWS - 1)
    assert len(ranges.ranges) == 1
    for place in places:
        ranges.find(place).has_refused = True
        ranges.find(place).note(place, 1)
    ranges.end_windows(SPLIT_WINDOWS * WINDOW_SECONDS)
    assert len(ranges.ranges) == 2
    assert sum(ranges.find(place).number == 1 for place in places) == 50


def test_a_minute_of_calm_begins_the_count_again() -> None:
    ranges = PartitionRanges(1, now=0.0)
    places = [_place("a"), _place("b")]
    _heat(ranges, places, SPLIT_WINDOWS - 1)
    ranges.end_windows((SPLIT_WINDOWS + 1) * WINDOW_SECONDS)
    assert ranges.ranges[0].hot_windows == 0


def test_one_hot_item_is_isolated_but_never_split() -> None:
    ranges = PartitionRanges(1, now=0.0)
    hot, cold = _place("hot"), [_place(f"user-{number}") for number in range(10)]
    for _ in range(100):
        ranges.find(hot).note(hot, 1)
    _heat(ranges, [hot] * 90 + cold)
    assert len(ranges.ranges) == 2
    _heat(ranges, [hot] * 90)
    numbers = {ranges.find(hot).number} | {ranges.find(place).number for place in cold}
    assert len(numbers) == len(ranges.ranges)


def test_items_that_are_written_in_order_are_not_split() -> None:
    ranges = PartitionRanges(1, now=0.0)
    _heat(ranges, [_place("log", f"{number:06}") for number in range(200)])
    assert len(ranges.ranges) == 1


def test_items_of_one_partition_key_are_split_by_their_sort_key() -> None:
    ranges = PartitionRanges(1, now=0.0)
    order = [(number * 37) % 100 for number in range(100)]
    _heat(ranges, [_place("game", f"{number:06}") for number in order])
    assert len(ranges.ranges) == 2
    low, high = (ranges.find(_place("game", text)).number for text in ("000000", "000099"))
    assert low != high


def test_growing_splits_the_widest_partitions() -> None:
    ranges = PartitionRanges(3, now=0.0)
    ranges.grow(6, now=0.0)
    lows = [int.from_bytes(each.low[:4].ljust(4, b"\0"), "big") for each in ranges.ranges]
    widths = [high - low for low, high in zip(lows, [*lows[1:], 1 << 32], strict=True)]
    assert max(widths) - min(widths) <= 2
