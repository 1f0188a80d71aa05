"""The ASGI application: access patterns over HTTP.

It is written for one job, without a framework: find the endpoint, tell who calls, read the arguments, run
the pattern as that caller, and write its result or a problem.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import urlencode

from keyfold.errors import NotFound
from keyfold.model import Table
from keyfold.service._arguments import read_body, read_query
from keyfold.service._callers import Authenticator, Caller, Nobody
from keyfold.service._database import ServiceDatabase
from keyfold.service._endpoints import CURSOR, PatternEndpoint, make_endpoints
from keyfold.service._http import (
    ClientGone,
    Receive,
    Scope,
    Send,
    ServiceRequest,
    ServiceResponse,
    respond_with,
)
from keyfold.service._problems import describe_error, refuse
from keyfold.service._results import is_nothing, write_result
from keyfold.service._routes import Match, Routes
from keyfold.service._running import Outcome, PageLimits, make_request, run_request
from keyfold.store import AsyncStore, Handles

_LOG = logging.getLogger("keyfold.service")

_MAX_BODY = 1 << 20
_PREFERENCE = re.compile(r"(?:^|[,;\s])maxpagesize=\"?([0-9]{1,9})\"?(?:$|[,;\s])")
_NOTHING_FOUND = "There is no such item."

Handler = Callable[[ServiceRequest], Awaitable[ServiceResponse]]


class PatternService:
    """An ASGI application that serves the access patterns of a table; `create_app` returns one."""

    def __init__(
        self,
        table: Table,
        database: str | AsyncStore,
        *,
        authenticator: Authenticator | None = None,
        pages: PageLimits | None = None,
        max_body: int = _MAX_BODY,
        **options: Any,
    ) -> None:
        self.table = table
        self.endpoints = make_endpoints(table)
        self.database = ServiceDatabase(table, database, **options)
        self._authenticator = authenticator or Nobody()
        self._pages = pages or PageLimits()
        self._max_body = max_body
        self._routes = Routes(self.endpoints.values())
        # Paths besides those of patterns.
        self._handlers: dict[str, Handler] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request, or the events of the application's lifespan."""
        if scope["type"] == "http":
            await self._handle(ServiceRequest(scope, receive), send)
        elif scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            # Web sockets: a close before the handshake is answered with 403.
            await send({"type": "websocket.close"})

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                try:
                    await self.database.open()
                except Exception as error:  # noqa: BLE001 - the server reports it, and ends
                    await send({"type": "lifespan.startup.failed", "message": str(error)})
                    return
                await send({"type": "lifespan.startup.complete"})
            else:
                await self.database.close()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _handle(self, request: ServiceRequest, send: Send) -> None:
        try:
            response = await self._respond(request)
        except ClientGone:
            return
        await response.send(send, has_body=request.method != "HEAD")

    async def _respond(self, request: ServiceRequest) -> ServiceResponse:
        handles: Handles | None = None
        try:
            handler = self._handlers.get(request.path)
            if handler is not None:
                return await handler(request)
            match = self._find(request)
            caller = await self._authenticator.authenticate(request.headers)
            store = await self.database.open_as(caller)
            handles = store.handles
            return await self._call(request, match, caller, store, handles)
        except ClientGone:
            raise
        except Exception as error:  # noqa: BLE001 - every error is a problem
            problem = describe_error(error, handles)
            if problem.status >= 500:  # noqa: PLR2004 - the service's own faults
                _LOG.error("%s %s failed", request.method, request.path, exc_info=error)
            return respond_with(problem)

    def _find(self, request: ServiceRequest) -> Match:
        """Return the endpoint of a request; raises a problem with status 404 or 405."""
        found = self._routes.find(request.path, request.sent_path)
        method = "GET" if request.method == "HEAD" else request.method
        match = found.get(method)
        if match is not None:
            return match
        if not found:
            raise refuse(404, "path-unknown", "There is no such path. /openapi.json lists all.")
        allowed = ", ".join(sorted({*found, *(("HEAD",) if "GET" in found else ())}))
        raise refuse(405, "method-not-allowed", f"Use {allowed}.", allow=allowed)

    async def _call(
        self,
        request: ServiceRequest,
        match: Match,
        caller: Caller,  # noqa: ARG002 - of limits and idempotency keys
        store: AsyncStore,
        handles: Handles | None,
    ) -> ServiceResponse:
        """Run the endpoint of a request as its caller."""
        endpoint, places = match
        limit, cursor = read_preferred_items(request.headers), None
        if endpoint.writes:
            body = await request.read_body(self._max_body)
            check_json(request.headers, body)
            arguments = read_body(endpoint, body, places, handles)
        else:
            query = [*request.query, *places.items()]
            if endpoint.continues:
                cursor = next((text for name, text in query if name == CURSOR), None)
                query = [each for each in query if each[0] != CURSOR]
            arguments = read_query(endpoint, query, handles)
        made = make_request(endpoint, arguments, limit=limit, cursor=cursor, pages=self._pages)
        outcome = await run_request(store, made)
        return self._answer(request, endpoint, outcome, handles, limit)

    def _answer(
        self,
        request: ServiceRequest,
        endpoint: PatternEndpoint,
        outcome: Outcome,
        handles: Handles | None,
        limit: int | None,
    ) -> ServiceResponse:
        headers: dict[str, str] = {}
        if limit is not None and endpoint.continues:
            headers["preference-applied"] = f"maxpagesize={min(limit, self._pages.most)}"
        if "keyfold-capacity" in request.headers:
            headers["keyfold-capacity"] = (
                f"read={outcome.read_units:g}, write={outcome.write_units:g}"
            )
        if is_nothing(outcome.value) and not endpoint.is_page:
            if endpoint.writes:
                return ServiceResponse(204, headers=headers)
            raise refuse(404, NotFound.code, _NOTHING_FOUND)
        next_link = self._make_link(request, endpoint, outcome.cursor)
        if next_link is not None:
            headers["link"] = f'<{next_link}>; rel="next"'
        return ServiceResponse(
            200, write_result(endpoint, outcome, next_link, handles), headers=headers
        )

    def _make_link(
        self, request: ServiceRequest, endpoint: PatternEndpoint, cursor: str | None
    ) -> str | None:
        """Return the link to the next page: the same request, with its cursor."""
        if cursor is None or endpoint.cursor is None:
            return None
        query = [each for each in request.query if each[0] != endpoint.cursor]
        return f"{request.root}{request.sent_path}?{urlencode([*query, (endpoint.cursor, cursor)])}"


