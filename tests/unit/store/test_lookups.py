"""A principal looks up its own items in an index that is closed to it, and learns nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import pytest

from keyfold.errors import (
    AccessDenied,
    ItemInvalid,
    QueryInvalid,
)
from keyfold.requests import Chain
from tests.unit.policy.clinic import (
    Note,
    by_key,
    clinic,
)
from tests.unit.store.clinic_notes import BOB, deny, fill, note
from tests.unit.store.store_kinds import AnyStore, OpenStore


@pytest.fixture
def store(open_store: OpenStore) -> AnyStore:
    return fill(open_store([clinic]))


@pytest.fixture
def ada(store: AnyStore) -> AnyStore:
    return store.as_principal("patient", user="ada")


def by_note_number(number: str) -> Chain[Note | None]:
    """Look a note up by number in an index that all users share."""
    found = clinic.query(by_key, sk=f"N#{number}").limit(1).descending().first()
    return found.lookup_then(lambda each: Note.get(user=each.user, id=number))


@pytest.mark.indexes
def test_a_lookup_reads_what_its_caller_may_not(store: AnyStore, ada: AnyStore) -> None:
    store.run(note("ada", "mine").put())
    store.run(note("bob", "his").put())
    assert ada.run_until(by_note_number("mine"), bool) == note("ada", "mine")
    assert store.run_until(by_note_number("his"), bool) == note("bob", "his")
    assert ada.run(by_note_number("his")) is None
    assert ada.run(by_note_number("absent")) is None
    assert ada.run(by_note_number("his").map(lambda found, _: found)) is None


def test_a_chain_makes_the_same_calls_for_another_tenants_item_and_an_absent_one(
    store: AnyStore, ada: AnyStore
) -> None:
    store.run(note("bob", "his").put())
    made: list[list[str]] = []
    for number in ("his", "absent"):
        ada.calls.clear()
        assert ada.run(by_note_number(number)) is None
        made.append([each.operation for each in ada.calls])
    assert made == [["Query"], ["Query"]]


@pytest.mark.indexes
@pytest.mark.parametrize("others", [0, 1, 20])
@pytest.mark.parametrize("on_invalid", ["raise", "report"])
def test_items_of_other_tenants_do_not_change_what_a_chain_finds(
    open_store: OpenStore, others: int, on_invalid: Literal["raise", "report"]
) -> None:
    store = open_store(clinic, on_invalid=on_invalid)
    for number in range(others):
        # Before and after the caller's own note in the index; some of them are invalid.
        for user in (f"a{number}", f"z{number}"):
            each = note(user, "shared").put()
            wrong = {"secret": {"N": "1"}} if number % 2 else {}
            store.run(replace(each, item={**each.item, **wrong}))
    ada = store.as_principal("patient", user="ada")
    assert ada.run(by_note_number("shared")) is None
    store.run(note("ada", "shared").put())
    assert ada.run_until(by_note_number("shared"), bool) == note("ada", "shared")


def test_only_a_read_of_one_entity_can_be_a_lookup(store: AnyStore, ada: AnyStore) -> None:
    removal: Chain[Any] = Chain(
        Note.delete(**BOB), lambda _: Note.get(user="ada", id="1"), is_lookup=True
    )
    with pytest.raises(QueryInvalid, match=r"a lookup starts with get\(\) or first\(\)"):
        ada.run(removal)
    assert store.run(Note.get(**BOB)) is not None


def test_a_chain_without_a_lookup_is_denied_at_its_first_step(ada: AnyStore) -> None:
    found = clinic.query(by_key, sk="N#1").first()
    deny(ada, found.then(lambda each: Note.get(user=each.user, id="1")))


def test_the_second_step_of_a_chain_needs_the_rights_of_the_caller(ada: AnyStore) -> None:
    mine = Note.get(user="ada", id="1")
    with pytest.raises(AccessDenied):
        ada.run(mine.then(lambda _: Note.get(**BOB)))
    assert ada.run(mine.lookup_then(lambda _: Note.get(**BOB))) is None
    # Also if a later step is denied.
    deeper = mine.lookup_then(
        lambda _: Note.get(user="ada", id="2").then(lambda _: Note.get(**BOB))
    )
    assert ada.run(deeper) is None


@pytest.mark.indexes
def test_an_invalid_item_that_is_looked_up_counts_as_absent_to_a_principal(
    store: AnyStore, ada: AnyStore
) -> None:
    broken = note("bob", "broken").put()
    store.run(replace(broken, item={**broken.item, "secret": {"N": "1"}}))
    with pytest.raises(ItemInvalid):
        store.run_until(by_note_number("broken"), bool)
    assert ada.run(by_note_number("broken")) is None
    # The second step reads the caller's own item, so it raises.
    ours = note("ada", "ours").put()
    store.run(replace(ours, item={**ours.item, "secret": {"N": "1"}}))
    found = Note.get(user="ada", id="1").lookup_then(lambda _: Note.get(user="ada", id="ours"))
    with pytest.raises(ItemInvalid):
        ada.run(found)


def test_an_item_that_raises_when_looked_up_counts_as_absent_to_a_principal(
    open_store: OpenStore,
) -> None:
    store = open_store(clinic, on_invalid="raise")
    broken = note("bob", "broken").put()
    store.run(replace(broken, item={**broken.item, "secret": {"N": "1"}}))
    ada = store.as_principal("patient", user="ada")
    assert ada.run(by_note_number("broken")) is None
