"""GET /changes sends events until the client leaves, and problems before them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import keyfold
from keyfold import Table
from keyfold.designs import market, pantry
from keyfold.designs.market import User
from keyfold.service import Caller, FixedCaller, ServiceSettings, create_app
from keyfold.service._app import PatternService
from keyfold.store import AsyncStore

ADA = Caller(("customer",), {"user": "ada"})
KEEPER = Caller(("service",), {})


class Exchange:
    """One request for changes, by the ASGI protocol."""

    def __init__(self, app: PatternService, method: str = "GET", **headers: str) -> None:
        self._received: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._received.put_nowait({"type": "http.request", "body": b"", "more_body": False})
        self._sent: asyncio.Queue[Any] = asyncio.Queue()
        scope = {
            "type": "http",
            "method": method,
            "path": "/changes",
            "query_string": b"",
            "headers": [
                (b"host", b"localhost"),
                *(
                    (name.replace("_", "-").encode(), value.encode())
                    for name, value in headers.items()
                ),
            ],
        }
        self.task = asyncio.create_task(app(scope, self._received.get, self._sent.put))

    async def next(self) -> Any:
        return await asyncio.wait_for(self._sent.get(), 10)

    async def start(self) -> tuple[int, dict[str, str]]:
        message = await self.next()
        headers = {name.decode(): value.decode() for name, value in message["headers"]}
        return message["status"], headers

    async def leave(self) -> None:
        self._received.put_nowait({"type": "http.disconnect"})
        await asyncio.wait_for(self.task, 10)


@asynccontextmanager
async def serving(
    table: Table, caller: Caller
) -> AsyncGenerator[tuple[PatternService, AsyncStore]]:
    async with keyfold.open_async(table, ":memory:") as store:
        app = create_app(table, store, ServiceSettings(authenticator=FixedCaller(caller)))
        yield app, store
        app.drain()


def id_of(block: bytes) -> str:
    return next(line[4:] for line in block.decode().split("\n") if line.startswith("id: "))


def test_changes_are_sent_and_resumed() -> None:
    async def test() -> None:
        async with serving(market.table, ADA) as (app, store):
            first = Exchange(app)
            status, headers = await first.start()
            assert (status, headers["content-type"]) == (200, "text/event-stream")
            assert headers["cache-control"] == "no-store"
            assert "content-length" not in headers
            position = id_of((await first.next())["body"])
            await first.leave()
            await store.run(User(user="ada", name="Ada").put())
            again = Exchange(app, last_event_id=position)
            await again.start()
            blocks = [await again.next(), await again.next()]
            assert all(each["more_body"] for each in blocks)
            assert b"event: created\n" in blocks[1]["body"]
            data = next(
                line[6:] for line in blocks[1]["body"].split(b"\n") if line.startswith(b"data: ")
            )
            assert json.loads(data)["new"]["name"] == "Ada"
            await again.leave()

    asyncio.run(test())


def test_the_subscription_ends_with_the_client() -> None:
    async def test() -> None:
        async with serving(market.table, ADA) as (app, _):
            exchange = Exchange(app)
            await exchange.start()
            await exchange.next()
            await exchange.leave()
            assert app._changes is not None
            assert not app._changes._list_feeds()

    asyncio.run(test())


def test_events_end_when_the_service_is_drained() -> None:
    async def test() -> None:
        async with serving(market.table, ADA) as (app, _):
            exchange = Exchange(app)
            await exchange.start()
            await exchange.next()
            app.drain()
            assert await exchange.next() == {"type": "http.response.body", "body": b""}
            await asyncio.wait_for(exchange.task, 10)
            late = Exchange(app)
            status, headers = await late.start()
            assert (status, headers["retry-after"]) == (503, "1")

    asyncio.run(test())


def test_a_head_request_has_no_events() -> None:
    async def test() -> None:
        async with serving(market.table, ADA) as (app, _):
            exchange = Exchange(app, "HEAD")
            assert (await exchange.start())[0] == 200
            assert await exchange.next() == {"type": "http.response.body", "body": b""}
            await asyncio.wait_for(exchange.task, 10)

    asyncio.run(test())


def test_problems_come_before_events() -> None:
    async def find_problem(table: Table, caller: Caller, **headers: str) -> tuple[int, Any]:
        async with serving(table, caller) as (app, _):
            exchange = Exchange(app, **headers)
            status, sent = await exchange.start()
            assert sent["content-type"] == "application/problem+json"
            return status, json.loads((await exchange.next())["body"])

    status, problem = asyncio.run(find_problem(market.table, ADA, last_event_id="x"))
    assert (status, problem["code"]) == (400, "event-id-invalid")
    status, problem = asyncio.run(find_problem(pantry.table, KEEPER))
    assert (status, problem["code"]) == (404, "changes-unavailable")
    assert 'stream="new and old"' in problem["detail"]
    status, problem = asyncio.run(find_problem(market.table, Caller(("nobody",), {})))
    assert (status, problem["code"]) == (403, "principal-invalid")


def test_a_caller_has_a_limited_number_of_streams() -> None:
    async def main() -> None:
        async with serving(market.table, ADA) as (app, _):
            exchanges = [Exchange(app) for _ in range(50)]
            assert {(await each.start())[0] for each in exchanges} == {200}
            refused = Exchange(app)
            status, headers = await refused.start()
            assert (status, headers["retry-after"]) == (429, "10")
            assert json.loads((await refused.next())["body"])["code"] == "streams-spent"
            # One that is refused for another reason, or has ended, does not count.
            await exchanges.pop().leave()
            assert (await Exchange(app, last_event_id="x").start())[0] == 400
            exchanges.append(Exchange(app))
            assert (await exchanges[-1].start())[0] == 200
            for each in exchanges:
                await each.leave()
            assert not app._streams

    asyncio.run(main())
