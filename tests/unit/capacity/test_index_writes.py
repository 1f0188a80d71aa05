"""What a change of an item does to an index, by the rules of the developer guide."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from keyfold.capacity import EntryChange, find_index_write
from keyfold.values import Item

KEY = ("group", "rank")
KEYS_ONLY = frozenset(("pk", *KEY))

OUTSIDE: Item = {"pk": {"S": "a"}, "group": {"S": "g"}}
INSIDE: Item = {**OUTSIDE, "rank": {"N": "1"}}
LARGE: Item = {**INSIDE, "note": {"S": "x" * 3_000}}


def test_an_item_that_gets_its_key_is_inserted() -> None:
    assert find_index_write(None, INSIDE, KEY) == (EntryChange.INSERTED, 1)
    assert find_index_write(OUTSIDE, LARGE, KEY) == (EntryChange.INSERTED, 3)


def test_an_item_that_loses_its_key_is_deleted() -> None:
    assert find_index_write(INSIDE, None, KEY) == (EntryChange.DELETED, 1)
    assert find_index_write(LARGE, OUTSIDE, KEY) == (EntryChange.DELETED, 3)


def test_a_changed_attribute_costs_one_write_of_the_larger_entry() -> None:
    assert find_index_write(INSIDE, LARGE, KEY) == (EntryChange.UPDATED, 3)
    assert find_index_write(LARGE, INSIDE, KEY) == (EntryChange.UPDATED, 3)


def test_a_changed_key_costs_a_delete_and_an_insert() -> None:
    moved = {**INSIDE, "rank": {"N": "2"}}
    assert find_index_write(INSIDE, moved, KEY) == (EntryChange.MOVED, 2)
    assert find_index_write(LARGE, moved, KEY) == (EntryChange.MOVED, 4)


def test_what_the_index_does_not_hold_costs_nothing() -> None:
    assert find_index_write(INSIDE, LARGE, KEY, KEYS_ONLY) == (EntryChange.UNCHANGED, 0)
    assert find_index_write(INSIDE, dict(INSIDE), KEY) == (EntryChange.UNCHANGED, 0)
    assert find_index_write(None, OUTSIDE, KEY) == (EntryChange.UNCHANGED, 0)
    assert find_index_write(OUTSIDE, {**OUTSIDE, "note": {"S": "x"}}, KEY) == (
        EntryChange.UNCHANGED,
        0,
    )
    assert find_index_write(None, None, KEY) == (EntryChange.UNCHANGED, 0)


def test_only_projected_attributes_count() -> None:
    assert find_index_write(None, LARGE, KEY, KEYS_ONLY) == (EntryChange.INSERTED, 1)


ITEMS = st.none() | st.dictionaries(
    st.sampled_from(["group", "rank", "note", "more"]),
    st.sampled_from([{"S": "x"}, {"S": "y"}, {"S": "z" * 1_500}]),
)
PROJECTIONS = st.none() | st.sets(st.sampled_from(["note", "more"])).map({*KEY}.union)

OPPOSITES = {
    EntryChange.INSERTED: EntryChange.DELETED,
    EntryChange.DELETED: EntryChange.INSERTED,
}


@given(ITEMS, ITEMS, PROJECTIONS)
def test_undoing_a_change_costs_what_the_change_did(
    old: Item | None, new: Item | None, projected: set[str] | None
) -> None:
    change, units = find_index_write(old, new, KEY, projected)
    undone = find_index_write(new, old, KEY, projected)
    assert undone == (OPPOSITES.get(change, change), units)


@given(ITEMS, ITEMS, PROJECTIONS)
def test_a_move_costs_a_delete_and_an_insert_and_an_update_the_dearer_of_the_two(
    old: Item | None, new: Item | None, projected: set[str] | None
) -> None:
    change, units = find_index_write(old, new, KEY, projected)
    deleted = find_index_write(old, None, KEY, projected).units
    inserted = find_index_write(None, new, KEY, projected).units
    match change:
        case EntryChange.UNCHANGED:
            assert units == 0
        case EntryChange.UPDATED:
            assert units == max(deleted, inserted)
        case EntryChange.INSERTED | EntryChange.DELETED | EntryChange.MOVED:
            assert units == deleted + inserted
