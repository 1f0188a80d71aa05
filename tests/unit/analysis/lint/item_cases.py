"""Designs for the rules about items."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from keyfold import (
    Entity,
    Expiry,
    Get,
    Index,
    Key,
    Table,
    Update,
    attr,
)
from keyfold.requests import Chain, First
from tests.unit.analysis.lint.cases import RuleCases

# ruff: noqa: I002 - annotations name classes of functions, so they are evaluated where they stand
# Patterns and entities are registered where they are declared.
# pyright: reportUnusedFunction=false, reportUnusedClass=false

cases = RuleCases()


def _posts(*, max_length: int | None = None, appends: bool = True) -> Table:
    table = Table("Posts", key=Key("pk"))

    class Post(Entity, table=table, key="POST#{post}"):
        post: str
        title: str = ""
        comments: list[str] = attr(default_factory=list, max_length=max_length)

    @table.pattern("Comment")
    def comment(post: str, text: str) -> Update[Post]:
        update = Post.update(post=post)
        return update.append(Post.f.comments, text) if appends else update.set(Post.f.title, text)

    return table


@cases.finds("S01", "entity Post")
def appends_to_a_list_without_bound() -> Table:
    return _posts()


@cases.passes("S01")
def appends_to_a_list_with_a_bound() -> Table:
    return _posts(max_length=100)


@cases.passes("S01")
def has_a_list_that_is_written_as_a_whole() -> Table:
    return _posts(appends=False)


@cases.finds("S01", "entity Post", items=[{"pk": {"S": "POST#1"}, "title": {"S": "x" * 300_000}}])
def has_an_item_that_is_nearly_full() -> Table:
    return _posts(appends=False)


def _readings(size_bytes: int) -> Table:
    table = Table("Readings", key=Key("pk"))

    class Reading(Entity, table=table, key="READING#{reading}"):
        reading: str

    table.expect(Reading, bytes=size_bytes)
    return table


@cases.finds("S02", "entity Reading")
def is_a_few_bytes_over_a_unit() -> Table:
    return _readings(1_050)


@cases.passes("S02")
def is_a_few_bytes_below_a_unit() -> Table:
    return _readings(1_000)


@cases.passes("S02")
def is_a_few_bytes_over_many_units() -> Table:
    return _readings(20 * 1_024 + 10)


@cases.finds("S02", "entity Reading", items=[{"pk": {"S": "READING#" + "x" * 1_050}}] * 3)
def has_items_a_few_bytes_over_a_unit() -> Table:
    return _readings(100)


def _articles(*, size_bytes: int = 8_000, rate: str = "20/s") -> Table:
    table = Table("Articles", key=Key("pk"))

    class Article(Entity, table=table, key="ARTICLE#{article}"):
        article: str
        views: int = 0

    table.expect(Article, bytes=size_bytes)

    @table.pattern("Count view", rate=rate)
    def view(article: str) -> Update[Article]:
        return Article.update(article=article).increment(Article.f.views)

    return table


@cases.finds("S03", "pattern 'Count view'")
def changes_little_of_a_big_item_often() -> Table:
    return _articles()


@cases.passes("S03")
def changes_little_of_a_big_item_seldom() -> Table:
    return _articles(rate="10/day")


@cases.passes("S03")
def changes_little_of_a_small_item_often() -> Table:
    return _articles(size_bytes=500)


def _sales(*, changes: str) -> Table:
    table = Table("Sales", key=Key("pk"))

    class Product(Entity, table=table, key="PRODUCT#{sku}"):
        sku: str
        price: Decimal
        stock: int = 7

    class Sale(Entity, table=table, key="SALE#{sale}"):
        sale: str
        sku: str
        price: Decimal

    @table.pattern("Sell")
    def sell(sale: str, sku: str) -> Chain[Sale | None]:
        found = Product.get(sku=sku)
        return found.then(lambda one: Sale(sale=sale, sku=sku, price=one.price).create())

    @table.pattern("Change product")
    def change(sku: str, value: int) -> Update[Product]:
        return Product.update(sku=sku).set(getattr(Product.f, changes), value)

    return table


@cases.finds("S04", "entity Sale")
def copies_a_field_that_changes() -> Table:
    return _sales(changes="price")


@cases.passes("S04")
def copies_a_field_that_stays() -> Table:
    return _sales(changes="stock")


@cases.finds("S05", "entity Session")
def stores_an_expiry_as_text() -> Table:
    table = Table("Sessions", key=Key("pk"))

    class Session(Entity, table=table, key="SESSION#{session}"):
        session: str
        expires_at: datetime

    return table


def _sessions() -> Table:
    table = Table("Sessions", key=Key("pk"), ttl="ttl")

    class Session(Entity, table=table, key="SESSION#{session}"):
        session: str
        expires: Expiry = attr("ttl")

    return table


@cases.passes("S05")
def stores_an_expiry_in_seconds() -> Table:
    return _sessions()


@cases.finds(
    "S05",
    "entity Session",
    items=[{"pk": {"S": "SESSION#1"}, "ttl": {"N": "1767225600000"}}],
)
def has_stored_milliseconds() -> Table:
    return _sessions()


@cases.passes("S05", items=[{"pk": {"S": "SESSION#1"}, "ttl": {"N": "1767225600"}}])
def has_stored_seconds() -> Table:
    return _sessions()


@cases.passes("S05")
def stores_a_time_of_another_kind() -> Table:
    table = Table("Trips", key=Key("pk"))

    class Trip(Entity, table=table, key="TRIP#{trip}"):
        trip: str
        departs_at: datetime

    return table


def _caches(*, with_expired: bool) -> Table:
    table = Table("Cache", key=Key("pk"), ttl="ttl")

    class Entry(Entity, table=table, key="ENTRY#{entry}"):
        entry: str
        expires: Expiry | None = attr("ttl", default=None)

    @table.pattern("Entry")
    def read(entry: str) -> Get[Entry]:
        found = Entry.get(entry=entry)
        return found.include_expired() if with_expired else found

    return table


@cases.finds("S06", "pattern 'Entry'")
def returns_what_has_expired() -> Table:
    return _caches(with_expired=True)


@cases.passes("S06")
def leaves_out_what_has_expired() -> Table:
    return _caches(with_expired=False)


def _people(*, unique: Any = (), sort: str | None = None) -> Table:
    by_name = Index("ByName", key=Key("nickname", sort))
    table = Table("People", key=Key("pk"), indexes=[by_name])

    class Person(Entity, table=table, key="PERSON#{person}", unique=unique):
        person: str
        nickname: str
        joined: str = "2026"

    @table.pattern("Person by nickname")
    def find(nickname: str) -> First[Person]:
        return Person.query(by_name, nickname=nickname).first()

    return table


@cases.finds("S07", "pattern 'Person by nickname'")
def takes_the_first_of_values_that_may_recur() -> Table:
    return _people()


@cases.passes("S07")
def takes_the_one_with_a_unique_value() -> Table:
    return _people(unique="nickname")


@cases.passes("S07")
def takes_the_first_in_an_order() -> Table:
    return _people(sort="joined")


def _customers(key: str, *, indexed: str | None = None) -> Table:
    by_field = Index("ByField", key=Key("field"))
    table = Table("Customers", key=Key("pk"), indexes=[by_field])

    class Customer(
        Entity, table=table, key=key, indexes={by_field: indexed or "CUSTOMER#{customer}"}
    ):
        customer: str
        email: str
        email_hash: str = ""

    return table


@cases.finds("S08", "entity Customer")
def has_an_address_in_its_key() -> Table:
    return _customers("CUSTOMER#{email}")


@cases.finds("S08", "entity Customer")
def has_an_address_in_an_index() -> Table:
    return _customers("CUSTOMER#{customer}", indexed="MAIL#{email}")


@cases.passes("S08")
def has_a_hash_in_an_index() -> Table:
    return _customers("CUSTOMER#{customer}", indexed="MAIL#{email_hash}")
