"""Hostile agents over HTTP and stdio, in a world with and without the items of others.

`test_agents` has what tools answer, in process. Transports add who calls, and that is attacked here.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import product
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from keyfold.engine import Engine
from keyfold.service._api_keys import ApiKeys
from keyfold.service._database import ServiceDatabase
from keyfold.service.mcp import AgentApp, AgentService, AgentSettings
from keyfold.wire.server._browsers import BrowserRules
from tests.tenants.services import ServiceWorld, api_key_of, dump_table
from tests.tenants.test_patterns_by_role import DESIGNS
from tests.tenants.test_services import calls_of, open_worlds

CURSORS = re.compile(r"(?<=\"cursor\":\")[\w-]+")
# A process has its own clock.
TIMES = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[\d.]*|\b1[789]\d{8}(\d{3})?\b")
URL = "http://localhost/mcp"
# Their principals see ids: with another key than the worlds', they would have other handles.
ON_STDIO = [("letsgo", "ada"), ("pantry", "ada")]


def hide_cursors(text: str) -> str:
    return CURSORS.sub(lambda found: "*" * len(found[0]), text)


# Over HTTP.


@asynccontextmanager
async def serving(world: ServiceWorld, keys: Path) -> AsyncGenerator[AgentApp]:
    """Run the tools of a world as a server does, with the events of its lifespan."""
    table = world.design.table
    service = AgentService(
        table, ServiceDatabase(table, world.store), AgentSettings(may_write=True)
    )
    app = AgentApp(service, ApiKeys(str(keys), [table]), BrowserRules())
    received: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    sent: asyncio.Queue[Any] = asyncio.Queue()
    task = asyncio.ensure_future(app({"type": "lifespan"}, received.get, sent.put))
    received.put_nowait({"type": "lifespan.startup"})
    assert (await sent.get())["type"] == "lifespan.startup.complete"
    try:
        yield app
    finally:
        received.put_nowait({"type": "lifespan.shutdown"})
        assert (await sent.get())["type"] == "lifespan.shutdown.complete"
        await task


@asynccontextmanager
async def connecting(app: AgentApp, key: str) -> AsyncGenerator[Client]:
    transport = httpx2.ASGITransport(app=app)
    async with (
        httpx2.AsyncClient(transport=transport, headers={"x-api-key": key}) as sender,
        Client(streamable_http_client(URL, http_client=sender)) as client,
    ):
        yield client


async def ask(client: Client, name: str, arguments: dict[str, Any]) -> str:
    result = await client.call_tool(name, arguments)
    (content,) = result.content
    assert content.type == "text"
    return TIMES.sub("*", hide_cursors(f"{result.is_error} {content.text}"))


async def compare(clients: Sequence[Client], name: str, show: Callable[[Any], Any]) -> None:
    """Call every tool of a design in both worlds, which change alike."""
    full, bare = clients
    called: set[str] = set()
    for label, call in calls_of(name):
        arguments, tool = show(call.arguments), call.endpoint.name
        assert await ask(full, tool, arguments) == await ask(bare, tool, arguments), label
        called.add(tool)
    tools = [(await each.list_tools()).tools for each in (full, bare)]
    assert tools[0] == tools[1]
    assert called <= {each.name for each in tools[0]}


@pytest.mark.parametrize(("name", "column"), [("market", "customer"), *ON_STDIO])
def test_agents_over_http_learn_nothing_of_foreign_items(
    name: str, column: str, tmp_path: Path
) -> None:
    async def use(worlds: list[ServiceWorld]) -> None:
        async with AsyncExitStack() as stack:
            clients: list[Client] = []
            for each in worlds:
                app = await stack.enter_async_context(serving(each, tmp_path / "keys.toml"))
                connected = connecting(app, api_key_of(column))
                clients.append(await stack.enter_async_context(connected))
            await compare(clients, name, lambda given: worlds[0].show(column, given))

    with open_worlds(DESIGNS[name], column, tmp_path) as worlds:
        asyncio.run(use([worlds.full, worlds.bare]))


def test_keys_of_agents_are_not_exchangeable(tmp_path: Path) -> None:
    async def use(world: ServiceWorld) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        headers = {"accept": "application/json, text/event-stream"}
        bodies: set[bytes] = set()
        async with serving(world, tmp_path / "keys.toml") as app:
            transport = httpx2.ASGITransport(app=app)
            async with httpx2.AsyncClient(transport=transport) as sender:
                names = ["customer", "customer-other", "support", "nobody"]
                for one, other in product(names, names):
                    secret = api_key_of(other).partition(".")[2]
                    given = {**headers, "x-api-key": f"{one}.{secret}"}
                    response = await sender.post(URL, json=message, headers=given)
                    is_right = one == other != "nobody"
                    assert response.status_code == (200 if is_right else 401)
                    if not is_right:
                        bodies.add(response.content)
        assert len(bodies) == 1

    with open_worlds(DESIGNS["market"], "customer", tmp_path) as worlds:
        asyncio.run(use(worlds.full))


# On standard input and output.


@pytest.mark.parametrize(("name", "column"), ON_STDIO)
def test_agents_on_stdio_learn_nothing_of_foreign_items(
    name: str, column: str, tmp_path: Path
) -> None:
    design = DESIGNS[name]
    files = [str(tmp_path / f"{each}.db") for each in ("full", "bare")]
    with open_worlds(design, column, tmp_path, files=files) as worlds:
        foreign = {
            key: item for key, item in worlds.full.before.items() if key not in worlds.bare.before
        }
    principal = design.columns[column]
    words = [f"--as={each}" for each in principal.roles]
    words += [f"--id={key}={value}" for key, value in principal.ids.items()]

    async def main() -> None:
        async with AsyncExitStack() as stack:
            clients: list[Client] = []
            for file in files:
                args = ["-m", "keyfold", "mcp", name, "--db", file, "--write", *words]
                started = StdioServerParameters(
                    command=sys.executable, args=args, env=dict(os.environ)
                )
                clients.append(await stack.enter_async_context(Client(started)))
            await compare(clients, name, lambda given: given)

    asyncio.run(main())
    with Engine.open(files[0], upkeep_seconds=None) as engine:
        after = dump_table(engine, design.table)
    assert {key: after.get(key) for key in foreign} == foreign
