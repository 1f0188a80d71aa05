"""The ASGI application: access patterns over HTTP.

It is written for one job, without a framework: find the endpoint, tell who calls, read the arguments, run
the pattern as that caller, and write its result or a problem.
"""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, TextIO
from urllib.parse import urlencode

import orjson

from keyfold.clocks import Clock
from keyfold.errors import NotFound
from keyfold.model import Request, Table
from keyfold.service._arguments import read_body, read_query
from keyfold.service._batches import BatchReader
from keyfold.service._bodies import parse_json, write_exactly
from keyfold.service._callers import Authenticator, Caller, FixedCaller, Nobody
from keyfold.service._changes import ChangeWatcher
from keyfold.service._cors import answer_preflight, is_preflight, share_with
from keyfold.service._database import ServiceDatabase
from keyfold.service._endpoints import CURSOR, PatternEndpoint, make_endpoints
from keyfold.service._entity_tags import IF_MATCH, IF_NONE_MATCH, is_deletion, read_preconditions
from keyfold.service._event_responses import EventStreamResponse
from keyfold.service._http import (
    ClientGone,
    Receive,
    Scope,
    Send,
    ServiceRequest,
    ServiceResponse,
    check_browser,
    log_fault,
    respond_with,
)
from keyfold.service._idempotency import to_canonical_json
from keyfold.service._openapi import write_openapi
from keyfold.service._page import write_page
from keyfold.service._preferences import check_json, read_preferred_items
from keyfold.service._problems import describe_error, refuse
from keyfold.service._rate_limits import RateLimits
from keyfold.service._request_log import RequestLog
from keyfold.service._results import is_nothing, write_result
from keyfold.service._routes import Match, Routes
from keyfold.service._running import (
    LEAST_UNITS,
    Outcome,
    PageLimits,
    make_request,
    run_request,
)
from keyfold.service._telemetry import RequestTracer
from keyfold.store import AsyncStore, Handles
from keyfold.wire.server._browsers import BrowserRules
from keyfold.wire.server._metrics import Metrics

_LOG = logging.getLogger("keyfold.service")

_MAX_BODY = 1 << 20
_METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_PAGE_TYPE = "text/html; charset=utf-8"
_PAGE_HEADERS = {
    # The page has its style in it, and nothing else.
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
    "x-content-type-options": "nosniff",
}
# The text of a query that may be repeated in a link as it was sent.
_PLAIN_QUERY = re.compile(r"[A-Za-z0-9_.~+=&-]*")
_REQUEST_ID_BYTES = 8
# What it takes to look for the record of an idempotency key: a conditional write of a small item.
_KEY_UNITS = 1.0
_MOST_STREAMS = 50
_NOTHING_FOUND = "There is no such item."

AnyResponse = ServiceResponse | EventStreamResponse
Handler = Callable[[ServiceRequest, "_Exchange"], Awaitable[AnyResponse]]


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """The settings of a service.

    `authenticator` tells who calls; by default, nobody may. Requests from web pages are accepted from
    this machine and from `allow_origin`; `allow_host` are other names of the service, and with
    `any_host` it may have any. `limits` are those of principals, in capacity units. Requests are logged
    to `request_log`, as lines of JSON, and traced by `tracer`.
    """

    authenticator: Authenticator = field(default_factory=Nobody)
    allow_host: Sequence[str] = ()
    allow_origin: Sequence[str] = ()
    any_host: bool = False
    pages: PageLimits = field(default_factory=PageLimits)
    max_body: int = _MAX_BODY
    limits: RateLimits | None = None
    request_log: TextIO | None = None
    tracer: RequestTracer | None = None
    clock: Clock = time.time
    monotonic: Clock = time.monotonic


@dataclass(slots=True)
class _Exchange:
    """What is known of a request when it is answered, for logs and metrics."""

    endpoint: str = ""
    caller: str = ""
    code: str = ""
    units: float = 0.0
    handles: Handles | None = None
    # The origin of the web page that sent the request, if it may see the response.
    origin: str | None = None


@dataclass(frozen=True, slots=True)
class _EndpointCall:
    """A request for an endpoint: who sent it, and the model's request that it makes."""

    request: ServiceRequest
    exchange: _Exchange
    endpoint: PatternEndpoint
    caller: Caller
    made: Request[Any]
    # How many items of a page the caller prefers.
    limit: int | None


