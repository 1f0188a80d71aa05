"""The ASGI application of the studio: its page, its files, and the actions of its rooms."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote

import orjson

from keyfold import __version__
from keyfold.service._bodies import parse_json
from keyfold.service._http import (
    ClientGone,
    Receive,
    Scope,
    Send,
    ServiceRequest,
    ServiceResponse,
)
from keyfold.service._problems import ServiceProblem
from keyfold.studio._access import StudioAccess, make_token
from keyfold.studio._actions import Action, StreamAction, StudioCall, make_call, show_calls
from keyfold.studio._bodies import StudioBody
from keyfold.studio._problems import StudioProblem, describe_problem
from keyfold.studio._static import make_policy, read_shell, read_static_files
from keyfold.studio._workspace import Workspace, refuse_write
from keyfold.studio.rooms import ACTIONS, STREAMS
from keyfold.wire.server._browsers import BrowserRules

_LOG = logging.getLogger("keyfold.studio")

_API, _EVENTS, _STATIC = "/api/", "/events/", "/static/"
_MAX_BODY = 32 << 20
_THREADS = 8
_POLL_SECONDS = 0.5
_EVENT_STREAM = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
}
_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
}


@dataclass(frozen=True, slots=True)
class StudioSettings:
    """The settings of a studio: its token, and the hosts that it may be reached by."""

    token: str = field(default_factory=make_token, repr=False)
    allow_host: tuple[str, ...] = ()
    poll_seconds: float = _POLL_SECONDS


class StudioApp:
    """An ASGI application that shows a workspace in a browser; `create_studio` returns one."""

    def __init__(self, workspace: Workspace, settings: StudioSettings) -> None:
        self.workspace = workspace
        self.settings = settings
        self._access = StudioAccess(settings.token, BrowserRules(settings.allow_host))
        self._files = read_static_files()
        self._shell = read_shell()
        self._policy = make_policy(self._shell)
        self._actions: dict[str, Action] = {each.name: each for each in ACTIONS}
        self._streams: dict[str, StreamAction] = {each.name: each for each in STREAMS}
        # Rooms block: they read databases, and compute.
        self._threads = ThreadPoolExecutor(_THREADS, "keyfold-studio")
        self._stopped = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request, or the events of the application's lifespan."""
        if scope["type"] == "http":
            await self._handle(ServiceRequest(scope, receive), send)
        elif scope["type"] == "lifespan":
            while (await receive())["type"] != "lifespan.shutdown":
                await send({"type": "lifespan.startup.complete"})
            self.drain()
            self._threads.shutdown(wait=False, cancel_futures=True)
            await send({"type": "lifespan.shutdown.complete"})
        else:
            await send({"type": "websocket.close"})

    def drain(self) -> None:
        """End the streams of events."""
        self._stopped.set()

    async def _handle(self, request: ServiceRequest, send: Send) -> None:
        try:
            response = await self._respond(request, send)
        except ClientGone:
            return
        if response is not None:
            await response.send(send, has_body=request.method != "HEAD")

    async def _respond(self, request: ServiceRequest, send: Send) -> ServiceResponse | None:
        """Return the response; None for events, which have been sent."""
        try:
            self._access.check_origin(request)
            path = request.path
            if path.startswith(_API):
                self._access.check_data(request)
                return await self._act(request, path.removeprefix(_API))
            if path.startswith(_EVENTS):
                self._access.check_data(request)
                return await self._watch(request, send, path.removeprefix(_EVENTS))
            _check_method(request, "GET", "HEAD")
            if path.startswith(_STATIC):
                return self._show_file(request, path.removeprefix(_STATIC))
            return self._show_shell(request)
        except ClientGone:
            raise
        except ServiceProblem as error:
            # Of the checks that services have, too.
            found = error.problem
            return self._refuse(found.status, {"code": found.code, "message": found.detail})
        except Exception as error:  # noqa: BLE001 - every error is shown in the page
            problem = describe_problem(error)
            if problem.status == HTTPStatus.INTERNAL_SERVER_ERROR:
                _LOG.error("%s %s failed", request.method, request.sent_path[:200], exc_info=error)
            return self._refuse(problem.status, problem.to_json())

    def _refuse(self, status: int, error: Mapping[str, Any]) -> ServiceResponse:
        return ServiceResponse(status, _dump({"error": error}), headers=self._headers())

    def _headers(self, **more: str) -> dict[str, str]:
        named = {name.replace("_", "-"): value for name, value in more.items()}
        return {**_HEADERS, "cache-control": "no-store", **named}

    def _show_shell(self, request: ServiceRequest) -> ServiceResponse:
        traded = self._access.trade_token(request)
        if traded is not None:
            location, cookie = traded
            headers = self._headers(location=location, set_cookie=cookie)
            return ServiceResponse(303, headers=headers)
        headers = self._headers(content_security_policy=self._policy)
        return ServiceResponse(200, self._shell.body, self._shell.content_type, headers)

    def _show_file(self, request: ServiceRequest, path: str) -> ServiceResponse:
        found = self._files.get(unquote(path))
        if found is None:
            raise StudioProblem(404, "path-unknown", "There is no such file.")
        headers = self._headers(etag=found.tag, cache_control="no-cache")
        if request.headers.get("if-none-match") == found.tag:
            return ServiceResponse(304, headers=headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            headers = {**headers, "content-encoding": "gzip", "vary": "accept-encoding"}
            return ServiceResponse(200, found.compressed, found.content_type, headers)
        return ServiceResponse(200, found.body, found.content_type, headers)

    async def _act(self, request: ServiceRequest, name: str) -> ServiceResponse:
        _check_method(request, "POST")
        if name == "tables":
            loop = asyncio.get_running_loop()
            told = await loop.run_in_executor(self._threads, self._list_tables)
            return ServiceResponse(200, _dump(told), headers=self._headers())
        action = self._actions.get(name)
        if action is None:
            raise StudioProblem(404, "path-unknown", f"There is no action {name!r}.")
        if action.writes and self.workspace.read_only:
            raise refuse_write()
        body = StudioBody(parse_json(await request.read_body(_MAX_BODY)))
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._run, action, body)

    def _list_tables(self) -> dict[str, Any]:
        """Return what the studio is opened on."""
        workspace = self.workspace
        told = {
            "tables": workspace.list_tables(),
            "database": workspace.name,
            "kind": workspace.kind,
            "readOnly": workspace.read_only,
            "version": __version__,
        }
        return {"result": told, "units": {"read": 0, "write": 0}, "calls": []}

    def _run(self, action: Action, body: StudioBody) -> ServiceResponse:
        """Run an action in a thread; what it read and wrote is told even if it fails."""
        call = make_call(self.workspace, body)
        status, told = 200, dict[str, Any]()
        try:
            told["result"] = action.run(call)
        except Exception as error:  # noqa: BLE001 - every error is shown in the page
            problem = describe_problem(error)
            if problem.status == HTTPStatus.INTERNAL_SERVER_ERROR:
                _LOG.error("%s failed", action.name, exc_info=error)
            status, told["error"] = problem.status, problem.to_json()
        read, write = call.recorder.count_units()
        told["units"] = {"read": read, "write": write}
        told["calls"] = show_calls(call.table, call.recorder.calls)
        return ServiceResponse(status, _dump(told), headers=self._headers())

    async def _watch(self, request: ServiceRequest, send: Send, name: str) -> None:
        """Send the events of a stream until the browser leaves, or the studio stops."""
        _check_method(request, "GET")
        stream = self._streams.get(name)
        if stream is None:
            raise StudioProblem(404, "path-unknown", f"There is no stream {name!r}.")
        given = next((value for name, value in request.query if name == "body"), "{}")
        call = make_call(self.workspace, StudioBody(parse_json(given.encode())))
        headers = [
            (name.encode(), value.encode()) for name, value in {**_HEADERS, **_EVENT_STREAM}.items()
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        sending = asyncio.create_task(self._send_events(stream, call, send))
        waiting: list[asyncio.Task[Any]] = [
            sending,
            asyncio.create_task(request.wait_until_gone()),
            asyncio.create_task(self._stopped.wait()),
        ]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waiting:
                each.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
        await send({"type": "http.response.body", "body": b""})

    async def _send_events(self, stream: StreamAction, call: StudioCall, send: Send) -> None:
        loop = asyncio.get_running_loop()
        try:
            events = await loop.run_in_executor(self._threads, stream.open, call)
            while True:
                event = await loop.run_in_executor(self._threads, _next_of, events)
                if event is _END:
                    return
                if event is None:
                    # Also tells whether the browser is still there.
                    await _send_block(send, b": waiting\n\n")
                    await asyncio.sleep(self.settings.poll_seconds)
                else:
                    await _send_block(send, b"data: " + _dump(event) + b"\n\n")
        except Exception as error:  # noqa: BLE001 - every error is shown in the page
            problem = describe_problem(error)
            if problem.status == HTTPStatus.INTERNAL_SERVER_ERROR:
                _LOG.error("%s failed", stream.name, exc_info=error)
            told = _dump({"error": problem.to_json()})
            await _send_block(send, b"event: failed\ndata: " + told + b"\n\n")


_END = object()


def _next_of(events: Iterator[Any]) -> Any:
    return next(events, _END)


async def _send_block(send: Send, block: bytes) -> None:
    await send({"type": "http.response.body", "body": block, "more_body": True})


def _check_method(request: ServiceRequest, *allowed: str) -> None:
    if request.method not in allowed:
        message = f"Use {' or '.join(allowed)}."
        raise StudioProblem(405, "method-not-allowed", message)


def _dump(value: Any) -> bytes:
    return orjson.dumps(value, default=str)


def create_studio(workspace: Workspace, settings: StudioSettings | None = None) -> StudioApp:
    """Return the ASGI application that shows a workspace in a browser."""
    return StudioApp(workspace, settings or StudioSettings())
