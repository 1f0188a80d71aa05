"""The fast path of a guard, and its caches."""

from __future__ import annotations

from unittest import mock

from keyfold.policy import Guard, Right
from tests.unit.policy.clinic import keeper, nurse, patient
from tests.unit.policy.clinic_guards import (
    ADA,
    AUDITOR,
    DELETE,
    GET,
    KEEPER,
    LAYOUT,
    NURSE,
    SCRIBE,
    UPDATE,
    access,
)


def test_the_fast_path_admits_only_what_the_full_check_allows() -> None:
    partitions = ["U#ada", "U#bob", "U#ada#F#x", "C#flu", "SETTINGS", "X", "keyfold#unique#a"]
    admitted = 0
    for guard in (ADA, SCRIBE, NURSE, AUDITOR, KEEPER):
        for _ in range(2):  # the second time is answered from the cache
            for partition in partitions:
                for right in Right:
                    if guard.admits(right.value, {"S": partition}):
                        admitted += 1
                        assert guard.check(access(right, partition)) is None
    assert admitted > 20
    assert not SCRIBE.admits(GET.value, {"S": "U#ada"})


def test_a_guard_stays_correct_past_the_limit_of_its_cache() -> None:
    guard = Guard(LAYOUT, nurse, {})
    largest = 0
    for number in range(2_500):
        assert guard.admits(GET.value, {"S": f"U#{number}"})
        largest = max(largest, len(guard._rights_by_partition))
    assert largest == 1_000
    assert not guard.admits(DELETE.value, {"S": "U#1"})


def test_the_rights_of_a_partition_are_found_once() -> None:
    guard = Guard(LAYOUT, nurse, {})
    with mock.patch.object(Guard, "_find", autospec=True, side_effect=Guard._find) as find:
        for _ in range(3):
            assert guard.admits(GET.value, {"S": "U#1"})
            assert guard.admits(GET.value, {"S": "U#2"})
    assert find.call_count == 2


def test_the_cache_of_index_keys_is_bounded_and_stays_correct() -> None:
    guard = Guard(LAYOUT, patient, {"user": "ada"})
    ((attribute, own), *_) = guard._own_by_attribute
    assert own == {None}
    largest = 0
    for number in range(2_500):
        assert guard.admits(UPDATE.value, {"S": "U#ada"}, {attribute: {"S": f"X#{number}"}})
        largest = max(largest, len(own))
    assert largest == 1_000
    assert None in own, "an item without the attribute takes the short way"
    assert not guard.admits(UPDATE.value, {"S": "U#ada"}, {attribute: {"S": "O#bob"}})
    assert not guard.admits(UPDATE.value, {"S": "U#ada"}, {attribute: None})


def test_keys_that_are_too_long_are_not_cached() -> None:
    """A guard decides before lengths are checked; a tenant must not fill the memory."""
    long, longest = "x" * 2_049, "x" * 2_048
    keeping = Guard(LAYOUT, keeper, {})
    for text in (longest, long):
        assert keeping.admits(GET.value, {"S": text})
    assert [*keeping._rights_by_partition] == [longest]
    guard = Guard(LAYOUT, patient, {"user": "ada"})
    ((attribute, own), *_) = guard._own_by_attribute
    for text in (longest, long):
        assert guard.admits(UPDATE.value, {"S": "U#ada"}, {attribute: {"S": text}})
    assert own == {None, longest}
