"""Designs for the rules about keys, besides those of the documentation."""

from datetime import date, datetime
from typing import Any, Literal

from keyfold import (
    ALL,
    Entity,
    Index,
    Key,
    Put,
    Query,
    Role,
    Table,
    Ulid,
    attr,
    part,
)
from tests.unit.analysis.lint.cases import RuleCases

# ruff: noqa: I002 - annotations name classes of functions, so they are evaluated where they stand
# Patterns are registered where they are declared.
# pyright: reportUnusedFunction=false, reportUnusedClass=false

cases = RuleCases()


class EventId(Ulid, prefix="E"):
    pass


def _queue(rate: str | None = None) -> Table:
    """Return a table whose index has one partition, and a pattern that writes there."""
    waiting = Index("Waiting", key=Key("queue", "since"))
    table = Table("Clinic", key=Key("pk"), indexes=[waiting])

    class Patient(Entity, table=table, key="PATIENT#{patient}"):
        patient: str = part()
        queue: Literal["waiting"] | None
        since: datetime

    @table.pattern("Arrive", rate=rate)
    def arrive(patient: Patient) -> Put[Patient]:
        return patient.create()

    return table


@cases.finds("K01", "index Waiting")
def has_an_index_with_one_partition() -> Table:
    return _queue()


@cases.passes("K01")
def has_an_index_with_one_partition_that_stays_cold() -> Table:
    return _queue("20/s")


@cases.finds("K01", "index Waiting")
def has_an_index_with_one_partition_that_gets_warm() -> Table:
    return _queue("200/s")


@cases.finds("K01", "entity Setting")
def has_a_constant_partition_with_many_items() -> Table:
    table = Table("Settings", key=Key("pk", "sk"))

    class Setting(Entity, table=table, key=("SETTINGS", "{name}")):
        name: str = part()

    return table


@cases.finds("K02", "entity Reading")
def has_a_month_as_text() -> Table:
    table = Table("Meters", key=Key("pk", "sk"))

    class Reading(Entity, table=table, key=("{year:04}-{month:02}", "{meter}")):
        year: int = part()
        month: int = part()
        meter: str = part()

    return table


@cases.passes("K02")
def has_one_item_a_day() -> Table:
    table = Table("Calendar", key=Key("pk"))

    class Day(Entity, table=table, key="DAY#{day}"):
        day: date = part()
        note: str

    return table


def _products(*, items: int, peak: str) -> Table:
    table = Table("Shop", key=Key("pk"))

    class Product(Entity, table=table, key="PRODUCT#{sku}"):
        sku: str = part()

    table.expect(Product, items=items)

    @table.pattern("Change a product", rate="1/s", peak=peak)
    def change(product: Product) -> Put[Product]:
        return product.put()

    return table


@cases.passes("K03")
def spreads_writes_over_many_keys() -> Table:
    return _products(items=1_000, peak="5k/s")


@cases.finds("K03", "entity Product")
def spreads_writes_over_few_keys() -> Table:
    return _products(items=4, peak="5k/s")


def _notes(*, rate: str) -> Table:
    """Return a table with a fallback, and an entity whose items have one partition."""
    table = Table("Notes", key=Key("pk", "sk"))

    class Anything(Entity, table=table, key=("{kind}", "{name}"), fallback=True):
        kind: str = part()
        name: str = part()

    class Setting(Entity, table=table, key=("SETTING", "{name}")):
        name: str = part()

    @table.pattern("Change a setting", rate=rate)
    def change(setting: Setting) -> Put[Setting]:
        return setting.put()

    return table


@cases.passes("K01")
def has_one_partition_that_stays_cold_beside_a_fallback() -> Table:
    return _notes(rate="20/s")


@cases.finds("K01", "entity Setting")
def has_one_partition_that_gets_warm_beside_a_fallback() -> Table:
    return _notes(rate="200/s")


def _lines(*numbers: str, ordered: bool) -> Table:
    table = Table("Shop", key=Key("pk", "sk"))

    class Line(Entity, table=table, key=("ORDER#{order}", "LINE#{number}")):
        order: str = part()
        number: str = part()

    @table.examples
    def examples() -> list[Line]:
        return [Line(order="a", number=number) for number in numbers]

    @table.pattern("Lines of an order")
    def lines_of(order: str) -> Query[Line]:
        query = Line.query(order=order)
        return query.descending() if ordered else query

    return table


