"""A table whose keys have parts of every kind, as templates and as attributes."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Literal
from uuid import UUID

from pydantic import ConfigDict, Field

from keyfold import Codec, Entity, Index, Key, Table, Ulid, UnixTime, attr, part


class TicketId(Ulid, prefix="T"):
    """Id of a ticket."""


class Level(IntEnum):
    LOW = 1
    HIGH = 12


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Point:
    """A type of the user's own."""

    def __init__(self, x: int) -> None:
        self.x = x


POINT = Codec[Point](
    kind="S", encode=lambda point: f"P{point.x}", decode=lambda text: Point(int(text[1:]))
)

by_times = Index("by-times", key=Key(("day", "at"), ("count", "color")))
by_decimal = Index("ByDecimal", key=Key("amount"))
by_seconds = Index("BySeconds", key=Key("seconds"))
formats = Table("Formats", key=Key("p k", "sk"), indexes=[by_times, by_decimal, by_seconds])


class Parts(
    Entity,
    table=formats,
    key=(
        'A"{{*/{name}#{code:3}#{level:02}#{kind}#',
        "{ticket}#{id}#{number:05}#{price:8.2}#{on}#{when}#{hue}",
    ),
):
    """Every format. A comment that ends */ early."""

    model_config = ConfigDict(validate_by_name=True)

    name: str = part()
    code: str = part()
    level: Level = part()
    kind: Literal["a", "b"] = part()
    ticket: TicketId = part()
    id: UUID = part()
    number: int = Field(alias="the number")
    price: Decimal = part()
    on: date = part()
    when: datetime = part()
    hue: Color = part()
    day: date | None = None
    at: datetime | None = None
    count: int | None = None
    color: Color | None = None
    amount: Decimal | None = None
    seconds: UnixTime | None = None
    nested: dict[str, list[tuple[int, str | None]]] = attr(
        default_factory=dict[str, list[tuple[int, str | None]]]
    )


class Record(Entity, table=formats, key=("R#{point}", "R")):
    """Named as a type of TypeScript, with a key that a codec makes."""

    point: Point = part(codec=POINT)
    more: dict[str, int] = attr(default_factory=dict[str, int])
