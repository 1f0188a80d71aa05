"""Agents' tools over HTTP: an ASGI application that tells who sends each request.

It keeps no sessions of the protocol. Each request proves anew who sent it, so there is no session that
another caller could take over, and any server of several can answer it.
"""

from __future__ import annotations

import logging
from typing import Any

from keyfold.service._callers import Authenticator, Caller, FixedCaller
from keyfold.service._http import (
    Receive,
    Scope,
    Send,
    ServiceRequest,
    ServiceResponse,
    check_browser,
    log_fault,
    respond_with,
)
from keyfold.service._problems import describe_error, refuse
from keyfold.service.mcp._calls import AgentService
from keyfold.service.mcp._server import make_server
from keyfold.wire.server._browsers import BrowserRules

_LOG = logging.getLogger("keyfold.service.mcp")

PATH = "/mcp"
_CALLER = "keyfold.caller"
_MAX_BODY = 1 << 20


class AgentApp:
    """An ASGI application that serves tools by MCP's streamable HTTP at /mcp; raises ExtraMissing."""

    def __init__(
        self, service: AgentService, authenticator: Authenticator, browsers: BrowserRules
    ) -> None:
        self.service = service
        self._authenticator = authenticator
        self._browsers = browsers
        server = make_server(service, _identify)
        from mcp.server.streamable_http_manager import (  # noqa: PLC0415 - of the extra
            StreamableHTTPSessionManager,
        )

        self._manager = StreamableHTTPSessionManager(
            server, json_response=True, stateless=True, max_request_body_size=_MAX_BODY
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request, or the events of the application's lifespan."""
        if scope["type"] == "http":
            await self._handle(ServiceRequest(scope, receive), scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            # Web sockets: a close before the handshake is answered with 403.
            await send({"type": "websocket.close"})

    def drain(self) -> None:
        """Do nothing: every request ends by itself."""

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            await self.service.database.open()
            self.service.database.check_key(self._authenticator)
            if isinstance(self._authenticator, FixedCaller):
                await self.service.open(self._authenticator.caller)
        except Exception as error:  # noqa: BLE001 - the server reports it, and ends
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        async with self._manager.run():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await self.service.database.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _handle(
        self, request: ServiceRequest, scope: Scope, receive: Receive, send: Send
    ) -> None:
        try:
            check_browser(request, self._browsers)
            if request.path == "/healthz":
                await ServiceResponse(200, b'{"status":"alive"}').send(send)
                return
            if request.path != PATH:
                raise refuse(404, "path-unknown", f"There is no such path. Tools are at {PATH}.")
            if request.method != "POST":
                # Nothing is sent that was not asked for, so there is no stream to GET.
                raise refuse(405, "method-not-allowed", "Use POST.", allow="POST")
            caller = await self._authenticator.authenticate(request.headers)
            await self.service.open(caller)
        except Exception as error:  # noqa: BLE001 - every error is a problem
            problem = describe_error(error)
            log_fault(_LOG, request, problem, error)
            await respond_with(problem).send(send)
            return
        await self._manager.handle_request({**scope, _CALLER: caller}, receive, send)


def _identify(context: Any) -> Caller:
    """Return who sent the request of a message; without one, nothing is answered."""
    caller = context.request.scope[_CALLER]
    assert isinstance(caller, Caller)
    return caller
