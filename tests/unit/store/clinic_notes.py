"""A ward with something of two patients' in it, and what one of them is denied."""

from __future__ import annotations

from typing import Any

import pytest

from keyfold.errors import AccessDenied
from keyfold.model import Request
from tests.unit.policy.clinic import File, Member, Note, Setting, Topic
from tests.unit.store.store_kinds import Side

# A note of bob's.
BOB = {"user": "bob", "id": "1"}


def note(user: str, number: str) -> Note:
    """Make a note of a patient's."""
    return Note(
        user=user, id=number, text=f"{user} {number}", rank=number, state="new", topic="flu"
    )


def fill(store: Side) -> Side:
    """Put something of ada's and of bob's into a store; return that."""
    for user in ("ada", "bob"):
        for number in ("1", "2", "3"):
            store.run(note(user, number).put())
        store.run(Member(user=user, email=f"{user}@example.com").create())
        store.run(File(user=user, box="left", name="scan").put())
    store.run(Topic(topic="flu", title="Flu").put())
    store.run(Setting(name="hours", value="9 to 5").put())
    store.calls.clear()
    return store


def deny(side: Side, request: Request[Any]) -> AccessDenied:
    """See a request be denied, and nothing be asked of the database."""
    before = len(side.calls)
    with pytest.raises(AccessDenied) as caught:
        side.run(request)
    assert len(side.calls) == before
    return caught.value
