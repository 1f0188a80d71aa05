"""A hostile listener: the changes of a service tell it of its own items only, live and resumed."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from keyfold import Request
from keyfold.designs import market
from keyfold.designs.market import ProductChanges, UserChanges
from keyfold.service._changes import ChangeWatcher
from keyfold.testing import Clock
from tests.tenants.patterns.market import APPLE, CART, LINE
from tests.tenants.services import HttpAnswer, ServiceWorld, api_key_of
from tests.tenants.test_patterns_by_role import DESIGNS
from tests.tenants.test_services import open_worlds
from tests.transports import START
from tests.unit.service.listeners import Ticker

IDS = re.compile(rb"(?<=id: )[\w-]+")
# Two changes of ada's, as each of her roles sees them.
PROFILE: list[Request[Any]] = [
    market.change_user("ada", UserChanges(name=name)) for name in ("A", "B")
]
PRODUCT: list[Request[Any]] = [
    market.change_product("ada", APPLE, ProductChanges(name=name)) for name in ("Pear", "Plum")
]
# Alike each time, and different from what was stored before.
FOREIGN: list[Request[Any]] = [
    request
    for name in ("Robert", "Rob")
    for request in (
        market.change_user("bob", UserChanges(name=name)),
        market.change_product("bob", APPLE, ProductChanges(name=name)),
        market.put_in_cart("bob", CART, APPLE, LINE),
    )
]


class ListenedWorld:
    """A world whose changes are read when a test says so."""

    def __init__(self, world: ServiceWorld) -> None:
        self.world = world
        self._ticker = Ticker(Clock(START))

    async def listen(
        self, column: str, own: Iterable[Request[Any]], foreign: Iterable[Request[Any]], last: str
    ) -> bytes:
        """Return what a listener gets while some requests are made."""
        world = self.world
        world.app._changes = ChangeWatcher(
            world.store,
            world.design.table,
            clock=world.design.now.timestamp,
            sleep=self._ticker.sleep,
        )
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            await asyncio.Event().wait()
            raise AssertionError("it waits for ever")

        async def send(message: Any) -> None:
            sent.append(message)

        headers = {"host": "localhost", "x-api-key": api_key_of(column)}
        headers |= {"last-event-id": last} if last else {}
        scope = {
            "type": "http",
            "method": "GET",
            "path": "/changes",
            "raw_path": b"/changes",
            "query_string": b"",
            "headers": [(name.encode(), text.encode()) for name, text in headers.items()],
        }
        task = asyncio.ensure_future(world.app(scope, receive, send))
        await self._settle()
        for request in (*foreign, *own, *foreign):
            await world.store.run(request)
            await self._settle()
        world.app._changes.close()
        await self._settle()
        await asyncio.wait_for(task, 60)
        assert sent[0]["status"] == 200
        return b"".join(each["body"] for each in sent[1:])

    async def _settle(self) -> None:
        for _ in range(3):
            for _ in range(100):
                await asyncio.sleep(0)
            self._ticker.advance(1.0)

    def run(self, *arguments: Any) -> bytes:
        return self.world.runner.run(self.listen(*arguments))


def hide_ids(received: bytes) -> bytes:
    return IDS.sub(lambda found: b"*" * len(found[0]), received)


@pytest.mark.parametrize(
    ("column", "own"),
    [("customer", PROFILE), ("seller", PRODUCT), ("customer.seller", [*PROFILE, *PRODUCT])],
)
def test_listeners_hear_nothing_of_foreign_items(
    column: str, own: list[Request[Any]], tmp_path: Path
) -> None:
    with open_worlds(DESIGNS["market"], column, tmp_path) as worlds:
        full, bare = ListenedWorld(worlds.full), ListenedWorld(worlds.bare)
        heard = [full.run(column, own, FOREIGN, ""), bare.run(column, own, (), "")]
        assert hide_ids(heard[0]) == hide_ids(heard[1])
        assert heard[0].count(b"event: ") == len(own)
        # From where they were, after others have written more.
        for request in FOREIGN * 5:
            worlds.full.runner.run(worlds.full.store.run(request))
        last = [IDS.findall(each)[-1].decode() for each in heard]
        heard = [full.run(column, own, FOREIGN, last[0]), bare.run(column, own, (), last[1])]
        assert hide_ids(heard[0]) == hide_ids(heard[1])
        assert heard[0].count(b"event: ") == len(own)
        worlds.full.restore()


def test_event_ids_of_others_are_refused(tmp_path: Path) -> None:
    with open_worlds(DESIGNS["market"], "customer", tmp_path) as worlds:
        full = ListenedWorld(worlds.full)
        given: list[str] = ["x", "A" * 400]
        for other in ("customer-other", "support", "customer.seller"):
            given += [each.decode() for each in IDS.findall(full.run(other, PROFILE, (), ""))]
        own = IDS.findall(full.run("customer", PROFILE, (), ""))[-1].decode()
        given.append(own[:-5] + ("A" if own[-5] != "A" else "B") + own[-4:])
        assert len(given) > 6

        def listen(world: ServiceWorld, last: str) -> HttpAnswer:
            return world.send("GET", "/changes", "customer", **{"last-event-id": last})

        for last in given:
            answer = worlds.try_both(last, lambda world, last=last: listen(world, last))
            assert (answer.status, answer.code) == (400, "event-id-invalid")
        # An event id is no cursor.
        url = f"/order/last-orders?user=ada&count=1&cursor={own}"
        answer = worlds.try_both(url, lambda world: world.send("GET", url, "customer"))
        assert (answer.status, answer.code) == (400, "cursor-invalid")
        worlds.full.restore()
