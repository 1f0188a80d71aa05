"""The tables that the other cases use."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from pydantic import BaseModel

from keyfold import (
    Collection,
    Entity,
    Expiry,
    Index,
    Key,
    Table,
    Ulid,
    UnixTime,
    Version,
    attr,
    part,
)

by_base = Index("BaseCurrencyIndex", key=Key("Base"))
rates = Table("ExchangeRates", key=Key("PK"), indexes=[by_base], ttl="ttl")


class Rate(Entity, table=rates, key="RATE#{base}#{target}"):
    base: str = attr("Base")
    target: str = attr("Target")
    rate: Decimal = attr("Rate", gt=0)
    at: UnixTime = attr("Timestamp")
    stale: bool = attr("Stale", default=False)
    tags: list[str] = attr("Tags", default_factory=list)
    expires: Expiry | None = attr("ttl", default=None)
    version: Version = 0


class RateSummary(BaseModel):
    target: str
    rate: Decimal


class OrderId(Ulid, prefix="O"): ...


by_key = Index("ReverseIndex", key=Key("sk", "pk"), project="keys")
by_id = Index("IdLookupIndex", key=Key("id", "tp"))
market = Table("Market", key=Key("pk", "sk"), indexes=[by_key, by_id])
orders = market.shard("U#{user}#O")


class Order(Entity, table=market, key=(orders, "{order}")):
    user: str = part()
    order: OrderId = part()
    id: str | None = attr(default=None)
    tp: Literal["order"] | None = attr(default="order")
    total: Decimal


class OrderLine(Entity, table=market, key=(orders, "{order}#{line:03}")):
    user: str = part()
    order: OrderId = part()
    line: int = part()
    sku: str


class OrderWithLines(Collection):
    order: Order
    lines: list[OrderLine]