class PatternService:
    """An ASGI application that serves the access patterns of a table; `create_app` returns one."""

    def __init__(
        self, table: Table, database: str | AsyncStore, settings: ServiceSettings, **options: Any
    ) -> None:
        self.table = table
        self.settings = settings
        self.endpoints = make_endpoints(table)
        self.database = ServiceDatabase(table, database, **options)
        self.database.check_key(settings.authenticator)
        self.metrics = Metrics()
        self._routes = Routes(self.endpoints.values())
        self._browsers = BrowserRules(
            settings.allow_host, settings.allow_origin, any_host=settings.any_host
        )
        self._limits = settings.limits
        log, clock = settings.request_log, settings.clock
        self._log = None if log is None else RequestLog(log, clock)
        self._batches = BatchReader(self.endpoints, settings.pages)
        self._is_draining = False
        # Paths besides those of patterns, by method.
        self._handlers: dict[str, tuple[str, Handler]] = {
            "/": ("GET", self._show_page),
            "/openapi.json": ("GET", self._show_openapi),
            "/healthz": ("GET", self._show_health),
            "/readyz": ("GET", self._show_readiness),
            "/metrics": ("GET", self._show_metrics),
            "/batch": ("POST", self._read_batch),
            "/changes": ("GET", self._watch_changes),
        }
        # Made with the first request for changes.
        self._changes: ChangeWatcher | None = None
        # How many streams of events each principal has.
        self._streams: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request, or the events of the application's lifespan."""
        if scope["type"] == "http":
            await self._handle(ServiceRequest(scope, receive), send)
        elif scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            # Web sockets: a close before the handshake is answered with 403.
            await send({"type": "websocket.close"})

    def drain(self) -> None:
        """Tell load balancers to send no more requests, and end what would go on for ever."""
        self._is_draining = True
        if self._changes is not None:
            self._changes.close()

    @asynccontextmanager
    async def lifespan(self, _application: object = None) -> AsyncGenerator[None]:
        """Open the database, and close it at the end.

        An application that mounts this one passes it on, since frameworks tell mounted applications
        nothing: `FastAPI(lifespan=service.lifespan)`.
        """
        await self._start()
        try:
            yield
        finally:
            await self._stop()

    async def _start(self) -> None:
        await self.database.open()
        self.database.check_key(self.settings.authenticator)
        await self._check_caller()

    async def _stop(self) -> None:
        self.drain()
        await self.database.close()

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                try:
                    await self._start()
                except Exception as error:  # noqa: BLE001 - the server reports it, and ends
                    await send({"type": "lifespan.startup.failed", "message": str(error)})
                    return
                await send({"type": "lifespan.startup.complete"})
            else:
                await self._stop()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _check_caller(self) -> None:
        """Raise PrincipalInvalid for a fixed caller whose role the table does not have."""
        fixed = self.settings.authenticator
        if isinstance(fixed, FixedCaller):
            await self.database.open_as(fixed.caller)

    async def _handle(self, request: ServiceRequest, send: Send) -> None:
        started = self.settings.monotonic()
        exchange = _Exchange()
        tracer = self.settings.tracer
        traced = nullcontext() if tracer is None else tracer.span(request.path, request.headers)
        with traced as span:
            try:
                response = await self._respond(request, exchange)
            except ClientGone:
                return
            if tracer is not None:
                tracer.finish(
                    span,
                    endpoint=exchange.endpoint,
                    method=request.method,
                    status=response.status,
                    code=exchange.code,
                )
        seconds = self.settings.monotonic() - started
        self.metrics.note(exchange.endpoint, seconds, exchange.code)
        if exchange.units:
            consumed = {"TableName": self.table.name, "CapacityUnits": exchange.units}
            self.metrics.note_capacity(exchange.endpoint, consumed)
        if self._log is not None:
            request_id = secrets.token_hex(_REQUEST_ID_BYTES)
            headers = {**response.headers, "x-request-id": request_id}
            response = replace(response, headers=headers)
            self._log.note(
                method=request.method,
                path=request.path,
                endpoint=exchange.endpoint,
                caller=exchange.caller,
                status=response.status,
                code=exchange.code,
                seconds=seconds,
                units=exchange.units,
                request_id=request_id,
            )
        if exchange.origin is not None:
            response = replace(response, headers=share_with(exchange.origin, response.headers))
        await response.send(send, has_body=request.method != "HEAD")

    async def _respond(self, request: ServiceRequest, exchange: _Exchange) -> AnyResponse:
        try:
            exchange.origin = check_browser(request, self._browsers)
            if exchange.origin is not None and is_preflight(request.method, request.headers):
                return answer_preflight(request.headers)
            handler = self._handlers.get(request.path)
            if handler is not None:
                return await self._run_handler(request, exchange, *handler)
            match = self._find(request)
            exchange.endpoint = match.endpoint.name
            caller, store = await self._identify(request, exchange)
            return await self._call(request, exchange, match, caller, store)
        except ClientGone:
            raise
        except Exception as error:  # noqa: BLE001 - every error is a problem
            problem = describe_error(error, exchange.handles)
            exchange.code = problem.code
            log_fault(_LOG, request, problem, error)
            return respond_with(problem)

    async def _run_handler(
        self, request: ServiceRequest, exchange: _Exchange, method: str, handler: Handler
    ) -> AnyResponse:
        asked = "GET" if request.method == "HEAD" else request.method
        if asked != method:
            allowed = "GET, HEAD" if method == "GET" else method
            raise refuse(405, "method-not-allowed", f"Use {allowed}.", allow=allowed)
        return await handler(request, exchange)

    async def _identify(
        self, request: ServiceRequest, exchange: _Exchange
    ) -> tuple[Caller, AsyncStore]:
        """Return who sent a request, and their store; raises the errors of authenticators."""
        caller = await self.settings.authenticator.authenticate(request.headers)
        exchange.caller = caller.name or " ".join(caller.roles)
        if self._limits is not None:
            self._limits.check(caller.principal)
        store = await self.database.open_as(caller)
        exchange.handles = store.handles
        return caller, store

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
        exchange: _Exchange,
        match: Match,
        caller: Caller,
        store: AsyncStore,
    ) -> ServiceResponse:
        """Run the endpoint of a request as its caller."""
        endpoint, places = match
        limit, cursor = read_preferred_items(request.headers), None
        body = b""
        if endpoint.writes:
            body = await request.read_body(self.settings.max_body)
            check_json(request.headers, body)
            arguments = read_body(endpoint, body, places, exchange.handles)
        else:
            query = [*request.query, *places.items()]
            if endpoint.continues:
                cursor = next((text for name, text in query if name == CURSOR), None)
                query = [each for each in query if each[0] != CURSOR]
            arguments = read_query(endpoint, query, exchange.handles)
        pages = self.settings.pages
        made = make_request(endpoint, arguments, limit=limit, cursor=cursor, pages=pages)
        call = _EndpointCall(request, exchange, endpoint, caller, made, limit)
        key = request.headers.get("idempotency-key")
        if key is None or not endpoint.writes:
            return await self._run(call, store)
        keys = await self.database.idempotency_keys()
        conditions = (request.headers.get(each, "") for each in (IF_MATCH, IF_NONE_MATCH))
        same = (to_canonical_json(body), request.sent_path, *conditions)
        # An answer that is replayed is not free.
        self._charge(caller, exchange, _KEY_UNITS)
        respond = partial(self._run, call)
        return await keys.run(caller.principal, key, endpoint.name, same, store, respond)

    async def _run(self, call: _EndpointCall, store: AsyncStore) -> ServiceResponse:
        """Run a request of the model on the preconditions of its headers."""
        conditions, tags = read_preconditions(call.request.headers), self.database.tags
        writes = call.endpoint.writes
        charge = partial(self._charge, call.caller, call.exchange)
        if conditions is not None and writes:
            outcome = await tags.run(store, call.made, conditions, charge)
        else:
            outcome = await run_request(store, call.made, charge)
        answer = self._answer(call, outcome)
        tag = None if is_deletion(call.made) else tags.tag_of(outcome.value)
        if tag is None:
            return answer
        headers = {**answer.headers, "etag": tag}
        if conditions is not None and not writes and not conditions.holds_for_read(tag):
            return ServiceResponse(304, headers=headers)
        return replace(answer, headers=headers)

    def _charge(self, caller: Caller, exchange: _Exchange, units: float) -> None:
        exchange.units += units
        if self._limits is not None:
            # A request that fails may consume units that the database does not tell.
            self._limits.charge(caller.principal, max(units, LEAST_UNITS))

    def _answer(self, call: _EndpointCall, outcome: Outcome) -> ServiceResponse:
        """Return the response to a request that was carried out."""
        request, endpoint = call.request, call.endpoint
        headers: dict[str, str] = {}
        if call.limit is not None and endpoint.continues:
            applied = min(call.limit, self.settings.pages.most)
            headers["preference-applied"] = f"maxpagesize={applied}"
        if "keyfold-capacity" in request.headers:
            headers["keyfold-capacity"] = (
                f"read={outcome.read_units:g}, write={outcome.write_units:g}"
            )
        if is_nothing(outcome.value) and not endpoint.is_page:
            if endpoint.writes:
                return ServiceResponse(204, headers=headers)
            raise refuse(404, NotFound.code, _NOTHING_FOUND)
        next_link = _make_link(request, endpoint, outcome.cursor)
        if next_link is not None:
            headers["link"] = f'<{next_link}>; rel="next"'
        body = write_result(endpoint, outcome, next_link, call.exchange.handles)
        return ServiceResponse(200, body, headers=headers)

    async def _read_batch(self, request: ServiceRequest, exchange: _Exchange) -> ServiceResponse:
        exchange.endpoint = "batch"
        caller, store = await self._identify(request, exchange)
        body = await request.read_body(self.settings.max_body)
        check_json(request.headers, body)
        given = parse_json(body or b"{}")
        charge = partial(self._charge, caller, exchange)
        # Each of its reads may be invalid.
        charge(0.0)
        results = await self._batches.read(given, store, exchange.handles, charge)
        return ServiceResponse(200, write_exactly({"results": results}))

    async def _watch_changes(
        self, request: ServiceRequest, exchange: _Exchange
    ) -> EventStreamResponse:
        exchange.endpoint = "changes"
        caller, _ = await self._identify(request, exchange)
        store = await self.database.open()
        if self._is_draining:
            raise refuse(503, "draining", "The service is stopping.", retry_after="1")
        if self._changes is None:
            self._changes = ChangeWatcher(store, self.table, clock=self.settings.clock)
        self._charge(caller, exchange, LEAST_UNITS)
        last = request.headers.get("last-event-id")
        leave = self._enter_stream(caller.principal)
        try:
            events = await self._changes.watch(caller, last_event_id=last)
        except BaseException:
            leave()
            raise
        return EventStreamResponse(request, events, on_end=leave)

    def _enter_stream(self, principal: str) -> Callable[[], None]:
        """Count a stream of a principal, and return what ends it; raises a problem if there are too many.

        Connections are for everybody, and a stream keeps one.
        """
        if self._streams[principal] >= _MOST_STREAMS:
            detail = f"The caller has {_MOST_STREAMS} streams of events. End one of them first."
            raise refuse(429, "streams-spent", detail, retry_after="10")
        self._streams[principal] += 1

        def leave() -> None:
            self._streams[principal] -= 1
            if not self._streams[principal]:
                del self._streams[principal]

        return leave

    async def _show_openapi(self, request: ServiceRequest, _: _Exchange) -> ServiceResponse:
        document = self.openapi
        if request.root:
            document = {**document, "servers": [{"url": request.root}]}
        return ServiceResponse(200, orjson.dumps(document))

    async def _show_page(self, request: ServiceRequest, _: _Exchange) -> ServiceResponse:
        url = f"{request.scope.get('scheme', 'http')}://{request.headers.get('host', 'localhost')}"
        page = write_page(self.openapi, f"{url}{request.root}")
        return ServiceResponse(200, page.encode(), _PAGE_TYPE, _PAGE_HEADERS)

    async def _show_health(self, *_: object) -> ServiceResponse:
        return ServiceResponse(200, b'{"status":"alive"}')

    async def _show_readiness(self, *_: object) -> ServiceResponse:
        if self._is_draining:
            raise refuse(503, "draining", "The service is stopping.")
        store = await self.database.open()
        await store.execute("DescribeTable", {"TableName": self.table.name})
        return ServiceResponse(200, b'{"status":"ready"}')

    async def _show_metrics(self, *_: object) -> ServiceResponse:
        return ServiceResponse(200, self.metrics.render().encode(), _METRICS_TYPE)

    @cached_property
    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document of the service."""
        has_credentials = not isinstance(self.settings.authenticator, FixedCaller)
        return write_openapi(self.table, self.endpoints, has_credentials=has_credentials)


def create_app(
    table: Table,
    database: str | AsyncStore,
    settings: ServiceSettings | None = None,
    *,
    authenticator: Authenticator | None = None,
    **options: Any,
) -> PatternService:
    """Return an ASGI application that serves the access patterns of a table.

    `database` is a URL, as `keyfold.open` takes it, or an open AsyncStore. `authenticator` tells who
    calls: it is that of the settings unless it is given. Without one, every pattern answers with status
    401. `options` are those of `keyfold.open_async`.
    """
    settings = settings or ServiceSettings()
    if authenticator is not None:
        settings = replace(settings, authenticator=authenticator)
    return PatternService(table, database, settings, **options)


def _make_link(
    request: ServiceRequest, endpoint: PatternEndpoint, cursor: str | None
) -> str | None:
    """Return the link to the next page: the same request, with its cursor."""
    if cursor is None or endpoint.cursor is None:
        return None
    path, sent = f"{request.root}{request.sent_path}", request.sent_query
    if _PLAIN_QUERY.fullmatch(sent) and f"{endpoint.cursor}=" not in sent:
        # As it was sent. A cursor has no characters that would have to be quoted.
        return f"{path}?{sent}{'&' if sent else ''}{endpoint.cursor}={cursor}"
    query = [each for each in request.query if each[0] != endpoint.cursor]
    return f"{path}?{urlencode([*query, (endpoint.cursor, cursor)])}"
