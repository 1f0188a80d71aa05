"""Agents' tools on standard input and output, for the one client that started the process."""

from __future__ import annotations

from keyfold.service._callers import Caller
from keyfold.service.mcp._calls import AgentService
from keyfold.service.mcp._server import make_server


async def serve_stdio(service: AgentService, caller: Caller | None) -> None:
    """Answer until standard input ends. Every call is that of the caller.

    Raises ExtraMissing, PrincipalInvalid.
    """
    server = make_server(service, lambda _: caller)
    from mcp.server.stdio import stdio_server  # noqa: PLC0415 - of the extra

    try:
        await service.open(caller)
        async with stdio_server() as (received, sent):
            await server.run(received, sent, server.create_initialization_options())
    finally:
        await service.database.close()
