"""Who may use a studio: tokens, cookies, hosts, origins, and what a page may load."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import pytest

from keyfold.designs import market
from keyfold.engine import Engine
from keyfold.studio import StudioSettings, create_studio
from keyfold.studio._opening import make_workspace

TOKEN = "a-token-of-this-test"
COOKIE = "keyfold-studio-8123"
Use = Callable[[httpx2.AsyncClient], Awaitable[Any]]


def use_studio(use: Use, *, read_only: bool = False) -> Any:
    """Run a function with a client of a studio on an empty database."""

    async def run() -> Any:
        with Engine.open(":memory:") as engine:
            workspace = make_workspace(engine, [market.table], read_only=read_only)
            app = create_studio(workspace, StudioSettings(token=TOKEN))
            transport = httpx2.ASGITransport(app=app)
            base = "http://localhost:8123"
            async with httpx2.AsyncClient(transport=transport, base_url=base) as client:
                return await use(client)

    return asyncio.run(run())


async def get_in(client: httpx2.AsyncClient) -> None:
    response = await client.get("/", params={"token": TOKEN})
    assert response.status_code == 303


async def ask(client: httpx2.AsyncClient, **headers: str) -> httpx2.Response:
    return await client.post("/api/tables", json={}, headers=headers)


def test_the_token_is_traded_for_a_cookie_and_leaves_the_address() -> None:
    async def use(client: httpx2.AsyncClient) -> None:
        response = await client.get("/Market/items?only=Order&token=" + TOKEN)
        assert response.headers["location"] == "/Market/items?only=Order"
        cookie = response.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert TOKEN not in cookie
        assert (await ask(client)).json()["result"]["tables"] == ["Market"]

    use_studio(use)


def test_a_redirect_stays_on_the_studio() -> None:
    async def use(client: httpx2.AsyncClient) -> None:
        response = await client.get(f"http://localhost:8123//elsewhere.example/?token={TOKEN}")
        assert response.headers["location"] == "/elsewhere.example/"

    use_studio(use)


@pytest.mark.parametrize("cookie", [None, "", "wrong", TOKEN])
def test_without_the_cookie_there_is_no_data(cookie: str | None) -> None:
    async def use(client: httpx2.AsyncClient) -> None:
        headers = {} if cookie is None else {"cookie": f"{COOKIE}={cookie}"}
        response = await ask(client, **headers)
        assert response.status_code == 401
        assert response.json()["error"]["code"] == "studio-token-missing"

    use_studio(use)


def test_a_wrong_token_is_refused() -> None:
    async def use(client: httpx2.AsyncClient) -> None:
        response = await client.get("/?token=another")
        assert response.status_code == 401
        assert "set-cookie" not in response.headers

    use_studio(use)


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "http://localhost:3000", "http://127.0.0.1:8123", "null"]
)
def test_pages_of_other_origins_are_refused(origin: str) -> None:
    async def use(client: httpx2.AsyncClient) -> None:
        await get_in(client)
        assert (await ask(client, origin="http://localhost:8123")).status_code == 200
        assert (await ask(client, origin=origin)).status_code == 403

    use_studio(use)


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_data_is_for_the_same_origin_only(site: str) -> None:
    async def use(client: httpx2.AsyncClient) -> None:
        await get_in(client)
        response = await ask(client, **{"sec-fetch-site": site})
        assert response.status_code == 403

    use_studio(use)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8123", "8.8.8.8"])
@pytest.mark.parametrize("path", ["/", "/static/js/app.js", "/api/tables"])
def test_a_rebinding_host_is_refused(host: str, path: str) -> None:
    async def use(client: httpx2.AsyncClient) -> None:
        await get_in(client)
        method = "POST" if path.startswith("/api") else "GET"
        response = await client.request(method, path, headers={"host": host})
        assert response.status_code == 403

    use_studio(use)


def test_the_page_may_load_nothing_from_elsewhere() -> None:
    async def use(client: httpx2.AsyncClient) -> None:
        response = await client.get("/Market/design")
        policy = response.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self' 'sha256-")
        assert "unsafe" not in policy
        assert "http" not in policy
        assert "frame-ancestors 'none'" in policy
        assert response.headers["x-content-type-options"] == "nosniff"
        assert "https://" not in response.text

    use_studio(use)


def test_files_have_entity_tags_and_unknown_ones_are_not_found() -> None:
    async def use(client: httpx2.AsyncClient) -> None:
        found = await client.get("/static/js/app.js")
        assert found.headers["content-type"].startswith("text/javascript")
        tag = {"if-none-match": found.headers["etag"]}
        assert (await client.get("/static/js/app.js", headers=tag)).status_code == 304
        for path in ("/static/js/none.js", "/static/..%2f_app.py", "/static/index.html"):
            assert (await client.get(path)).status_code == 404

    use_studio(use)


def test_a_read_only_studio_writes_nothing() -> None:
    async def use(client: httpx2.AsyncClient) -> None:
        await get_in(client)
        response = await client.post("/api/edit/save", json={"table": "Market"})
        assert response.status_code == 403
        assert response.json()["error"]["code"] == "studio-read-only"

    use_studio(use, read_only=True)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"[", "request-malformed"),
        (b"[]", "request-malformed"),
        (b"{}", "request-malformed"),
        (b'{"table": 7}', "request-malformed"),
        (b'{"table": "None"}', "table-unknown"),
        (b'{"table": "Market", "as": {"roles": []}}', "request-malformed"),
        (b'{"table": "Market", "as": {"roles": ["nobody"]}}', "principal-invalid"),
        (b"[" * 100_000, "request-malformed"),
    ],
)
def test_bad_requests_get_a_clear_error(body: bytes, code: str) -> None:
    async def use(client: httpx2.AsyncClient) -> None:
        await get_in(client)
        response = await client.post("/api/table", content=body)
        assert 400 <= response.status_code < 500
        assert response.json()["error"]["code"] == code

    use_studio(use)


def test_unknown_actions_and_methods_are_refused() -> None:
    async def use(client: httpx2.AsyncClient) -> None:
        await get_in(client)
        assert (await client.post("/api/none", json={})).status_code == 404
        assert (await client.get("/events/none")).status_code == 404
        assert (await client.get("/api/tables")).status_code == 405
        assert (await client.post("/Market/items", json={})).status_code == 405

    use_studio(use)
