"""Tools over HTTP: who calls, web pages, and clients of both protocols."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from keyfold.service import Authenticator, Caller, FixedCaller, Nobody
from keyfold.service._database import ServiceDatabase
from keyfold.service.mcp import AgentApp, AgentService, AgentSettings
from keyfold.wire.server._browsers import BrowserRules
from tests.unit.service.mcp.agents import call, fail
from tests.unit.service.mcp.journal import ADA, journal

URL = "http://localhost/mcp"
LIST: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
ACCEPT = {"accept": "application/json, text/event-stream"}


class ByHeader:
    """Takes the user of a header for the caller, as a token would say it."""

    async def authenticate(self, headers: Any) -> Caller:
        if "x-user" not in headers:
            return await Nobody().authenticate(headers)
        return Caller(("owner",), {"user": headers["x-user"]})


@asynccontextmanager
async def running(authenticator: Authenticator, **options: Any) -> AsyncGenerator[AgentApp]:
    """Run the application as a server does, with the events of its lifespan."""
    service = AgentService(journal, ServiceDatabase(journal, ":memory:"), AgentSettings(**options))
    app = AgentApp(service, authenticator, BrowserRules(allow_origin=["https://app.example"]))
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


def run(
    use: Callable[[AgentApp], Awaitable[None]], authenticator: Authenticator, **options: Any
) -> None:
    async def main() -> None:
        async with running(authenticator, **options) as app:
            await use(app)

    asyncio.run(main())


def http_client(app: AgentApp, **headers: str) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), headers=headers)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_each_request_has_the_rights_of_its_sender(mode: str) -> None:
    async def use(app: AgentApp) -> None:
        for user, other in (("ada", "bob"), ("bob", "ada")):
            async with (
                http_client(app, **{"x-user": user}) as sender,
                Client(streamable_http_client(URL, http_client=sender), mode=mode) as client,
            ):
                assert len((await client.list_tools()).tools) > 4
                note = {"user": user, "number": 1, "text": f"of {user}"}
                await call(client, "write_note", note=note)
                found = await call(client, "notes_of", user=user)
                assert [each["text"] for each in found["items"]] == [f"of {user}"]
                assert (await fail(client, "notes_of", user=other))["code"] == "access-denied"

    run(use, ByHeader(), may_write=True)


def test_the_sender_of_a_request_can_change_between_requests() -> None:
    async def use(app: AgentApp) -> None:
        async with (
            http_client(app, **{"x-user": "ada"}) as sender,
            Client(streamable_http_client(URL, http_client=sender)) as client,
        ):
            await call(client, "notes_of", user="ada")
            sender.headers["x-user"] = "bob"
            assert (await fail(client, "notes_of", user="ada"))["code"] == "access-denied"

    run(use, ByHeader())


@pytest.mark.parametrize(
    ("authenticator", "headers", "status", "code"),
    [
        (Nobody(), {}, 401, "unauthenticated"),
        (Nobody(), {"x-user": "ada"}, 401, "unauthenticated"),
        (ByHeader(), {}, 401, "unauthenticated"),
        (ByHeader(), {"x-user": "ada#"}, 403, "principal-invalid"),
        (FixedCaller(ADA), {"host": "evil.example"}, 403, "origin-refused"),
        (FixedCaller(ADA), {"origin": "https://evil.example"}, 403, "origin-refused"),
        (FixedCaller(ADA), {"origin": "null"}, 403, "origin-refused"),
        (FixedCaller(ADA), {"origin": "https://app.example"}, 200, ""),
        (FixedCaller(ADA), {}, 200, ""),
    ],
)
def test_requests_are_refused_before_they_are_read(
    authenticator: Authenticator, headers: dict[str, str], status: int, code: str
) -> None:
    async def use(app: AgentApp) -> None:
        async with http_client(app) as client:
            response = await client.post(URL, json=LIST, headers={**ACCEPT, **headers})
            assert response.status_code == status
            assert response.json().get("code", "") == code
            assert ("www-authenticate" in response.headers) is (status == 401)

    run(use, authenticator)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/mcp", 405), ("DELETE", "/mcp", 405), ("POST", "/", 404), ("GET", "/healthz", 200)],
)
def test_other_requests(method: str, path: str, status: int) -> None:
    async def use(app: AgentApp) -> None:
        async with http_client(app) as client:
            response = await client.request(method, f"http://localhost{path}")
            assert response.status_code == status

    run(use, FixedCaller(ADA))


def test_a_body_that_is_too_large_is_refused() -> None:
    async def use(app: AgentApp) -> None:
        async with http_client(app) as client:
            body = b'{"x":"' + b"x" * (1 << 20) + b'"}'
            headers = {**ACCEPT, "content-type": "application/json"}
            response = await client.post(URL, content=body, headers=headers)
            assert response.status_code == 413

    run(use, FixedCaller(ADA))
