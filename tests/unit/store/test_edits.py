"""Editing an entity that was read: update, change, delete, refresh."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from keyfold.errors import ConditionFailed, NotFound, UniqueTaken, VersionConflict
from keyfold.model import Entity, Index, Key, Table, Version, attr, part, transaction
from tests.unit.model.shop import Status, Ticket, User, by_status
from tests.unit.model.test_edits import Label, Parcel, by_state, table
from tests.unit.store.store_kinds import START, AnyStore, OpenStore


def parcel(**fields: Any) -> Parcel:
    return Parcel(shop="x", number=7, **fields)


def ticket(**fields: Any) -> Ticket:
    return Ticket(team="a", number=7, title="x", opened=START, **fields)


@pytest.mark.indexes
def test_a_change_returns_the_entity_as_stored(open_store: OpenStore) -> None:
    store = open_store(table)
    held = store.run(parcel(depot="d").create())
    changed = store.run(held.change(state="sent", weight=3))
    assert (changed.state, changed.weight, changed.cost) == ("sent", 3, 6)
    assert store.run(held.refresh()) == changed
    [sent] = store.run_until(Parcel.query(by_state, state="sent", depot="d"), len)
    assert sent.number == 7
    assert not store.run(Parcel.query(by_state, state="new", depot="d"))


def test_a_change_of_something_outdated_fails(open_store: OpenStore) -> None:
    store = open_store(table)
    held = store.run(parcel(depot="d").create())
    store.run(held.change(note="first"))
    with pytest.raises(VersionConflict, match="note changed since it was read") as failure:
        store.run(held.change(note="second"))
    assert failure.value.found == store.run(held.refresh())
    # What the change is not based on may have changed.
    changed = store.run(held.change(state="sent"))
    assert (changed.state, changed.note) == ("sent", "first")
    store.run(held.change(limit=50))
    with pytest.raises(VersionConflict, match="limit changed"):
        store.run(held.change(weight=80))
    with pytest.raises(VersionConflict, match="state changed"):
        store.run(held.update().set(Parcel.f.depot, "e"))


def test_another_condition_of_a_change_is_no_conflict(open_store: OpenStore) -> None:
    store = open_store(table)
    held = store.run(parcel(note="a").create())
    with pytest.raises(ConditionFailed, match="the condition does not hold") as failure:
        store.run(held.change(note="b").where(Parcel.f.state.eq("sent")))
    assert not isinstance(failure.value, VersionConflict)


def test_a_change_of_an_absent_entity_fails(open_store: OpenStore) -> None:
    store = open_store(table)
    for change in (parcel().change(note="x"), parcel().change(), parcel().change(state="new")):
        with pytest.raises(NotFound):
            store.run(change)


def test_a_change_of_nothing_returns_the_stored_entity(open_store: OpenStore) -> None:
    store = open_store(table)
    held = store.run(parcel().create())
    store.run(held.change(note="x"))
    assert store.run(held.change(state="new")).note == "x"
    assert store.run(Parcel.update(shop="x", number=7).set_from({})).note == "x"
    with pytest.raises(ConditionFailed):
        store.run(held.change().where(Parcel.f.note.eq("y")))
    assert store.run(transaction(held.change())) == [None]


def test_values_in_another_form_are_what_was_seen(open_store: OpenStore) -> None:
    store = open_store(table)
    # Written without the default inside the label, without `state`, and without sorting.
    store.execute(
        "PutItem",
        {
            "TableName": table.name,
            "Item": {
                "pk": {"S": "SHOP#x"},
                "sk": {"S": "PARCEL#0007"},
                "depot": {"S": "d"},
                "label": {"M": {"text": {"S": "l"}}},
            },
        },
    )
    held = store.run(Parcel.get(shop="x", number=7))
    assert held is not None
    assert held.label == Label(text="l")
    changed = store.run(held.change(label=Label(text="m"), state="sent"))
    assert changed.label == Label(text="m")
    with pytest.raises(VersionConflict, match="label changed"):
        store.run(held.change(label=Label(text="n")))
    with pytest.raises(ConditionFailed, match="the condition does not hold"):
        store.run(changed.change(label=None).where(Parcel.f.state.eq("x")))


@pytest.mark.indexes
def test_edits_of_an_instance_compare_its_version(store: AnyStore) -> None:
    held = store.run(ticket(status=Status.OPEN).create())
    changed = store.run(held.update().set(Ticket.f.status, Status.DONE))
    assert changed.version == 2
    assert len(store.run_until(Ticket.query(by_status, status=Status.DONE, team="a"), len)) == 1
    for edit in (held.change(title="y"), held.update().set(Ticket.f.title, "y"), held.delete()):
        with pytest.raises(VersionConflict, match="read with version 1, and now has 2"):
            store.run(edit)
    assert store.run(changed.delete()) == changed
    assert store.run(changed.delete()) is None
    with pytest.raises(NotFound):
        store.run(changed.change(title="y"))


def test_the_version_of_another_entity_with_the_key_is_not_enough(open_store: OpenStore) -> None:
    store = open_store(jobs)
    held = store.run(Task(name="a", state="new", place="x").create())
    store.run(held.delete())
    store.run(Task(name="a", state="new", place="y").create())
    for edit in (held.change(state="done"), held.update().set(Task.f.state, "done")):
        with pytest.raises(VersionConflict, match="place changed since it was read"):
            store.run(edit)


def test_a_change_of_a_unique_field_moves_its_guard(store: AnyStore) -> None:
    ada = store.run(User(name="ada", email="a@x").create())
    bob = store.run(User(name="bob", email="b@x").create())
    with pytest.raises(UniqueTaken):
        store.run(bob.change(email="a@x"))
    assert store.run(ada.change(email="c@x")).email == "c@x"
    assert store.run(bob.change(email="a@x", note="n")).note == "n"
    with pytest.raises(ConditionFailed):
        store.run(ada.change(email="d@x"))


by_due = Index("ByDue", key=Key("due"))
jobs = Table("Jobs", key=Key("pk"), indexes=[by_due])


class Job(Entity, table=jobs, key="J#{name}"):
    name: str = part()
    due: str | None = None
    total: Decimal = attr(default=Decimal(0))


class Task(Entity, table=jobs, key="T#{name}", indexes={by_due: "{state}#{place}"}):
    name: str = part()
    state: str
    place: str
    version: Version = 0


def test_an_instance_can_leave_a_sparse_index(open_store: OpenStore) -> None:
    store = open_store(jobs)
    job = store.run(Job(name="a", due="x").create())
    assert store.run(job.change(due=None)).due is None
    assert not store.run(Job.query(by_due, due="x"))


def test_a_change_expects_a_default_that_was_written(open_store: OpenStore) -> None:
    defaults = Table("Defaults", key=Key("pk"))

    class Draft(Entity, table=defaults, key="D#{id}"):
        id: str = part()
        note: str | None = "empty"
        tags: set[str] = attr(default_factory=lambda: {"new"})

    store = open_store(defaults)
    draft = store.run(Draft(id="1").create())
    # A missing attribute is read as None or an empty set, not as the default.
    store.run(Draft.update(id="1").remove(Draft.f.note).remove(Draft.f.tags))
    with pytest.raises(VersionConflict, match="note changed"):
        store.run(draft.change(note="x"))
    with pytest.raises(VersionConflict, match="tags changed"):
        store.run(draft.change(tags={"x"}))
