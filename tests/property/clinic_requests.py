"""Model requests on the clinic's table, and on a table with versions and expiry."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st
from pydantic import BaseModel

from keyfold.model import (
    Collection,
    Condition,
    Delete,
    Entity,
    Expiry,
    Get,
    Key,
    Put,
    Query,
    Request,
    Scan,
    Table,
    Update,
    Version,
    batch,
    now,
    part,
    transaction,
)
from keyfold.model._writes import Check
from keyfold.requests import Chain
from tests.unit.policy.clinic import (
    File,
    Member,
    Note,
    Setting,
    Topic,
    by_key,
    by_mix,
    by_owner,
    by_pair,
    by_state,
    by_text,
    clinic,
)

shelves = Table("Shelves", key=Key("pk"), ttl="ttl")


class Shelf(Entity, table=shelves, key="S#{id}"):
    id: str = part()
    books: int = 0
    version: Version = 0
    ttl: Expiry | None = None


class Summary(BaseModel):
    text: str


class Secrets(BaseModel):
    secret: str | None


class Counted(BaseModel):
    books: int


class Everything(Collection):
    members: list[Member]
    notes: list[Note]


OWN, FOREIGN = "ada", "bob"
NUMBERS = st.sampled_from("123")
TEXTS = st.sampled_from(["x", "y", "long " * 300])
MAYBE = st.none() | TEXTS
STATES = st.none() | st.sampled_from(["new", "done"])
TOPICS = st.none() | st.sampled_from(["flu", "pox"])


@st.composite
def conditions(draw: st.DrawFn) -> Condition:
    return draw(
        st.sampled_from(
            [
                Note.f.text.eq("x"),
                Note.f.secret.exists(),
                Note.f.text.begins_with("x") | Note.f.state.eq("new"),
                Note.f.text.ne("y") & Note.f.topic.not_exists(),
            ]
        )
    )


@st.composite
def notes(draw: st.DrawFn, users: st.SearchStrategy[str]) -> Note:
    return Note(
        user=draw(users),
        id=draw(NUMBERS),
        text=draw(TEXTS),
        secret=draw(MAYBE),
        state=draw(STATES),
        rank=draw(st.none() | NUMBERS),
        topic=draw(TOPICS),
    )


@st.composite
def puts(
    draw: st.DrawFn, users: st.SearchStrategy[str], emails: st.SearchStrategy[str]
) -> Put[Any]:
    match draw(st.sampled_from(["note", "note", "note", "file", "topic", "setting", "member"])):
        case "note":
            entity: Entity = draw(notes(users))
        case "file":
            entity = File(user=draw(users), box="left", name=draw(NUMBERS), size=draw(SIZES))
        case "topic":
            entity = Topic(topic=draw(st.sampled_from(["flu", "pox"])), title=draw(TEXTS))
        case "setting":
            entity = Setting(name=draw(NUMBERS), value=draw(TEXTS))
        case _:
            member = Member(user=draw(users), email=draw(emails), age=draw(SIZES))
            return member.create()
    put = draw(st.sampled_from([entity.put(), entity.create(), entity.replace()]))
    return put.where(draw(conditions())) if isinstance(entity, Note) and draw(ODD) else put


SIZES = st.integers(0, 99)
ODD = st.integers(0, 3).map(lambda number: number == 0)


@st.composite
def updates(
    draw: st.DrawFn, users: st.SearchStrategy[str], emails: st.SearchStrategy[str]
) -> Update[Any]:
    if draw(ODD):
        change = Member.update(user=draw(users))
        kind = draw(st.integers(0, 2))
        if kind == 0:
            return change.set(Member.f.email, draw(emails))
        return change.increment(Member.f.age) if kind == 1 else change.set(Member.f.age, 7)
    parts = {"user": draw(users), "id": draw(NUMBERS)}
    update = Note.update(**parts)
    makers: list[Callable[[Update[Note]], Update[Note]]] = [
        lambda made: made.set(Note.f.text, draw(TEXTS)),
        lambda made: made.set(Note.f.rank, draw(NUMBERS)),
        lambda made: made.remove(Note.f.state),
        lambda made: made.set(Note.f.topic, draw(TOPICS)),
        lambda made: made.set_if_absent(Note.f.secret, "x"),
    ]
    for make in draw(st.lists(st.sampled_from(makers), min_size=1, max_size=2, unique=True)):
        update = make(update)
    return update.where(draw(conditions())) if draw(ODD) else update


@st.composite
def deletes(draw: st.DrawFn, users: st.SearchStrategy[str]) -> Delete[Any]:
    user = draw(users)
    match draw(st.sampled_from(["note", "note", "member", "file"])):
        case "note":
            delete = Note.delete(user=user, id=draw(NUMBERS))
            return delete.where(draw(conditions())) if draw(ODD) else delete
        case "member":
            return Member.delete(user=user)
        case _:
            return File.delete(user=user, box="left", name=draw(NUMBERS))


@st.composite
def gets(draw: st.DrawFn, users: st.SearchStrategy[str]) -> Get[Any]:
    user, number = draw(users), draw(NUMBERS)
    note = Note.get(user=user, id=number)
    return draw(
        st.sampled_from(
            [
                note,
                note.consistent(),
                note.only(Summary),
                note.only(Secrets),
                Member.get(user=user),
                File.get(user=user, box="left", name=number),
                Topic.get(topic="flu"),
                Setting.get(name=number),
                clinic.get(pk=f"U#{user}", sk=f"N#{number}"),
                clinic.get(pk=f"keyfold#unique#Member#email#S#{user}@x", sk="keyfold#unique"),
            ]
        )
    )


@st.composite
def reads(draw: st.DrawFn, users: st.SearchStrategy[str]) -> Query[Any] | Scan[Any]:
    """Draw a query or a scan, of the table or of an index."""
    user = draw(users)
    notes_of = Note.query(user=user)
    made: Query[Any] | Scan[Any] = draw(
        st.sampled_from(
            [
                notes_of,
                notes_of.since("2"),
                notes_of.descending(),
                notes_of.only(Summary),
                notes_of.refs(),
                clinic.query(pk=f"U#{user}"),
                File.query(user=user, box="left"),
                Topic.query(topic="flu"),
                Note.query(by_owner, user=user),
                Note.query(by_owner, user=user).until("2"),
                Note.query(by_owner, user=user).only(Summary),
                Note.query(by_pair, user=user, topic="flu"),
                Note.query(by_text, user=user).since("x"),
                Member.query(by_key, user=user),
                Note.query(by_key, id="1"),
                Note.query(by_mix, user=user),
                Note.query(by_state, state="new"),
                clinic.scan(),
                Note.scan(by_owner),
                Note.scan().only(Summary),
            ]
        )
    )
    schema = made.shape.schema
    if (schema is None or schema.name == "Note") and draw(ODD):
        made = made.where(Note.f.secret.eq("x"))
    return made.limit(draw(st.integers(1, 2))) if draw(st.booleans()) else made


@st.composite
def writes(
    draw: st.DrawFn, users: st.SearchStrategy[str], emails: st.SearchStrategy[str]
) -> Put[Any] | Update[Any] | Delete[Any]:
    write = draw(st.one_of(puts(users, emails), updates(users, emails), deletes(users)))
    return write.returning_nothing() if draw(ODD) else write


@st.composite
def checks(draw: st.DrawFn, users: st.SearchStrategy[str]) -> Check:
    return Note.check(draw(conditions()), user=draw(users), id=draw(NUMBERS))


@st.composite
def plain_deletes(draw: st.DrawFn, users: st.SearchStrategy[str]) -> Delete[Note]:
    return Note.delete(user=draw(users), id=draw(NUMBERS))


@st.composite
def transactions(
    draw: st.DrawFn, users: st.SearchStrategy[str], emails: st.SearchStrategy[str]
) -> Request[Any]:
    if draw(ODD):
        found = draw(st.lists(gets(users), min_size=1, max_size=3))
        return transaction(*{repr(each.key): each for each in found}.values())
    members = draw(st.lists(writes(users, emails) | checks(users), min_size=1, max_size=3))
    made = transaction(*{repr(each.item_key): each for each in members}.values())
    return made.idempotent(draw(st.sampled_from(["one", "two"]))) if draw(ODD) else made


@st.composite
def batches(draw: st.DrawFn, users: st.SearchStrategy[str]) -> Request[Any]:
    plain = st.one_of(
        gets(users),
        notes(users).map(Note.put),
        plain_deletes(users),
    )
    return batch(draw(st.lists(plain, min_size=1, max_size=4)))


def find_note(number: str) -> Chain[Note | None]:
    """Look up any user's note with the table's own rights."""
    found = clinic.query(by_key, sk=f"N#{number}").descending().refs().first()
    return found.lookup_then(
        lambda ref: Note.get(user=ref.key["pk"]["S"].removeprefix("U#"), id=number)
    )


# The second step of chains.
NEXT = Note.query(user=OWN)


@st.composite
def clinic_requests(
    draw: st.DrawFn, users: st.SearchStrategy[str], emails: st.SearchStrategy[str]
) -> Request[Any]:
    """Draw a request of any kind."""
    paged = reads(users)
    return draw(
        st.one_of(
            gets(users),
            writes(users, emails),
            writes(users, emails),
            paged,
            paged.map(lambda read: read.first()),
            paged.map(lambda read: read.count()),
            notes(users).map(lambda note: note.create().or_get()),
            users.map(lambda user: Everything.get(user=user)),
            transactions(users, emails),
            batches(users),
            gets(users).map(lambda get: get.map(lambda found, _: found)),
            users.map(lambda user: Note.get(user=user, id="1").then(lambda _: NEXT)),
        )
    )


def shelf_requests() -> st.SearchStrategy[Request[Any]]:
    """Requests on a table whose items have versions and expire."""
    shelf, seen = Shelf(id="1"), Shelf(id="1", version=3)
    change = Shelf.update(id="1")
    return st.sampled_from(
        [
            shelf.put(),
            seen.put(),
            seen.replace(),
            seen.put().expiring_in(timedelta(hours=1)),
            change.increment(Shelf.f.books),
            change.set(Shelf.f.books, 3).expiring_in(timedelta(hours=1)),
            change.set(Shelf.f.ttl, now),
            Shelf.delete(id="1"),
            Shelf.delete(id="1").where(Shelf.f.books.eq(3)),
            Shelf.get(id="1"),
            Shelf.get(id="1").only(Counted),
            Shelf.query(id="1"),
            transaction(seen.put(), Shelf.check(Shelf.f.books.eq(3), id="2")),
        ]
    )
