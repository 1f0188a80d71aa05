"""Designs for the rules about indexes, besides those of the documentation."""

from datetime import datetime
from typing import Literal

from keyfold import (
    Entity,
    Expiry,
    Get,
    Index,
    Key,
    Page,
    Query,
    Request,
    Table,
    Update,
    batch,
    part,
)
from keyfold.requests import Chain, First
from tests.unit.analysis.lint.cases import RuleCases

# ruff: noqa: I002 - annotations name classes of functions, so they are evaluated where they stand
# Patterns are registered where they are declared.
# pyright: reportUnusedFunction=false, reportUnusedClass=false

cases = RuleCases()


@cases.passes("I01")
def has_no_patterns_at_all() -> Table:
    return Table("Notes", key=Key("pk"), indexes=[Index("NotesByDay", key=Key("day"))])


def _books(project: Literal["all", "keys"], *, fetches: bool, single: bool = False) -> Table:
    by_author = Index("BooksByAuthor", key=Key("author", "title"), project=project)
    table = Table("Library", key=Key("pk"), indexes=[by_author])

    class Book(Entity, table=table, key="BOOK#{isbn}"):
        isbn: str = part()
        author: str
        title: str
        summary: str

    @table.examples
    def examples() -> list[Book]:
        return [
            Book(isbn=f"{n}", author="Austen", title=f"Title {n}", summary="A summary. " * 20)
            for n in range(3)
        ]

    def fetch(found: Page[object]) -> Request[list[Book | None]]:
        return batch([each.get() for each in found])  # type: ignore[attr-defined]

    if single:

        @table.pattern("Book of an author")
        def book_of(author: str, title: str) -> Chain[Book | None]:
            found = Book.query(by_author, author=author, title=title).refs().first()
            return found.then(lambda each: each.get())

    elif fetches:

        @table.pattern("Books of an author")
        def books_of(author: str) -> Chain[list[Book | None]]:
            return Book.query(by_author, author=author).refs().then(fetch)

    else:

        @table.pattern("Books of an author")
        def all_books_of(author: str) -> Query[Book]:
            return Book.query(by_author, author=author)

    return table


@cases.finds("I03", "pattern 'Books of an author'")
def fetches_each_item_that_an_index_finds() -> Table:
    return _books("keys", fetches=True)


@cases.passes("I03")
def looks_up_one_item() -> Table:
    return _books("keys", fetches=True, single=True)


@cases.passes("I02")
def reads_whole_items() -> Table:
    return _books("all", fetches=False)


def _tickets(*, is_sparse: bool) -> Table:
    by_change = Index("TicketsByChange", key=Key("customer", "changed"))
    table = Table("Helpdesk", key=Key("pk"), indexes=[by_change])

    if is_sparse:

        class Ticket(Entity, table=table, key="TICKET#{ticket}"):
            ticket: str = part()
            customer: str
            changed: datetime | None = None

        @table.examples
        def examples() -> list[Ticket]:
            return [Ticket(ticket="1", customer="ada")]

        @table.pattern("Escalate")
        def escalate(ticket: str, at: datetime) -> Update[Ticket]:
            return Ticket.update(ticket=ticket).set(Ticket.f.changed, at)

    else:

        class OldTicket(Entity, table=table, key="TICKET#{ticket}"):
            ticket: str = part()
            customer: str
            changed: datetime

        @table.pattern("Change")
        def change(ticket: str, at: datetime) -> Update[OldTicket]:
            return OldTicket.update(ticket=ticket).set(OldTicket.f.changed, at)

    return table


@cases.finds("I04", "index TicketsByChange")
def sets_a_field_of_an_index_key() -> Table:
    return _tickets(is_sparse=False)


@cases.passes("I04")
def adds_items_to_a_sparse_index() -> Table:
    return _tickets(is_sparse=True)


@cases.passes("I05")
def shares_an_index_between_entities() -> Table:
    by_place = Index("ByPlace", key=Key("place", "name"))
    table = Table("Map", key=Key("pk"), indexes=[by_place])

    class Shop(
        Entity,
        table=table,
        key="SHOP#{shop}",
        indexes={by_place: ("{country}#{city}", "SHOP#{shop}")},
    ):
        shop: str = part()
        country: str
        city: str

    class Park(
        Entity,
        table=table,
        key="PARK#{park}",
        indexes={by_place: ("{country}#{city}", "PARK#{park}")},
    ):
        park: str = part()
        country: str
        city: str

    return table


