"""A clinic with data of two patients, and a check that a request is denied."""

from __future__ import annotations

from typing import Any

import pytest

from keyfold.errors import AccessDenied
from keyfold.model import Request
from tests.unit.policy.clinic import File, Member, Note, Setting, Topic
from tests.unit.store.store_kinds import AnyStore

# The key of one of bob's notes.
BOB = {"user": "bob", "id": "1"}


def note(user: str, number: str) -> Note:
    """Return a note of a patient."""
    return Note(
        user=user, id=number, text=f"{user} {number}", rank=number, state="new", topic="flu"
    )


def fill(store: AnyStore) -> AnyStore:
    """Put data of ada and of bob into a store; return the store."""
    for user in ("ada", "bob"):
        for number in ("1", "2", "3"):
            store.run(note(user, number).put())
        store.run(Member(user=user, email=f"{user}@example.com").create())
        store.run(File(user=user, box="left", name="scan").put())
    store.run(Topic(topic="flu", title="Flu").put())
    store.run(Setting(name="hours", value="9 to 5").put())
    store.calls.clear()
    return store


def deny(store: AnyStore, request: Request[Any]) -> AccessDenied:
    """Check that a request is denied before any call; return the denial."""
    before = len(store.calls)
    with pytest.raises(AccessDenied) as caught:
        store.run(request)
    assert len(store.calls) == before
    return caught.value
