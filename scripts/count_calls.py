"""Counts the calls of docs/internals/walks.md: how many of our functions run, in how many modules.

Each walk is done twice, and the second time is counted: by then, plans are compiled and modules
loaded. Run it from the root of the repository: python -m scripts.count_calls
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import keyfold
from keyfold import Change, Entity, Key, Table
from keyfold.designs import market
from keyfold.engine import Engine
from tests.unit.wire.server.http import Wire, ask, make_table

SOURCE = str(Path(keyfold.__file__).parent)
TABLE = Table("Orders", key=Key("pk", "sk"), stream="new and old")


class Order(Entity, table=TABLE, key=("U#{user}", "O#{number:05}")):
    """An order of a user."""

    user: str
    number: int


@TABLE.on_change(Order)
def ignore(change: Change[Order]) -> None:
    """Do nothing with a change."""
    del change


def show(name: str, walk: Callable[[], object], before: Callable[[], object] | None = None) -> None:
    """Print the calls of a walk; `before` is run before each, and not counted."""
    calls: Counter[str] = Counter()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(SOURCE):
            calls[frame.f_code.co_filename] += 1

    for is_counted in (False, True):
        if before is not None:
            before()
        sys.setprofile(note if is_counted else None)
        walk()
        sys.setprofile(None)
    print(f"{name}: {len(calls)} modules and {calls.total():,} calls")


def walk_put() -> None:
    """Walk a conditional PutItem from the socket to the row."""
    with Engine.open(":memory:") as engine:
        make_table(engine)
        wire = Wire(engine)
        connection, _ = wire.connect()
        keys = iter("ab")

        def put() -> None:
            request = {
                "TableName": "Things",
                "Item": {"pk": {"S": next(keys)}},
                "ConditionExpression": "attribute_not_exists(#k) OR #t <= :now",
                "ExpressionAttributeNames": {"#k": "pk", "#t": "ttl"},
                "ExpressionAttributeValues": {":now": {"N": "5"}},
            }
            connection.data_received(ask("PutItem", request))
            wire.run_until_idle()

        show("conditional PutItem", put)
        wire.close()


def walk_store() -> None:
    """Walk a query of a store, and a change to its handler."""
    numbers = iter(range(1_000))
    with keyfold.open(TABLE, ":memory:") as store:

        def put() -> None:
            store.run(Order(user="ada", number=next(numbers)).put())

        for _ in range(30):
            put()
        show("query of 20", lambda: store.run(Order.query(user="ada").limit(20)))
        store.follow(TABLE, until_caught_up=True)
        show("change to handler", lambda: store.follow(TABLE, until_caught_up=True), put)


def walk_principal() -> None:
    """Walk a principal's get, beside the same get without a principal."""
    with keyfold.open(market.table, ":memory:") as store:
        store.run(market.User(user="ada", name="Ada").create())
        for name, each in (
            ("get", store),
            ("get of a principal", store.as_principal("customer", user="ada")),
        ):
            show(name, lambda each=each: each.run(market.User.get(user="ada")))


if __name__ == "__main__":
    walk_put()
    walk_store()
    walk_principal()
