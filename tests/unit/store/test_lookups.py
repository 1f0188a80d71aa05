"""A principal finds its own by an index that is closed to it, and cannot tell what else is there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import pytest

from keyfold.errors import (
    AccessDenied,
    ItemInvalid,
    QueryInvalid,
)
from keyfold.model import (
    Chain,
)
from tests.unit.policy.clinic import (
    Note,
    by_key,
    ward,
)
from tests.unit.store.clinic_notes import BOB, deny, fill, note
from tests.unit.store.store_kinds import OpenSide, Side


@pytest.fixture
def store(open_store: OpenSide) -> Side:
    return fill(open_store([ward]))


@pytest.fixture
def ada(store: Side) -> Side:
    return store.as_principal("patient", user="ada")


def by_note_number(number: str) -> Chain[Note | None]:
    """A note, by what an index of all users' knows of it."""
    found = ward.query(by_key, sk=f"N#{number}").limit(1).descending().first()
    return found.lookup_then(lambda each: Note.get(user=each.user, id=number))


def test_a_chain_looks_up_what_its_caller_may_not(store: Side, ada: Side) -> None:
    store.run(note("ada", "mine").put())
    store.run(note("bob", "his").put())
    assert ada.run(by_note_number("mine")) == note("ada", "mine")
    assert store.run(by_note_number("his")) == note("bob", "his")
    assert ada.run(by_note_number("his")) is None
    assert ada.run(by_note_number("absent")) is None
    assert ada.run(by_note_number("his").map(lambda found, _: found)) is None


def test_a_chain_makes_the_same_calls_for_what_is_anothers_and_what_is_not_there(
    store: Side, ada: Side
) -> None:
    store.run(note("bob", "his").put())
    made: list[list[str]] = []
    for number in ("his", "absent"):
        ada.calls.clear()
        assert ada.run(by_note_number(number)) is None
        made.append([each.operation for each in ada.calls])
    assert made == [["Query"], ["Query"]]


@pytest.mark.parametrize("others", [0, 1, 20])
@pytest.mark.parametrize("on_invalid", ["raise", "raw"])
def test_what_others_have_there_changes_nothing_about_what_a_chain_finds(
    open_store: OpenSide, others: int, on_invalid: Literal["raise", "raw"]
) -> None:
    store = open_store(ward, on_invalid=on_invalid)
    for number in range(others):
        # On both sides of the caller's own, and some of them cannot be read.
        for user in (f"a{number}", f"z{number}"):
            each = note(user, "shared").put()
            wrong = {"secret": {"N": "1"}} if number % 2 else {}
            store.run(replace(each, item={**each.item, **wrong}))
    ada = store.as_principal("patient", user="ada")
    assert ada.run(by_note_number("shared")) is None
    store.run(note("ada", "shared").put())
    assert ada.run(by_note_number("shared")) == note("ada", "shared")


def test_only_reads_of_one_entity_look_something_up(store: Side, ada: Side) -> None:
    removal: Chain[Any] = Chain(
        Note.delete(**BOB), lambda _: Note.get(user="ada", id="1"), is_lookup=True
    )
    with pytest.raises(QueryInvalid, match=r"only get\(\) and first\(\)"):
        ada.run(removal)
    assert store.run(Note.get(**BOB)) is not None


def test_a_chain_that_looks_nothing_up_is_denied_at_its_first_step(ada: Side) -> None:
    found = ward.query(by_key, sk="N#1").first()
    deny(ada, found.then(lambda each: Note.get(user=each.user, id="1")))


def test_the_second_step_of_a_chain_is_the_callers(ada: Side) -> None:
    mine = Note.get(user="ada", id="1")
    with pytest.raises(AccessDenied):
        ada.run(mine.then(lambda _: Note.get(**BOB)))
    assert ada.run(mine.lookup_then(lambda _: Note.get(**BOB))) is None
    # However far down the denial comes.
    deeper = mine.lookup_then(
        lambda _: Note.get(user="ada", id="2").then(lambda _: Note.get(**BOB))
    )
    assert ada.run(deeper) is None


def test_what_is_looked_up_and_unfit_is_as_good_as_absent_to_a_principal(
    store: Side, ada: Side
) -> None:
    broken = note("bob", "broken").put()
    store.run(replace(broken, item={**broken.item, "secret": {"N": "1"}}))
    with pytest.raises(ItemInvalid):
        store.run(by_note_number("broken"))
    assert ada.run(by_note_number("broken")) is None
    # The second step is the caller's own, who is told.
    ours = note("ada", "ours").put()
    store.run(replace(ours, item={**ours.item, "secret": {"N": "1"}}))
    found = Note.get(user="ada", id="1").lookup_then(lambda _: Note.get(user="ada", id="ours"))
    with pytest.raises(ItemInvalid):
        ada.run(found)


def test_what_is_looked_up_and_raw_is_as_good_as_absent_to_a_principal(
    open_store: OpenSide,
) -> None:
    store = open_store(ward, on_invalid="raw")
    broken = note("bob", "broken").put()
    store.run(replace(broken, item={**broken.item, "secret": {"N": "1"}}))
    ada = store.as_principal("patient", user="ada")
    assert ada.run(by_note_number("broken")) is None
