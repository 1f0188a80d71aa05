"""What a service does against web pages, greedy callers and hostile bodies, over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from keyfold import ALL, Entity, Get, Key, Put, Role, Table
from keyfold.service import Caller, RateLimit, RateLimits
from tests.unit.service.serving import serving
from tests.unit.service.tokens import Watch, open_files, shop, sign

diary = Table("ProtectedDiary", key=Key("pk", "sk"))


class Entry(Entity, table=diary, key=("USER#{user}", "ENTRY#{day}")):
    user: str
    day: str
    text: dict[str, Any] | str = ""


@diary.pattern("Entry of a day")
def entry_of(user: str, day: str) -> Get[Entry]:
    return Entry.get(user=user, day=day)


@diary.pattern("Add an entry")
def add_entry(entry: Entry) -> Put[Entry]:
    return entry.create()


@diary.pattern("A pattern that fails", path="/entries/{text}")
def failing(text: str) -> Get[Entry]:
    raise RuntimeError(text)


diary.add_role(Role("writer", tenant="user", can={Entry: ALL}))
diary.add_role(Role("reader", tenant="user", can={Entry: ALL}, is_end_user=True))
ADA, EVE = (Caller((role,), {"user": "ada"}) for role in ("writer", "reader"))

ENTRY = {"user": "ada", "day": "2026-07-01"}


def run(use: Callable[[httpx2.AsyncClient], Awaitable[None]], table: Table, **options: Any) -> None:
    async def main() -> None:
        async with serving(table, **options) as client:
            await use(client)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 404),
        ({"host": "localhost:8000"}, 404),
        ({"host": "evil.example"}, 403),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://localhost:3000"}, 404),
        ({"origin": "https://app.example"}, 404),
    ],
)
def test_web_pages_of_others_are_kept_out(headers: dict[str, str], status: int) -> None:
    async def use(client: httpx2.AsyncClient) -> None:
        response = await client.get("/entry/entry-of", params=ENTRY, headers=headers)
        assert response.status_code == status
        assert response.json()["code"] != "path-unknown"
        if status == 403:
            assert response.json()["code"] == "origin-refused"
            assert "access-control-allow-origin" not in response.headers

    run(use, diary, caller=ADA, allow_origin=["https://app.example"])


def test_a_caller_that_has_used_its_capacity_has_to_wait() -> None:
    watch = Watch()

    async def use(client: httpx2.AsyncClient) -> None:
        async def get() -> httpx2.Response:
            return await client.get("/entry/entry-of", params=ENTRY)

        # Two requests of half a unit each, which find nothing.
        assert [(await get()).status_code for _ in range(3)] == [404, 404, 429]
        refused = await get()
        assert refused.headers["retry-after"] == "1"
        assert refused.json()["code"] == "rate-limited"
        watch.now += 1.1
        assert (await get()).status_code == 404

    limits = RateLimits(RateLimit(units_per_second=1, burst_units=1), monotonic=watch)
    run(use, diary, caller=ADA, limits=limits)


def test_a_request_that_fails_is_charged_too() -> None:
    limits = RateLimits(RateLimit(units_per_second=1, burst_units=1), monotonic=Watch())

    async def use(client: httpx2.AsyncClient) -> None:
        path = "/entry/add-entry"
        assert (await client.post(path, json={"entry": ENTRY})).status_code == 200
        limits._buckets.clear()
        statuses = [(await client.post(path, json={"entry": ENTRY})).status_code for _ in range(3)]
        assert statuses == [409, 409, 429]

    run(use, diary, caller=ADA, limits=limits)


def test_the_reads_of_a_batch_are_charged_even_if_they_fail() -> None:
    limits = RateLimits(RateLimit(units_per_second=1, burst_units=4), monotonic=Watch())
    denied = {"pattern": "entry_of", "arguments": {"user": "bob", "day": "1"}}

    async def use(client: httpx2.AsyncClient) -> None:
        body = {"requests": [denied] * 10}
        assert [(await client.post("/batch", json=body)).status_code for _ in range(2)] == [
            200,
            429,
        ]

    run(use, diary, caller=ADA, limits=limits)


def test_replayed_answers_are_charged() -> None:
    limits = RateLimits(RateLimit(units_per_second=1, burst_units=4), monotonic=Watch())

    async def use(client: httpx2.AsyncClient) -> None:
        async def post() -> int:
            response = await client.post(
                "/entry/add-entry", json={"entry": ENTRY}, headers={"idempotency-key": "k"}
            )
            return response.status_code

        assert [await post() for _ in range(5)] == [200, 200, 200, 429, 429]

    run(use, diary, caller=ADA, limits=limits)


@pytest.mark.parametrize("caller", [ADA, EVE])
@pytest.mark.parametrize("depth", [200, 300, 1_000, 10_000])
def test_a_body_that_is_nested_too_deep_is_refused(caller: Caller, depth: int) -> None:
    deep = '{"a":' * depth + "1" + "}" * depth
    body = f'{{"entry": {{"user": "ada", "day": "1", "text": {deep}}}}}'

    async def use(client: httpx2.AsyncClient) -> None:
        headers = {"content-type": "application/json"}
        response = await client.post("/entry/add-entry", content=body, headers=headers)
        assert response.status_code in (400, 422)
        assert response.json()["code"] in ("request-malformed", "value-invalid", "size-exceeded")

    run(use, diary, caller=caller)


def test_repeated_credentials_are_refused(tmp_path: Path) -> None:
    one = ("authorization", f"Bearer {sign()}")

    async def use(client: httpx2.AsyncClient) -> None:
        for headers in ([one, one], [one, ("authorization", "Bearer x")]):
            response = await client.get("/buyer/buyer", params={"user": "ada"}, headers=headers)
            assert response.status_code == 401
            assert response.headers["www-authenticate"].startswith("Bearer")
        assert (await client.get("/buyer/buyer?user=ada", headers=[one])).status_code == 404
        response = await client.get("/buyer/buyer?user=bob", headers=[one])
        assert (response.status_code, response.json()["code"]) == (403, "access-denied")

    run(use, shop, authenticator=open_files(tmp_path).authenticator)


def test_faults_are_logged_with_their_path_as_it_was_sent(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def use(client: httpx2.AsyncClient) -> None:
        response = await client.get("/entries/a%0Aroot%20logged%20in")
        assert (response.status_code, response.json()["code"]) == (500, "pattern-failed")
        assert "GET /entries/a%0Aroot%20logged%20in failed" in caplog.text

    run(use, diary, caller=ADA)


def test_a_service_that_stops_is_no_fault(caplog: pytest.LogCaptureFixture) -> None:
    async def use(client: httpx2.AsyncClient) -> None:
        transport: Any = client._transport
        transport.app.drain()
        for path in ("/readyz", "/changes"):
            response = await client.get(path)
            assert (response.status_code, response.json()["code"]) == (503, "draining")
        assert caplog.text == ""

    run(use, diary, caller=ADA)
