"""Designs for the rules about what patterns write."""

from typing import Any

from keyfold import (
    Entity,
    Get,
    Key,
    Put,
    Request,
    Table,
    Transaction,
    Ulid,
    Update,
    attr,
    batch,
    part,
    transaction,
)
from keyfold.requests import Chain
from tests.unit.analysis.lint.cases import RuleCases

# ruff: noqa: I002 - annotations name classes of functions, so they are evaluated where they stand
# Patterns are registered where they are declared.
# pyright: reportUnusedFunction=false

cases = RuleCases()


def _accounts(token: str | None = None, *, is_unique: bool = False) -> Table:
    table = Table("Accounts", key=Key("pk"))
    unique = "email" if is_unique else ()

    class Account(Entity, table=table, key="ACCOUNT#{account}", unique=unique):
        account: str
        email: str

    @table.pattern("Change address")
    def change(account: str, email: str) -> Transaction:
        changed = Account.update(account=account).set(Account.f.email, email)
        return transaction(changed, token=token)

    return table


@cases.finds("P07", "pattern 'Change address'")
def has_a_transaction_of_one_item() -> Table:
    return _accounts()


@cases.passes("P07")
def has_a_transaction_with_a_token() -> Table:
    return _accounts("a-token")


@cases.passes("P07")
def has_a_transaction_that_writes_guards_too() -> Table:
    return _accounts(is_unique=True)


def _lines(*, in_batch: bool) -> Table:
    table = Table("Orders", key=Key("pk", "sk"))

    class Line(Entity, table=table, key=("ORDER#{order}", "LINE#{line:03}")):
        order: str = part()
        line: int = part()
        sku: str = ""

    @table.pattern("Save lines")
    def save(lines: list[Line]) -> Request[Any]:
        puts = [line.put() for line in lines]
        return batch(puts) if in_batch else transaction(*puts)

    return table


@cases.finds("P08", "pattern 'Save lines'")
def has_a_transaction_as_long_as_a_list() -> Table:
    return _lines(in_batch=False)


@cases.passes("P08")
def has_a_batch_as_long_as_a_list() -> Table:
    return _lines(in_batch=True)


def _documents(size_bytes: int) -> Table:
    table = Table("Documents", key=Key("pk"))

    class Document(Entity, table=table, key="DOCUMENT#{name}"):
        name: str
        pages: int = 0

    table.expect(Document, bytes=size_bytes)

    @table.pattern("Touch all")
    def touch(name: str) -> Transaction:
        return transaction(
            *(
                Document.update(name=f"{name}-{number}").set(Document.f.pages, number)
                for number in range(20)
            )
        )

    return table


@cases.finds("P08", "pattern 'Touch all'")
def has_a_transaction_of_large_items() -> Table:
    return _documents(300_000)


@cases.passes("P08")
def has_a_transaction_of_smaller_items() -> Table:
    return _documents(30_000)


class NoteId(Ulid, prefix="N"):
    pass


def _notes(name: str, *, creates: bool = False, has_own_id: bool = False) -> Table:
    table = Table("Notes", key=Key("pk"))
    default: Any = {"default_factory": NoteId.new} if has_own_id else {}

    class Note(Entity, table=table, key="NOTE#{note}"):
        note: NoteId = part(**default)
        text: str

    @table.pattern(name)
    def write(note: Note) -> Put[Note]:
        return note.create() if creates else note.put()

    return table


@cases.finds("P10", "pattern 'Create a note'")
def creates_with_a_put() -> Table:
    return _notes("Create a note")


@cases.passes("P10")
def creates_with_a_condition() -> Table:
    return _notes("Create a note", creates=True)


@cases.passes("P10")
def saves_with_a_put() -> Table:
    return _notes("Save a note")


@cases.passes("P10")
def creates_what_has_a_new_id() -> Table:
    return _notes("Create a note", has_own_id=True)


@cases.passes("P10")
def adds_what_is_only_a_key() -> Table:
    table = Table("Members", key=Key("pk", "sk"))

    class Member(Entity, table=table, key=("GROUP#{group}", "USER#{user}")):
        group: str = part()
        user: str = part()

    @table.pattern("Add member")
    def add(member: Member) -> Put[Member]:
        return member.put()

    return table


def _profiles() -> Table:
    table = Table("Profiles", key=Key("pk"))

    class Profile(Entity, table=table, key="USER#{user}"):
        user: str = part()
        name: str
        visits: int = 0

    @table.pattern("Profile")
    def profile(user: str) -> Get[Profile]:
        return Profile.get(user=user)

    return table


@cases.finds(
    "P11",
    "entity Profile",
    items=[
        {"pk": {"S": "USER#ada"}, "name": {"S": "Ada"}, "visits": {"N": "3"}},
        {"pk": {"S": "USER#bob"}, "visits": {"N": "1"}},
    ],
)
def has_items_that_an_update_made() -> Table:
    return _profiles()


@cases.passes("P11", items=[{"pk": {"S": "USER#ada"}, "name": {"S": "Ada"}}])
def has_items_without_what_has_a_default() -> Table:
    return _profiles()


def _counter(key: str, *, peak: str | None = None) -> Table:
    table = Table("Site", key=Key("pk"))

    class Visits(Entity, table=table, key=key):
        page: str = "home"
        count: int = 0

    @table.pattern("Count visit", peak=peak, rate=None if peak is None else "1/s")
    def count(page: str) -> Update[Visits]:
        key = {"page": page} if "page" in Visits.keyfold_schema().key_fields else {}
        return Visits.update(**key).increment(Visits.f.count)

    return table


@cases.finds("P12", "pattern 'Count visit'")
def counts_in_one_item() -> Table:
    return _counter("VISITS")


@cases.finds("P12", "pattern 'Count visit'")
def counts_often_in_one_item() -> Table:
    return _counter("VISITS", peak="2k/s")


@cases.passes("P12")
def counts_seldom_in_one_item() -> Table:
    return _counter("VISITS", peak="5/s")


@cases.passes("P12")
def counts_by_page() -> Table:
    return _counter("VISITS#{page}")


def _songs(*, reads_back: bool) -> Table:
    table = Table("Songs", key=Key("pk"))

    class Song(Entity, table=table, key="SONG#{song}"):
        song: str
        plays: int = attr(default=0)

    @table.pattern("Play")
    def play(song: str) -> Chain[Any] | Update[Song]:
        played = Song.update(song=song).increment(Song.f.plays)
        return played.then(lambda _: Song.get(song=song)) if reads_back else played

    return table


@cases.finds("P14", "pattern 'Play'")
def reads_what_it_has_written() -> Table:
    return _songs(reads_back=True)


@cases.passes("P14")
def uses_what_the_write_returns() -> Table:
    return _songs(reads_back=False)
