"""Agents in process: clients of the official SDK, connected to the tools of a table."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from mcp import Client
from mcp.types import CallToolResult

from keyfold import Table
from keyfold.service import Caller
from keyfold.service._database import ServiceDatabase
from keyfold.service.mcp import AgentService, AgentSettings, make_server

SUPPORT = Caller(("support",), {})


@asynccontextmanager
async def agent(
    table: Table,
    database: Any = ":memory:",
    *,
    caller: Caller | None = None,
    mode: str = "auto",
    service: AgentService | None = None,
    **options: Any,
) -> AsyncGenerator[Client]:
    """Open a client of the tools of a table, all of whose calls are the caller's."""
    given = service or AgentService(
        table, ServiceDatabase(table, database), AgentSettings(**options)
    )
    async with Client(make_server(given, lambda _: caller), mode=mode) as client:
        try:
            yield client
        finally:
            if service is None:
                await given.database.close()


def run(use: Callable[[Client], Awaitable[None]], table: Table, **options: Any) -> None:
    """Use a client of the tools of a table."""

    async def main() -> None:
        async with agent(table, **options) as client:
            await use(client)

    asyncio.run(main())


def read(result: CallToolResult) -> dict[str, Any]:
    """Return the answer of a call, which has the same as text and as structured content."""
    (content,) = result.content
    assert content.type == "text"
    document: dict[str, Any] = json.loads(content.text)
    if not result.is_error:
        assert result.structured_content == document
    return document


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Return the answer of a call that succeeds."""
    result = await client.call_tool(tool, arguments)
    document = read(result)
    assert not result.is_error, document
    return document


async def fail(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Return the error of a call that fails."""
    result = await client.call_tool(tool, arguments)
    document = read(result)
    assert result.is_error, document
    return document
