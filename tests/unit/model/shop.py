"""Tables that the tests of the model and the store share."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Literal

from pydantic import BaseModel

from keyfold.keys import Ulid
from keyfold.model import (
    Collection,
    Entity,
    Expiry,
    Index,
    Key,
    Table,
    UnixTime,
    Version,
    attr,
    part,
)

# Exchange rates: fields with other stored names, an index by a plain attribute, and expiry.

by_base = Index("BaseCurrencyIndex", key=Key("Base"))
rates = Table("ExchangeRates", key=Key("PK"), indexes=[by_base], ttl="ttl")


class Rate(Entity, table=rates, key="RATE#{base}#{target}"):
    base: str = attr("Base")
    target: str = attr("Target")
    rate: Decimal = attr("Rate")
    at: UnixTime = attr("Timestamp")
    stale: bool = attr("Stale", default=False)
    expires: Expiry | None = attr("ttl", default=None)


class RateSummary(BaseModel):
    base: str
    rate: Decimal


# A market: shards, typed ids, parts stored only in keys, a reverse and a sparse index.


class OrderId(Ulid, prefix="O"): ...


by_key = Index("ReverseIndex", key=Key("sk", "pk"), project="keys")
by_id = Index("IdLookupIndex", key=Key("id", "tp"))
market = Table("Market", key=Key("pk", "sk"), indexes=[by_key, by_id], ttl="ttl")
orders = market.shard("U#{user}#O")


class Order(Entity, table=market, key=(orders, "{order}")):
    user: str = part()
    order: OrderId = part()
    id: str | None = attr(default=None)
    tp: Literal["order"] | None = attr(default="order")
    total: Decimal
    ttl: Expiry | None = None


class OrderLine(Entity, table=market, key=(orders, "{order}#{line:03}")):
    user: str = part()
    order: OrderId = part()
    line: int = part()
    sku: str
    ttl: Expiry | None = None


class OrderWithLines(Collection):
    order: Order
    lines: list[OrderLine]


class OrderKey(BaseModel):
    order: OrderId


# Tickets: nested values, templates in index keys, a version.


class Status(Enum):
    OPEN = "open"
    DONE = "done"


class Address(BaseModel):
    city: str = attr("c")
    zip: str | None = None
    size: int = 0


by_status = Index("ByStatus", key=Key("gsi1pk", "gsi1sk"))
by_owner = Index("ByOwner", key=Key("owner", "priority"), project=["title"])
recent = Index("Recent", key=Key("pk", "changed"), local=True)
desk = Table("Desk", key=Key("pk", "sk"), indexes=[by_status, by_owner, recent])


class Ticket(
    Entity,
    table=desk,
    key=("TEAM#{team}", "TICKET#{number:05}"),
    indexes={by_status: ("STATUS#{status}#{team}", "{opened}")},
):
    team: str
    number: int
    title: str
    status: Status | None = None
    opened: datetime
    changed: str | None = None
    owner: str | None = None
    priority: int | None = None
    tags: set[str] = attr(default_factory=set)
    steps: list[str] = attr(default_factory=list)
    counts: dict[str, int] = attr(default_factory=dict)
    address: Address | None = None
    addresses: list[Address] = attr(default_factory=list)
    watchers: int = 0
    version: Version = 0


# Users: unique fields.

accounts = Table("Accounts", key=Key("pk", "sk"))


class User(Entity, table=accounts, key=("USER#{name}", "USER"), unique=["email", "number"]):
    name: str
    email: str | None = None
    number: Decimal | None = None
    note: str = ""


class Device(Entity, table=accounts, key=("USER#{name}", "DEVICE#{serial}")):
    name: str
    serial: str
