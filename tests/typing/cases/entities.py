"""Entities are created from their declared fields, and are immutable."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property
from typing import Any, Self, assert_type

from keyfold import Codec, Entity, Index, Key, Table, attr, computed_field, model_validator, part
from tests.typing.cases.tables import Order, OrderId, OrderLine, Rate

AT = datetime(2026, 1, 1, tzinfo=UTC)


def make() -> None:
    rate = Rate(base="USD", target="EUR", rate=Decimal("0.85"), at=AT)
    assert_type(rate.base, str)
    assert_type(rate.at, datetime)
    assert_type(rate.expires, datetime | None)
    assert_type(rate.version, int)
    Rate(base="USD", target="EUR", rate=Decimal(1), at=AT, stale=True, expires=AT)
    assert_type(Order(user="ada", order=OrderId.new(), total=Decimal(1)).order, OrderId)


def make_wrongly() -> None:
    Rate(base="USD", target="EUR", at=AT)  # error: reportCallIssue
    Rate(base="USD", target="EUR", rate=Decimal(1), at=AT, stail=True)  # error: reportCallIssue
    Rate(base="USD", target="EUR", rate="0.85", at=AT)  # error: reportArgumentType
    Rate(base="USD", target="EUR", rate=Decimal(1), at=0)  # error: reportArgumentType
    Rate(base="USD", target="EUR", rate=Decimal(1), at=AT, expires=60)  # error: reportArgumentType
    Rate("USD", "EUR", Decimal(1), AT)  # error: reportCallIssue
    Order(order=OrderId.new(), total=Decimal(1))  # error: reportCallIssue
    Order(user="ada", order="O#1", total=Decimal(1))  # error: reportArgumentType
    OrderLine(user="ada", order=OrderId.new(), line="1", sku="x")  # error: reportArgumentType


def change(rate: Rate, line: OrderLine) -> None:
    rate.stale = True  # error: reportAttributeAccessIssue
    line.sku = "y"  # error: reportAttributeAccessIssue
    rate.stail = True  # error: reportAttributeAccessIssue
    del rate.base  # error: reportAttributeAccessIssue; not mypy


def declare() -> None:
    by_kind = Index("ByKind", key=Key("kind"))
    table = Table("Things", key=Key("pk"), indexes=[by_kind], naming="camel")

    class Thing(Entity, table=table, key="T#{name}", indexes={by_kind: "{kind}"}, unique="name"):
        name: str = part()
        kind: str = attr("Kind")

    assert_type(Thing(name="a", kind="b").name, str)

    class Guarded(Entity, table=table, key="N#{name}", unique={"kind": "thing-kind"}):
        name: str = part()
        kind: str

    class Numbered(Entity, table=table, key="W#{name}", unique={"kind": 1}):  # error: reportArgumentType; not mypy
        name: str = part()
        kind: str

    class Free(Entity, table=table, key="F#{name}", extra="allow", fallback=True):
        name: str = part()

    class Odd(Entity, table=table, key="O#{name}", extra="maybe"):  # error: reportArgumentType; not mypy
        name: str = part()

    class Wrong(Entity, table="Things", key="T#{name}"):  # error: reportArgumentType; not mypy
        name: str

    class Keyless(Entity, table=table, key=1):  # error: reportArgumentType; not mypy
        name: str

    class Typo(Entity, tabel=table, key="T#{name}"):  # error: reportArgumentType; not mypy
        name: str

    class Shadow(Entity, table=table, key="T#{name}"):
        name: str
        get: str  # error: reportIncompatibleMethodOverride

    Table("Things", key="pk")  # error: reportArgumentType
    Table("Things", key=Key("pk"), naming="kebab")  # error: reportArgumentType
    Table("Things", key=Key("pk"), indices=[by_kind])  # error: reportCallIssue
    Thing.tabel  # error: reportAttributeAccessIssue, reportUnknownMemberType


class Booking(Entity, table=Table("Bookings", key=Key("pk")), key="B#{id}"):
    id: str
    price: int
    count: int

    @model_validator(mode="after", depends=("price", "count"))
    def check_total(self) -> Self:
        return self

    @model_validator(mode="before")
    @classmethod
    def look(cls, values: object) -> object:
        return values

    @computed_field(depends=("price", "count"))
    def total(self) -> int:
        return self.price * self.count

    @computed_field(depends=("price",), return_type=str, alias="Shown")  # mypy: error
    @property
    def shown(self) -> str:
        return str(self.price)

    @computed_field()  # mypy: error
    @cached_property
    def kept(self) -> bytes:
        return b""


def compute() -> None:
    booking = Booking(id="a", price=1, count=2)
    assert_type(booking.total, int)
    assert_type(booking.shown, str)  # mypy: error
    assert_type(booking.kept, bytes)  # mypy: error
    assert_type(booking.check_total(), Booking)
    booking.total = 5  # error: reportAttributeAccessIssue
    booking.shown = "x"  # error: reportAttributeAccessIssue
    Booking(id="a", price=1, count=2, total=3)  # error: reportCallIssue


club = Table("Club", key=Key("pk"), type_attribute="type")


class Member(Entity, table=club, key="M#{id}", kind=("Member", "User")):
    id: str = part()
    name: str = attr("name", was="fullname")
    tags: list[str] = attr(was=("labels", "marks"), default_factory=list)

    @classmethod
    def upgrade(cls, stored: dict[str, Any]) -> dict[str, Any]:
        return {**stored, "tags": []}


def declare_wrongly() -> None:
    attr(was=5)  # error: reportArgumentType

    class Guest(Entity, table=club, key="G#{id}", kind=5):  # error: reportArgumentType; not mypy
        id: str = part()

    Guest(id="1")
def parse(text: str) -> Decimal:
    return Decimal(text)


def store_by_a_codec() -> None:
    amounts = Codec(encode=str, decode=parse)
    assert_type(amounts.decode("1"), Decimal)
    Codec(encode=str, decode=parse, kind="X")  # error: reportArgumentType

    class Bill(Entity, table=Table("Bills", key=Key("pk")), key="BILL#{amount}"):
        amount: Decimal = part(codec=amounts)
        other: Decimal | None = attr("o", codec=amounts, default=None)

    assert_type(Bill(amount=Decimal(1)).other, Decimal | None)
    Bill(amount="1")  # error: reportArgumentType
