"""A user's project that declares a table."""

from __future__ import annotations

from pathlib import Path

# Each project uses another module name, so that no test imports the module of another.
SHOP = '''
from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal

from keyfold import Entity, Key, Query, Scan, Table, part
from keyfold.requests import Chain, Count

shop = Table("{table}", key=Key("pk", "sk"))


class Order(Entity, table=shop, key=("USER#{{user}}", "ORDER#{{number:04}}")):
    user: str = part()
    number: int = part()
    total: Decimal
    note: str | None = None


@shop.pattern("Orders of a user")
def orders_of(user: str) -> Query[Order]:
    """Oldest first."""
    return Order.query(user=user)


@shop.pattern("Orders of all")
def orders_of_all() -> Scan[Order]:
    return Order.scan()


@shop.pattern("How many orders")
def count_orders(user: str) -> Count:
    return Order.query(user=user).count()


@shop.pattern("Odd")
def odd(db: str, table: str = "x") -> Query[Order]:
    return Order.query(user=db + table)


@shop.pattern("Recent")
def recent(hours: int) -> Query[Order]:
    return Order.query(user=str(timedelta(hours=hours)))
'''


def write_project(folder: Path, name: str, *, settings: str = "") -> str:
    """Write a module with a table into a folder, and a pyproject.toml; return the table's path."""
    (folder / f"{name}.py").write_text(SHOP.format(table=name.title()), "utf-8")
    if settings:
        (folder / "pyproject.toml").write_text(settings, "utf-8")
    return f"{name}:shop"
