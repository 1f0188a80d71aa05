"""Edits and upserts by principals: which rights they need."""

from __future__ import annotations

from datetime import timedelta

import pytest

from keyfold.errors import AccessDenied
from keyfold.model import CreatedAt, Entity, Expiry, Key, Table, part
from keyfold.policy import Right, Role
from keyfold.testing import Clock
from tests.unit.store.store_kinds import AnyStore, OpenStore

wards = Table("Wards", key=Key("pk", "sk"), ttl="ttl")
notes = wards.shard("PATIENT#{patient}")


class Note(Entity, table=wards, key=(notes, "NOTE#{id}")):
    patient: str = part()
    id: str = part()
    text: str = ""
    reads: int = 0
    created_at: CreatedAt | None = None
    ttl: Expiry | None = None


for name, right in (("updater", Right.UPDATE), ("writer", Right.CREATE | Right.UPDATE)):
    wards.add_role(Role(name, tenant="patient", can={notes: right | Right.GET}))

counted = Note.update(patient="ada", id="1").increment(Note.f.reads)


@pytest.fixture
def store(open_store: OpenStore) -> AnyStore:
    return open_store(wards)


def test_a_change_needs_the_right_to_update(store: AnyStore) -> None:
    note = store.run(Note(patient="ada", id="1").create())
    ada = store.as_principal("updater", patient="ada")
    assert ada.run(note.change(text="x")).text == "x"
    assert ada.run(note.update().increment(Note.f.reads)).reads == 1
    with pytest.raises(AccessDenied):
        ada.run(note.delete())
    bob = store.as_principal("updater", patient="bob")
    for denied in (note.change(text="y"), note.change()):
        with pytest.raises(AccessDenied):
            bob.run(denied)


def test_the_right_to_update_allows_a_change_of_nothing(store: AnyStore) -> None:
    note = store.run(Note(patient="ada", id="1").create())
    assert store.as_principal("updater", patient="ada").run(note.change()) == note


def test_an_upsert_also_needs_the_right_to_create(store: AnyStore, clock: Clock) -> None:
    upsert = counted.expiring_in(timedelta(hours=1)).or_create(text="new")
    ada = store.as_principal("writer", patient="ada")
    assert [ada.run(upsert).reads for _ in range(2)] == [1, 2]
    clock.advance(7200)
    assert ada.run(upsert).reads == 1
    with pytest.raises(AccessDenied):
        store.as_principal("updater", patient="ada").run(upsert)
    with pytest.raises(AccessDenied):
        store.as_principal("writer", patient="bob").run(upsert)
