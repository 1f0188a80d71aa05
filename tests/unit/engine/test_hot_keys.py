"""Counting the most used keys in bounded memory."""

from __future__ import annotations

from collections import Counter
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from keyfold.engine.insights.hot_keys import KeyCounter


def _count(keys: list[bytes], kept: int) -> KeyCounter:
    counter = KeyCounter(kept)
    for key in keys:
        counter.add(key)
    return counter


def test_few_keys_are_counted_exactly() -> None:
    counter = _count([b"a"] * 5 + [b"b"] * 3 + [b"c"], kept=3)
    assert counter.top(10) == [(b"a", 5, 5), (b"b", 3, 3), (b"c", 1, 1)]
    assert counter.top(1) == [(b"a", 5, 5)]


def test_the_hot_keys_of_a_skewed_load_are_found_in_order() -> None:
    random = Random(7)
    # A tenth of all uses, then a twentieth, and so on; the rest is spread over very many keys.
    hot = [b"hot %d" % place for place in range(5)]
    load = [key for place, key in enumerate(hot) for _ in range(10_000 >> place)]
    load += [b"cold %d" % random.randrange(100_000) for _ in range(80_000)]
    random.shuffle(load)
    counter = _count(load, kept=1_000)
    truth = Counter(load)
    top = counter.top(5)
    assert [key for key, _, _ in top] == hot
    for key, most, least in top:
        assert least <= truth[key] <= most <= truth[key] + len(load) / 1_000


@given(st.lists(st.integers(0, 30), max_size=300), st.integers(1, 10))
def test_counts_are_never_too_small_and_too_large_only_within_the_bound(
    numbers: list[int], kept: int
) -> None:
    keys = [b"%d" % number for number in numbers]
    counter = _count(keys, kept)
    truth = Counter(keys)
    top = counter.top(100)
    assert len(top) == min(kept, len(truth))
    for key, most, least in top:
        assert least <= truth[key] <= most <= truth[key] + len(keys) / kept
    found = {key for key, _, _ in top}
    assert all(key in found for key, count in truth.items() if count > len(keys) / kept)
