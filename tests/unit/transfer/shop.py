"""A table with two entities, databases that hold it, and a simulated clock."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from keyfold import Entity, Expiry, Index, Key, Table, attr, part
from keyfold.engine import Engine
from keyfold.store import Executor
from keyfold.transfer import CallEnvironment, Options, TableLocation

by_city = Index("ByCity", key=Key("city_pk", "city_sk"))
shop = Table("Shop", key=Key("pk", "sk"), indexes=[by_city], ttl="ttl")


class Order(
    Entity,
    table=shop,
    key=("USER#{user}", "ORDER#{number:04}"),
    indexes={by_city: ("CITY#{city}", "ORDER#{number:04}")},
):
    user: str = part()
    number: int = part()
    total: Decimal
    city: str | None = None
    note: str | None = None
    tags: set[str] = attr(default_factory=set)
    label: bytes | None = None
    expires: Expiry | None = attr("ttl", default=None)


class Product(Entity, table=shop, key=("PRODUCT#{code}", "PRODUCT")):
    code: str = part()
    name: str
    is_sold: bool = False


NOW = 1_700_000_000.0


@dataclass
class Time:
    """A clock that advances by each sleep, and by `tick` with each reading."""

    tick: float = 0.0
    seconds: float = 0.0
    slept: list[float] = field(default_factory=list[float])

    def clock(self) -> float:
        self.seconds += self.tick
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds

    @property
    def environment(self) -> CallEnvironment:
        return CallEnvironment(
            clock=lambda: NOW, monotonic=self.clock, sleep=self.sleep, jitter=lambda: 0.5
        )


def open_shop(path: Path | str = ":memory:", items: Iterable[dict[str, Any]] = ()) -> Engine:
    """Return an engine that has the table with these items."""
    engine = Engine.open(path, upkeep_seconds=None)
    engine.execute("CreateTable", shop.to_dynamodb())
    expiry = {"AttributeName": "ttl", "Enabled": True}
    engine.execute("UpdateTimeToLive", {"TableName": "Shop", "TimeToLiveSpecification": expiry})
    put_all(engine, items)
    return engine


def put_all(executor: Executor, items: Iterable[dict[str, Any]], table: str = "Shop") -> None:
    for item in items:
        executor.execute("PutItem", {"TableName": table, "Item": item})


def make_orders(count: int) -> list[dict[str, Any]]:
    return [
        Order.keyfold_schema().encode(
            Order(
                user=f"u{number % 7}",
                number=number,
                total=Decimal(number) / 4,
                city=None if number % 3 == 0 else f"c{number % 5}",
                tags={"b", f"t{number % 4}"},
                label=bytes([number % 256]),
            )
        )
        for number in range(count)
    ]


def make_products(count: int) -> list[dict[str, Any]]:
    return [
        Product.keyfold_schema().encode(Product(code=f"p{number}", name=f"thing {number}"))
        for number in range(count)
    ]


def read_all(executor: Executor, table: str = "Shop") -> dict[str, dict[str, Any]]:
    """Return every item of a table by its key, sets sorted."""
    found: dict[str, dict[str, Any]] = {}
    request: dict[str, Any] = {"TableName": table, "ConsistentRead": True}
    while True:
        page = executor.execute("Scan", request)
        for item in page["Items"]:
            key = f"{item['pk']['S']} {item['sk']['S']}"
            found[key] = {
                name: {kind: sorted(data) if kind in ("SS", "NS", "BS") else data}
                for name, value in item.items()
                for kind, data in value.items()
            }
        if "LastEvaluatedKey" not in page:
            return found
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


def location(executor: Executor, url: str = "shop.db", table: str = "Shop") -> TableLocation:
    return TableLocation(executor, url, table)


def options(folder: Path, time: Time | None = None, **more: Any) -> Options:
    """Return options that keep the job's files in a folder."""
    given: dict[str, Any] = {
        "checkpoint": folder / "job.checkpoint",
        "rejects": folder / "job.rejected.jsonl",
        "environment": (time or Time()).environment,
    }
    return Options(**{**given, **more})


class Failing:
    """An executor that fails from the nth call of an operation on."""

    def __init__(self, executor: Executor, operation: str, after: int) -> None:
        self._executor, self._operation = executor, operation
        self.left = after

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        if operation == self._operation:
            self.left -= 1
            if self.left < 0:
                raise OSError("the line is dead")
        return self._executor.execute(operation, request)