def _events(*, per_partition: int | None = None, expires: bool = False) -> Table:
    by_kind = Index("EventsByKind", key=Key("pk", "kind"), local=True)
    ttl = "expires" if expires else None
    table = Table("Log", key=Key("pk", "sk"), indexes=[by_kind], ttl=ttl)

    if expires:

        class ShortEvent(Entity, table=table, key=("DEVICE#{device}", "{at}")):
            device: str = part()
            at: datetime = part()
            kind: str
            expires: Expiry

    else:

        class Event(Entity, table=table, key=("DEVICE#{device}", "{at}")):
            device: str = part()
            at: datetime = part()
            kind: str

        if per_partition is not None:
            table.expect(Event, per_partition=per_partition, bytes=500)
    return table


@cases.finds("I07", "index EventsByKind")
def has_a_local_index_on_what_grows() -> Table:
    return _events()


@cases.passes("I07")
def has_a_local_index_on_small_collections() -> Table:
    return _events(per_partition=1_000)


@cases.finds("I07", "index EventsByKind")
def has_a_local_index_on_large_collections() -> Table:
    return _events(per_partition=10_000_000)


@cases.passes("I07")
def has_a_local_index_on_what_expires() -> Table:
    return _events(expires=True)


@cases.finds("I08", "table Notes")
def has_four_local_indexes() -> Table:
    local = [Index(f"By-{name}", key=Key("pk", name), local=True) for name in "abcd"]
    return Table("Notes", key=Key("pk", "sk"), indexes=local)


def _orders(*indexes: Index) -> Table:
    table = Table("Shop", key=Key("pk"), indexes=indexes)

    class Order(Entity, table=table, key="ORDER#{order}"):
        order: str = part()
        customer: str
        day: str
        note: str | None = None

    return table


@cases.finds("I10", "index OrdersOfCustomer")
def has_two_equal_indexes() -> Table:
    return _orders(
        Index("OrdersByCustomer", key=Key("customer", "day")),
        Index("OrdersOfCustomer", key=Key("customer", "day")),
    )


@cases.finds("I10", "index OrdersByCustomer")
def has_an_index_that_another_continues() -> Table:
    return _orders(
        Index("OrdersByCustomer", key=Key("customer")),
        Index("OrdersByDay", key=Key("customer", "day")),
    )


@cases.passes("I10")
def has_a_sparse_index_beside_a_full_one() -> Table:
    return _orders(
        Index("OrdersByCustomer", key=Key("customer")),
        Index("NotedOrders", key=Key("customer", "note")),
    )


@cases.passes("I10")
def has_two_indexes_with_other_partitions() -> Table:
    return _orders(
        Index("OrderKeysByCustomer", key=Key("customer", "day"), project="keys"),
        Index("OrdersByDay", key=Key("day", "customer")),
    )


@cases.finds("I12", "index Index1", "index gsi-2", "index lsi_3")
def has_names_that_say_nothing() -> Table:
    names = ("gsi-2", "Index1", "lsi_3")
    return Table("Notes", key=Key("pk"), indexes=[Index(name, key=Key(name)) for name in names])


@cases.passes("I12")
def has_names_with_the_word() -> Table:
    names = ("IndexedBooks", "ReverseIndex", "ix-by-day")
    return Table("Notes", key=Key("pk"), indexes=[Index(name, key=Key(name)) for name in names])


def _notes(*, is_local: bool) -> Table:
    by_name = Index("NotesByName", key=Key("pk" if is_local else "user", "name"), local=is_local)
    table = Table("Notes", key=Key("pk", "sk"), indexes=[by_name])

    class Note(Entity, table=table, key=("USER#{user}", "NOTE#{note}")):
        user: str
        note: str = part()
        name: str

    @table.pattern("First note of a user")
    def first_note(user: str) -> First[Note]:
        return Note.query(by_name, user=user).consistent().first()

    @table.pattern("Note")
    def get_note(user: str, note: str) -> Get[Note]:
        return Note.get(user=user, note=note).consistent()

    return table


@cases.finds("I11", "pattern 'First note of a user'")
def reads_a_global_index_consistently() -> Table:
    return _notes(is_local=False)


@cases.passes("I11")
def reads_a_local_index_consistently() -> Table:
    return _notes(is_local=True)