def create_app(
    table: Table,
    database: str | AsyncStore,
    *,
    authenticator: Authenticator | None = None,
    pages: PageLimits | None = None,
    max_body: int = _MAX_BODY,
    **options: Any,
) -> PatternService:
    """Return an ASGI application that serves the access patterns of a table.

    `database` is a URL, as `keyfold.open` takes it, or an open AsyncStore. `authenticator` tells who
    calls; without one, every pattern answers with status 401. `options` are those of
    `keyfold.open_async`.
    """
    return PatternService(
        table,
        database,
        authenticator=authenticator,
        pages=pages,
        max_body=max_body,
        **options,
    )


def read_preferred_items(headers: Mapping[str, str]) -> int | None:
    """Return how many items a client prefers in a page: `Prefer: maxpagesize=20`; None if it says nothing.

    >>> read_preferred_items({"prefer": "respond-async, maxpagesize=20"})
    20
    """
    found = _PREFERENCE.search(headers.get("prefer", ""))
    return max(1, int(found[1])) if found else None


def check_json(headers: Mapping[str, str], body: bytes) -> None:
    """Raise a problem with status 415 for a body that does not say it is JSON.

    Forms that web pages can send to other sites without being asked cannot say so.
    """
    if not body:
        return
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not kind.endswith("+json"):
        raise refuse(415, "media-type-unknown", "Send JSON, with Content-Type: application/json.")
