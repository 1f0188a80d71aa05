"""Cross-origin requests: pages of accepted origins may send them and see the responses, others may not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import httpx2
import pytest

from tests.unit.service.serving import serving
from tests.unit.service.test_app import ADA, body_of, notes

APP, EVIL = "https://app.example", "https://evil.example"
ACCEPTED = [APP, "http://localhost:3000", "http://127.0.0.1"]
PATH = "/note/write-note"


def run(use: Callable[[httpx2.AsyncClient], Awaitable[None]], *, is_known: bool = True) -> None:
    async def main() -> None:
        caller = ADA if is_known else None
        async with serving(notes, caller=caller, allow_origin=[APP]) as client:
            await use(client)

    asyncio.run(main())


def ask(origin: str, **more: str) -> dict[str, str]:
    return {"origin": origin, "access-control-request-method": "POST", **more}


def shared(response: httpx2.Response) -> set[str]:
    return {name for name in response.headers if name.startswith("access-control-")}


@pytest.mark.parametrize("origin", ACCEPTED)
@pytest.mark.parametrize("path", [PATH, "/changes", "/nowhere"])
@pytest.mark.parametrize("is_known", [True, False])
def test_a_preflight_needs_no_credentials(origin: str, path: str, is_known: bool) -> None:
    async def use(client: httpx2.AsyncClient) -> None:
        response = await client.options(path, headers=ask(origin))
        assert (response.status_code, response.content) == (204, b"")
        assert response.headers["access-control-allow-origin"] == origin
        assert response.headers["vary"] == "Origin"
        assert "POST" in response.headers["access-control-allow-methods"]
        allowed = response.headers["access-control-allow-headers"].split(", ")
        assert {"Authorization", "X-Api-Key", "Idempotency-Key", "If-Match"} <= {*allowed}
        assert "access-control-allow-credentials" not in response.headers
        assert "access-control-allow-private-network" not in response.headers

    run(use, is_known=is_known)


def test_a_preflight_may_ask_for_a_private_network() -> None:
    async def use(client: httpx2.AsyncClient) -> None:
        headers = ask(APP) | {"access-control-request-private-network": "true"}
        response = await client.options(PATH, headers=headers)
        assert response.headers["access-control-allow-private-network"] == "true"

    run(use)


def test_responses_are_shared_with_pages_of_accepted_origins() -> None:
    async def use(client: httpx2.AsyncClient) -> None:
        headers = {"origin": APP}
        responses = [
            await client.post(PATH, json=body_of(1), headers=headers),
            await client.post(PATH, json=body_of(1), headers=headers),
            await client.get("/nowhere", headers=headers),
            await client.get("/openapi.json", headers=headers),
        ]
        assert [each.status_code for each in responses] == [200, 409, 404, 200]
        for each in responses:
            assert each.headers["access-control-allow-origin"] == APP
            assert "Link" in each.headers["access-control-expose-headers"]
            assert each.headers["vary"] == "Origin"

    run(use)


def test_others_are_refused_and_see_nothing() -> None:
    async def use(client: httpx2.AsyncClient) -> None:
        asked = await client.options(PATH, headers=ask(EVIL))
        sent = await client.post(PATH, json=body_of(1), headers={"origin": EVIL})
        for each in (asked, sent):
            assert (each.status_code, each.json()["code"]) == (403, "origin-refused")
            assert shared(each) == set()

    run(use)


def test_requests_without_an_origin_are_as_before() -> None:
    async def use(client: httpx2.AsyncClient) -> None:
        response = await client.post(PATH, json=body_of(1))
        assert (response.status_code, shared(response)) == (200, set())
        assert "vary" not in response.headers
        assert (await client.options(PATH)).status_code == 405

    run(use)
