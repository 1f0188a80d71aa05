"""A table of notes, whose owners are tenants, for tests of agents' tools."""

from __future__ import annotations

from keyfold import ALL, READ, Delete, Entity, Get, Key, Put, Query, Request, Role, Table, Update
from keyfold.service import Caller

journal = Table("AgentJournal", key=Key("pk", "sk"))


class JournalNote(Entity, table=journal, key=("USER#{user}", "NOTE#{number:06}")):
    user: str
    number: int
    text: str = ""
    topic: str = "none"


@journal.pattern("Note of a number", example={"user": "ada", "number": 1})
def note_of(user: str, number: int) -> Get[JournalNote]:
    """Get one note."""
    return JournalNote.get(user=user, number=number)


@journal.pattern("Notes of a user")
def notes_of(user: str, topic: str | None = None) -> Query[JournalNote]:
    """Query the notes of a user, those of one topic if it is given."""
    query = JournalNote.query(user=user)
    return query if topic is None else query.where(JournalNote.f.topic.eq(topic))


@journal.pattern("First notes of a user")
def first_notes(user: str, limit: int) -> Query[JournalNote]:
    return JournalNote.query(user=user).limit(limit)


@journal.pattern("A note and the next")
def note_and_next(user: str, number: int) -> Request[JournalNote | None]:
    """Get a note, then the one after it."""
    return JournalNote.get(user=user, number=number).then(
        lambda found: JournalNote.get(user=user, number=found.number + 1)
    )


@journal.pattern("Write a note")
def write_note(note: JournalNote) -> Put[JournalNote]:
    return note.create()


@journal.pattern("Change a note")
def change_note(user: str, number: int, text: str) -> Update[JournalNote]:
    return JournalNote.update(user=user, number=number).set(JournalNote.f.text, text)


@journal.pattern("Delete a note")
def delete_note(user: str, number: int) -> Delete[JournalNote]:
    return JournalNote.delete(user=user, number=number)


journal.add_role(Role("owner", tenant="user", can={JournalNote: ALL}))
journal.add_role(Role("visitor", tenant="user", can={JournalNote: READ}))

ADA, BOB = (Caller(("owner",), {"user": user}) for user in ("ada", "bob"))