@cases.finds("K06", "entity Line")
def orders_by_numbers_as_text() -> Table:
    return _lines("9", "10", ordered=True)


@cases.passes("K06")
def does_not_depend_on_the_order() -> Table:
    return _lines("9", "10", ordered=False)


@cases.passes("K06")
def has_numbers_of_one_width() -> Table:
    return _lines("10", "11", ordered=True)


@cases.passes("K06")
def has_texts_with_digits() -> Table:
    return _lines("9a", "10", ordered=True)


@cases.finds("K07", "entity Birthday")
def sorts_dates_among_times() -> Table:
    table = Table("Calendar", key=Key("pk", "sk"))

    class Meeting(Entity, table=table, key=("USER#{user}", "{at}")):
        user: str = part()
        at: datetime = part()

    class Birthday(Entity, table=table, key=("USER#{user}", "{day}")):
        user: str = part()
        day: date = part()

    return table


@cases.passes("K07")
def sorts_dates_apart_from_times() -> Table:
    table = Table("Calendar", key=Key("pk", "sk"))

    class Meeting(Entity, table=table, key=("USER#{user}", "MEETING#{at}")):
        user: str = part()
        at: datetime = part()

    class Birthday(Entity, table=table, key=("USER#{user}", "BIRTHDAY#{day}")):
        user: str = part()
        day: date = part()

    return table


@cases.passes("K09")
def queries_with_a_prefix_that_ends() -> Table:
    table = Table("Log", key=Key("pk", "sk"))

    class Event(Entity, table=table, key=("LOG", "{event}")):
        event: EventId = part()

    class Detail(Entity, table=table, key=("LOG", "{event}#{number:03}")):
        event: EventId = part()
        number: int = part()

    @table.pattern("Details of an event")
    def details_of(event: EventId) -> Query[Detail]:
        return Detail.query(event=event)

    return table


@cases.finds("K09", "entity User")
def queries_an_index_with_a_prefix_of_another() -> Table:
    by_group = Index("ByGroup", key=Key("group_pk", "group_sk"))
    table = Table("Groups", key=Key("pk"), indexes=[by_group])

    class User(
        Entity,
        table=table,
        key="USER#{user}",
        indexes={by_group: ("GROUP#{group}", "U#{user}")},
    ):
        user: str = part()
        group: str

    class Upload(
        Entity,
        table=table,
        key="UPLOAD#{upload}",
        indexes={by_group: ("GROUP#{group}", "U#{user}#{upload}")},
    ):
        upload: str = part()
        user: str
        group: str

    @table.pattern("Users of a group")
    def users_of(group: str) -> Query[User]:
        return User.query(by_group, group=group)

    return table


@cases.passes("K10")
def separates_ids_of_a_fixed_length() -> Table:
    table = Table("Log", key=Key("pk"))

    class Event(Entity, table=table, key="{event}-{day}-{number:03}"):
        event: EventId = part()
        day: date = part()
        number: int = part()

    return table


def _documents(partition: str, sort: str) -> Table:
    table = Table("Documents", key=Key("pk", "sk"))
    owned = table.shard("OWNER#{owner}", name="owned")
    table.add_role(Role("owner", tenant="owner", can={owned: ALL}))

    class Profile(Entity, table=table, key=(owned, "PROFILE")):
        owner: str = part()

    class Document(Entity, table=table, key=(partition, sort)):
        document: str
        owner: str

    return table


@cases.finds("K11", "entity Document")
def has_the_tenant_of_a_role_in_no_key() -> Table:
    return _documents("DOCUMENT#{document}", "DOCUMENT")


@cases.passes("K11")
def has_the_tenant_of_a_role_in_the_partition_key() -> Table:
    return _documents("DOCUMENTS#{owner}", "DOCUMENT#{document}")


def _pages() -> Table:
    table = Table("Pages", key=Key("pk", "sk"))

    class Page(Entity, table=table, key=("SITE#{site}", "{path}")):
        site: str = part()
        path: str = part()
        title: str = attr(default="")

    return table


def _page(length: int) -> dict[str, Any]:
    return {"pk": {"S": "SITE#a"}, "sk": {"S": "x" * length}, "title": {"S": "Home"}}


@cases.finds("K12", "entity Page", items=[_page(20), _page(900)])
def stores_a_long_key() -> Table:
    return _pages()


@cases.passes("K12", items=[_page(20), _page(300)])
def stores_short_keys() -> Table:
    return _pages()
