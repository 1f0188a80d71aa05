"""Designs for the rules about what patterns read, and how often."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from keyfold import (
    Collection,
    Entity,
    Get,
    Index,
    Key,
    Query,
    Request,
    Scan,
    Table,
    Ulid,
    Update,
    attr,
    part,
)
from keyfold.requests import Chain, CollectionGet, Count, First
from tests.unit.analysis.lint.cases import RuleCases

# ruff: noqa: I002 - annotations name classes of functions, so they are evaluated where they stand
# Patterns are registered where they are declared.
# pyright: reportUnusedFunction=false

cases = RuleCases()


class EventId(Ulid, prefix="E"):
    pass


@cases.finds("P01", "pattern 'All notes'")
def scans_a_table() -> Table:
    table = Table("Notes", key=Key("pk"))

    class Note(Entity, table=table, key="NOTE#{note}"):
        note: str

    @table.pattern("All notes")
    def all_notes() -> Scan[Note]:
        return Note.scan()

    return table


@cases.passes("P01")
def queries_a_partition() -> Table:
    table = Table("Notes", key=Key("pk", "sk"))

    class Note(Entity, table=table, key=("USER#{user}", "NOTE#{note}")):
        user: str
        note: str

    @table.pattern("Notes of user")
    def notes(user: str) -> Query[Note]:
        return Note.query(user=user)

    return table


def _events(
    *, limit: int | None = None, per_partition: int | None = None, sort: str = "{event}"
) -> Table:
    table = Table("Events", key=Key("pk", "sk"))

    class Event(Entity, table=table, key=("DEVICE#{device}", sort)):
        device: str = part()
        event: EventId = part()
        kind: str = "other"

    if per_partition is not None:
        table.expect(Event, per_partition=per_partition)

    @table.pattern("Events of device")
    def events(device: str) -> Query[Event]:
        query = Event.query(device=device)
        return query if limit is None else query.limit(limit)

    return table


@cases.finds("P02", "pattern 'Events of device'")
def reads_all_of_a_growing_partition() -> Table:
    return _events()


@cases.finds("P02", "pattern 'Events of device'")
def reads_all_of_a_large_partition() -> Table:
    return _events(per_partition=5_000)


@cases.passes("P02")
def reads_all_of_a_small_partition() -> Table:
    return _events(per_partition=20)


@cases.passes("P02")
def reads_a_page() -> Table:
    return _events(limit=25, per_partition=5_000)


@cases.passes("P02")
def reads_a_range_that_its_caller_ends() -> Table:
    table = Table("Events", key=Key("pk", "sk"))

    class Event(Entity, table=table, key=("DEVICE#{device}", "{at}")):
        device: str = part()
        at: datetime = part()

    @table.pattern("Events between")
    def events(device: str, since: datetime, until: datetime) -> Query[Event]:
        return Event.query(device=device).between(since, until)

    return table


@cases.passes("P02")
def reads_a_sparse_index_that_items_leave() -> Table:
    due = Index("Due", key=Key("queue", "due"))
    table = Table("Jobs", key=Key("pk"), indexes=[due])

    class Job(Entity, table=table, key="JOB#{job}"):
        job: str = part()
        queue: str
        due: datetime | None = None

    @table.pattern("Jobs that are due")
    def jobs(queue: str) -> Query[Job]:
        return Job.query(due, queue=queue)

    return table


@cases.finds("P02", "pattern 'Count events'")
def counts_a_growing_partition() -> Table:
    table = Table("Events", key=Key("pk", "sk"))

    class Event(Entity, table=table, key=("DEVICE#{device}", "{event}")):
        device: str = part()
        event: EventId = part()

    @table.pattern("Count events")
    def count(device: str) -> Count:
        return Event.query(device=device).count()

    return table


def _orders(line: str, *, per_order: int) -> Table:
    table = Table("Orders", key=Key("pk", "sk"))

    class Order(Entity, table=table, key=("CUSTOMER#{customer}", "ORDER#{order:06}")):
        customer: str = part()
        order: int = part()

    class Line(Entity, table=table, key=("CUSTOMER#{customer}", line)):
        customer: str = part()
        order: int = part()
        number: int = part()

    table.expect(Order, per_partition=10)
    table.expect(Line, per_partition=10 * per_order)

    @table.pattern("Orders of customer")
    def orders(customer: str) -> Query[Order]:
        return Order.query(customer=customer)

    return table


@cases.finds("P03", "pattern 'Orders of customer'")
def reads_the_lines_between_the_orders() -> Table:
    return _orders("ORDER#{order:06}#{number:03}", per_order=4)


@cases.passes("P03")
def keeps_lines_under_keys_of_their_own() -> Table:
    return _orders("LINE#{order:06}#{number:03}", per_order=4)


def _tickets() -> Table:
    table = Table("Tickets", key=Key("pk", "sk"))

    class Ticket(Entity, table=table, key=("DESK#{desk}", "{number:06}")):
        desk: str = part()
        number: int = part()
        is_open: bool = True

    @table.pattern("Open tickets")
    def tickets(desk: str) -> Query[Ticket]:
        return Ticket.query(desk=desk).where(Ticket.f.is_open.eq(True))

    return table


def _stored_tickets(*, open_from: int) -> list[Any]:
    return [
        {
            "pk": {"S": "DESK#1"},
            "sk": {"S": f"{number:06}"},
            "is_open": {"BOOL": number >= open_from},
        }
        for number in range(40)
    ]


@cases.finds("P03", "pattern 'Open tickets'", items=_stored_tickets(open_from=38))
def filters_most_of_what_it_reads() -> Table:
    return _tickets()


@cases.passes("P03", items=_stored_tickets(open_from=4))
def filters_a_little() -> Table:
    return _tickets()


@cases.finds("P03", "pattern 'Next open ticket'")
def looks_for_the_first_that_a_filter_lets_through() -> Table:
    table = Table("Tickets", key=Key("pk", "sk"))

    class Ticket(Entity, table=table, key=("DESK#{desk}", "{number:06}")):
        desk: str = part()
        number: int = part()
        is_open: bool = True

    @table.pattern("Next open ticket")
    def next_ticket(desk: str) -> First[Ticket]:
        return Ticket.query(desk=desk).where(Ticket.f.is_open.eq(True)).first()

    return table


@cases.passes("P03")
def reads_a_collection_of_which_it_returns_everything() -> Table:
    table = Table("Orders", key=Key("pk", "sk"))

    class Order(Entity, table=table, key=("ORDER#{order}", "ORDER")):
        order: str = part()

    class Line(Entity, table=table, key=("ORDER#{order}", "ORDER#{number:03}")):
        order: str = part()
        number: int = part()

    class WholeOrder(Collection):
        order: Order
        lines: list[Line]

    table.expect(Line, per_partition=30)

    @table.pattern("Order")
    def whole(order: str) -> CollectionGet[WholeOrder]:
        return WholeOrder.get(order=order)

    return table


@cases.finds("P04", "table Notes", "table Notes")
def has_no_rates() -> Table:
    return queries_a_partition()


@cases.passes("P04")
def has_rates_and_sizes() -> Table:
    table = Table("Notes", key=Key("pk"))

    class Note(Entity, table=table, key="NOTE#{note}"):
        note: str

    table.expect(Note, items="2M")

    @table.pattern("Note", rate="5/s")
    def note(note: str) -> Get[Note]:
        return Note.get(note=note)

    return table


def _users(*, reads: bool) -> Table:
    table = Table("Users", key=Key("pk"))

    class User(Entity, table=table, key="USER#{user}"):
        user: str

    class Visit(Entity, table=table, key="VISIT#{visit}"):
        visit: str
        page: str

    @table.pattern("Save user")
    def save_user(user: User) -> Request[User]:
        return user.put()

    @table.pattern("User")
    def user(user: str) -> Get[User]:
        return User.get(user=user)

    @table.pattern("Record visit")
    def record(visit: Visit) -> Request[Visit]:
        return visit.create()

    if reads:

        @table.pattern("Visit")
        def visit(visit: str) -> Get[Visit]:
            return Visit.get(visit=visit)

    return table


@cases.finds("P05", "entity Visit")
def never_reads_an_entity() -> Table:
    return _users(reads=False)


@cases.passes("P05")
def reads_and_writes_each_entity() -> Table:
    return _users(reads=True)


@cases.finds("P05", "entity Note")
def never_writes_an_entity() -> Table:
    return queries_a_partition()


def _readers(strong: int) -> Table:
    table = Table("Shop", key=Key("pk"))

    class Product(Entity, table=table, key="PRODUCT#{sku}"):
        sku: str
        price: Decimal = Decimal(1)

    def add(number: int) -> None:
        @table.pattern(f"Read {number}")
        def read(sku: str) -> Get[Product]:
            found = Product.get(sku=sku)
            return found.consistent() if number < strong else found

    for number in range(5):
        add(number)
    return table


@cases.finds("P06", "table Shop")
def reads_strongly_by_habit() -> Table:
    return _readers(strong=4)


@cases.passes("P06")
def reads_strongly_where_it_has_to() -> Table:
    return _readers(strong=2)


@cases.passes("P06")
def reads_strongly_after_an_index() -> Table:
    by_name = Index("ByName", key=Key("name"), project="keys")
    table = Table("People", key=Key("pk"), indexes=[by_name])

    class Person(Entity, table=table, key="PERSON#{person}"):
        person: str
        name: str

    def add(number: int) -> None:
        @table.pattern(f"Find {number}")
        def find(name: str) -> Chain[Person | None]:
            found = Person.query(by_name, name=name).refs().first()
            return found.then(lambda ref: ref.get().consistent())

    for number in range(4):
        add(number)
    return table


def _steps(count: int) -> Table:
    table = Table("Links", key=Key("pk"))

    class Link(Entity, table=table, key="LINK#{link}"):
        link: str
        target: str

    def follow(link: Any, left: int) -> Request[Any]:
        found = Link.get(link=link)
        return found.then(lambda one: follow(one.target, left - 1)) if left > 1 else found

    @table.pattern("Follow")
    def follow_all(link: str) -> Request[Any]:
        return follow(link, count)

    return table


@cases.finds("P09", "pattern 'Follow'")
def makes_five_requests() -> Table:
    return _steps(5)


@cases.passes("P09")
def makes_four_requests() -> Table:
    return _steps(4)


@cases.finds("P13", "pattern 'Feed'")
def spends_most_on_one_pattern() -> Table:
    return _feed(feed="100/s")


@cases.passes("P13")
def spends_evenly() -> Table:
    return _feed(feed="20/s")


def _feed(*, feed: str) -> Table:
    table = Table("Feed", key=Key("pk", "sk"))

    class Post(Entity, table=table, key=("USER#{user}", "POST#{post}")):
        user: str
        post: str
        likes: int = attr(default=0)

    @table.pattern("Feed", rate=feed)
    def read(user: str) -> Query[Post]:
        return Post.query(user=user)

    @table.pattern("Post", rate="2/s")
    def write(post: Post) -> Request[Post]:
        return post.create()

    @table.pattern("Like", rate="2/s")
    def count(user: str, post: str) -> Update[Post]:
        return Post.update(user=user, post=post).increment(Post.f.likes)

    @table.pattern("One post", rate="5/s")
    def one(user: str, post: str) -> Get[Post]:
        return Post.get(user=user, post=post)

    return table
