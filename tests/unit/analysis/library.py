"""A small table to analyse: readers, their loans, and books found by an index."""

from __future__ import annotations

from datetime import date

from keyfold import Delete, Entity, Get, Index, Key, Put, Query, Scan, Table, Update, attr

DUE = date(2026, 1, 1)

by_title = Index("ByTitle", key=Key("title_key"))
table = Table("Library", key=Key("pk", "sk"), indexes=[by_title])


class Reader(Entity, table=table, key=("READER#{reader}", "READER")):
    reader: str
    name: str


class Loan(Entity, table=table, key=("READER#{reader}", "LOAN#{number:06}")):
    reader: str
    number: int
    due: date


class Book(
    Entity,
    table=table,
    key=("BOOK#{isbn}", "BOOK"),
    indexes={by_title: "TITLE#{title}"},
):
    isbn: str
    title: str
    note: str = attr(default="")


@table.examples
def examples() -> list[Entity]:
    return [
        Reader(reader="ada", name="Ada"),
        Loan(reader="ada", number=1, due=date(2026, 1, 1)),
        Book(isbn="978", title="Emma"),
    ]


@table.pattern("Get reader", rate="10/s", peak="40/s")
def get_reader(reader: str) -> Get[Reader]:
    return Reader.get(reader=reader)


@table.pattern("Loans of reader")
def loans_of(reader: str) -> Query[Loan]:
    return Loan.query(reader=reader)


@table.pattern("Last loans")
def last_loans(reader: str, count: int) -> Query[Loan]:
    return Loan.query(reader=reader).descending().limit(count)


@table.pattern("Add book")
def add_book(book: Book) -> Put[Book]:
    return book.create()


@table.pattern("Rename book")
def rename_book(isbn: str, title: str) -> Update[Book]:
    return Book.update(isbn=isbn).set(Book.f.title, title)


@table.pattern("Annotate book")
def annotate_book(isbn: str, note: str) -> Update[Book]:
    return Book.update(isbn=isbn).set(Book.f.note, note)


@table.pattern("Remove book")
def remove_book(isbn: str) -> Delete[Book]:
    return Book.delete(isbn=isbn)


@table.pattern("All books")
def all_books() -> Scan[Book]:
    return Book.scan()
