"""Patterns over HTTP: arguments, results, pages and problems."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime, timedelta
from decimal import Decimal
from io import StringIO
from typing import Any

import httpx2
import pytest

import keyfold
from keyfold import ALL, Entity, Get, Key, Put, Query, Role, Table
from keyfold.service import Caller, PageLimits, RateLimit, RateLimits
from tests.unit.service.serving import serving

notes = Table("Notes", key=Key("pk", "sk"))


class Note(Entity, table=notes, key=("USER#{user}", "NOTE#{number:06}")):
    """A note."""

    user: str
    number: int
    text: str = ""
    price: Decimal = Decimal(0)
    tags: tuple[str, ...] = ()
    at: datetime | None = None


@notes.pattern("Notes of a user", path="/users/{user}/notes")
def notes_of(user: str, tagged: tuple[str, ...] = ()) -> Query[Note]:
    """Get the notes of a user."""
    query = Note.query(user=user)
    for tag in tagged:
        query = query.where(Note.f.tags.contains(tag))
    return query


@notes.pattern("One note")
def one_note(user: str, number: int) -> Get[Note]:
    return Note.get(user=user, number=number)


@notes.pattern("Write a note")
def write_note(note: Note) -> Put[Note]:
    return note.create()


@notes.pattern("Write a note later")
def write_later(user: str, number: int, at: datetime, pause: timedelta) -> Put[Note]:
    return Note(user=user, number=number, at=at + pause).put()


@notes.pattern("A mistake")
def mistake(user: str) -> Get[Note]:
    if user != "{user}":
        raise LookupError(f"secret of {user}")
    return Note.get(user=user, number=1)


notes.add_role(Role("writer", tenant="user", can={Note: ALL}))
ADA = Caller(("writer",), {"user": "ada"})

Use = Callable[[httpx2.AsyncClient], Awaitable[None]]


def run(use: Use, caller: Caller | None = ADA, **options: Any) -> None:
    async def main() -> None:
        async with serving(notes, caller=caller, **options) as client:
            await use(client)

    asyncio.run(main())


def body_of(number: int, **fields: Any) -> dict[str, Any]:
    return {"note": {"user": "ada", "number": number, **fields}}


def test_a_write_and_a_read() -> None:
    async def use(client: httpx2.AsyncClient) -> None:
        wrote = await client.post("/note/write-note", json=body_of(1, text="x", price="1.25"))
        assert wrote.status_code == 200
        read = await client.get("/note/one-note", params={"user": "ada", "number": 1})
        assert read.status_code == 200
        assert read.json() == wrote.json()
        assert read.json() == {
            "user": "ada", "number": 1, "text": "x", "price": "1.25", "tags": [], "at": None
        }  # fmt: skip
        assert read.headers["content-type"] == "application/json"

    run(use)


def test_pages_are_followed_by_links() -> None:
    async def use(client: httpx2.AsyncClient) -> None:
        for number in range(7):
            await client.post("/note/write-note", json=body_of(number))
        page = await client.get("/users/ada/notes", headers={"prefer": "maxpagesize=3"})
        assert page.headers["preference-applied"] == "maxpagesize=3"
        assert page.headers["link"] == f'<{page.json()["next"]}>; rel="next"'
        seen = [each["number"] for each in page.json()["items"]]
        while page.json()["next"] is not None:
            page = await client.get(page.json()["next"])
            assert page.status_code == 200
            seen += [each["number"] for each in page.json()["items"]]
        assert seen == [*range(7)]

    run(use, pages=PageLimits(items=2))


def test_a_page_has_no_more_items_than_allowed() -> None:
    async def use(client: httpx2.AsyncClient) -> None:
        for number in range(4):
            await client.post("/note/write-note", json=body_of(number))
        page = await client.get("/users/ada/notes", headers={"prefer": "maxpagesize=1000"})
        assert len(page.json()["items"]) == 3
        assert page.headers["preference-applied"] == "maxpagesize=3"

    run(use, pages=PageLimits(items=2, most=3))


def test_lists_are_repeated_in_the_query() -> None:
    async def use(client: httpx2.AsyncClient) -> None:
        await client.post("/note/write-note", json=body_of(1, tags=["a"]))
        await client.post("/note/write-note", json=body_of(2, tags=["a", "b"]))
        page = await client.get("/users/ada/notes?tagged=a&tagged=b")
        assert [each["number"] for each in page.json()["items"]] == [2]

    run(use)


def test_a_time_without_a_zone_is_utc() -> None:
    async def use(client: httpx2.AsyncClient) -> None:
        sent = {"user": "ada", "number": 1, "at": "2026-01-01T00:00:00", "pause": "PT1H"}
        wrote = await client.post("/note/write-later", json=sent)
        assert wrote.json()["at"] == "2026-01-01T01:00:00Z"

    run(use)


def test_nothing_found_is_404() -> None:
    async def use(client: httpx2.AsyncClient) -> None:
        read = await client.get("/note/one-note?user=ada&number=1")
        assert read.status_code == 404
        assert read.headers["content-type"] == "application/problem+json"
        assert read.json() == {
            "type": "urn:keyfold:error:not-found",
            "title": "Not Found",
            "status": 404,
            "code": "not-found",
            "detail": "There is no such item.",
        }

    run(use)


def test_head_has_no_body() -> None:
    async def use(client: httpx2.AsyncClient) -> None:
        read = await client.head("/users/ada/notes")
        assert (read.status_code, read.content) == (200, b"")
        assert int(read.headers["content-length"]) > 0

    run(use)


def test_capacity_is_told_if_asked() -> None:
    async def use(client: httpx2.AsyncClient) -> None:
        wrote = await client.post(
            "/note/write-note", json=body_of(1), headers={"keyfold-capacity": "?1"}
        )
        assert wrote.headers["keyfold-capacity"] == "read=0, write=1"
        read = await client.get("/users/ada/notes", headers={"keyfold-capacity": "?1"})
        assert read.headers["keyfold-capacity"] == "read=0.5, write=0"
        assert "keyfold-capacity" not in (await client.get("/users/ada/notes")).headers

    run(use)


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("GET", "/nothing", None, 404, "path-unknown"),
        ("POST", "/users/ada/notes", b"{}", 405, "method-not-allowed"),
        ("GET", "/note/one-note?user=ada", None, 422, "value-invalid"),
        ("GET", "/note/one-note?user=ada&number=1&number=2", None, 422, "value-invalid"),
        ("GET", "/note/one-note?user=ada&number=x", None, 422, "value-invalid"),
        ("GET", "/note/one-note?user=ada&number=1&more=1", None, 422, "value-invalid"),
        ("GET", "/note/one-note?user=%ff&number=1", None, 400, "request-malformed"),
        ("GET", "/note/one-note?user", None, 400, "request-malformed"),
        ("GET", "/note/one-note?user=a%23b&number=1", None, 422, "key-part-invalid"),
        ("GET", "/users/ada/notes?cursor=forged", None, 400, "cursor-invalid"),
        ("POST", "/note/write-note", b"{", 400, "request-malformed"),
        ("POST", "/note/write-note", b"[]", 422, "value-invalid"),
        ("POST", "/note/write-note", b"", 422, "value-invalid"),
        ("POST", "/note/write-note", b'{"note": {}, "x": 1}', 422, "value-invalid"),
        ("GET", "/note/one-note?user=bob&number=1", None, 403, "access-denied"),
        ("GET", "/users/bob/notes", None, 403, "access-denied"),
        ("GET", "/note/mistake?user=ada", None, 500, "pattern-failed"),
    ],
)
def test_problems(method: str, path: str, body: bytes | None, status: int, code: str) -> None:
    async def use(client: httpx2.AsyncClient) -> None:
        headers = {"content-type": "application/json"}
        got = await client.request(method, path, content=body, headers=headers)
        assert (got.status_code, got.json()["code"]) == (status, code)
        assert got.headers["content-type"] == "application/problem+json"
        # No key, and nothing that the pattern's own error says.
        assert "USER#" not in got.text
        assert "secret" not in got.text

    run(use)


def test_the_first_of_two_creates_stays() -> None:
    async def use(client: httpx2.AsyncClient) -> None:
        await client.post("/note/write-note", json=body_of(1, text="first"))
        again = await client.post("/note/write-note", json=body_of(1, text="second"))
        assert (again.status_code, again.json()["code"]) == (409, "already-exists")
        read = await client.get("/note/one-note?user=ada&number=1")
        assert read.json()["text"] == "first"

    run(use)


def test_a_body_of_a_form_is_refused() -> None:
    async def use(client: httpx2.AsyncClient) -> None:
        got = await client.post("/note/write-note", data={"note": "1"})
        assert (got.status_code, got.json()["code"]) == (415, "media-type-unknown")

    run(use)


def test_a_large_body_is_refused() -> None:
    async def use(client: httpx2.AsyncClient) -> None:
        got = await client.post("/note/write-note", json=body_of(1, text="x" * 2_000))
        assert (got.status_code, got.json()["code"]) == (413, "request-too-large")

        async def chunks() -> AsyncIterator[bytes]:
            for _ in range(3):
                yield b" " * 500

        got = await client.post("/note/write-note", content=chunks())
        assert got.status_code == 413

    run(use, max_body=1_000)


def test_without_authentication_every_pattern_answers_401() -> None:
    async def use(client: httpx2.AsyncClient) -> None:
        for method, path in (("GET", "/users/ada/notes"), ("POST", "/note/write-note")):
            got = await client.request(method, path)
            assert (got.status_code, got.json()["code"]) == (401, "unauthenticated")
            assert got.headers["www-authenticate"]

    run(use, caller=None)


def test_an_open_store_is_served_and_stays_open() -> None:
    async def main() -> None:
        async with keyfold.open_async(notes, ":memory:") as store:
            async with serving(notes, store, caller=ADA) as client:
                await client.post("/note/write-note", json=body_of(1))
            assert await store.run(one_note("ada", 1)) is not None

    asyncio.run(main())


def test_a_batch_reads_several_patterns() -> None:
    async def use(client: httpx2.AsyncClient) -> None:
        for number in range(3):
            await client.post("/note/write-note", json=body_of(number))
        one: dict[str, Any] = {"pattern": "one_note", "arguments": {"user": "ada", "number": 1}}
        page = {"pattern": "notes_of", "arguments": {"user": "ada"}, "limit": 2}
        missing = {"pattern": "one_note", "arguments": {"user": "ada", "number": 9}}
        denied = {"pattern": "one_note", "arguments": {"user": "bob", "number": 1}}
        write = {"pattern": "write_note", "arguments": body_of(7)}
        unknown = {"pattern": "nothing"}
        sent = {"requests": [one, page, missing, denied, write, unknown]}
        got = (await client.post("/batch", json=sent)).json()["results"]
        assert [each["status"] for each in got] == [200, 200, 404, 403, 422, 404]
        assert got[0]["result"]["number"] == 1
        assert [each["number"] for each in got[1]["result"]] == [0, 1]
        more = {"requests": [{**page, "cursor": got[1]["cursor"]}]}
        [rest] = (await client.post("/batch", json=more)).json()["results"]
        assert [each["number"] for each in rest["result"]] == [2]
        assert (rest["cursor"], got[4]["problem"]["code"]) == (None, "batch-invalid")

    run(use)


BATCHES: list[Any] = [{}, {"requests": []}, {"requests": [{}] * 26}, [], {"x": 1}]


@pytest.mark.parametrize("body", BATCHES)
def test_a_batch_that_is_invalid(body: Any) -> None:
    async def use(client: httpx2.AsyncClient) -> None:
        assert (await client.post("/batch", json=body)).status_code == 422

    run(use)


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"host": "evil.example"},
        {"origin": "null"},
    ],
)
def test_pages_of_others_are_refused(headers: dict[str, str]) -> None:
    async def use(client: httpx2.AsyncClient) -> None:
        for path in ("/users/ada/notes", "/openapi.json"):
            got = await client.get(path, headers=headers)
            assert (got.status_code, got.json()["code"]) == (403, "origin-refused")

    run(use)


def test_a_caller_beyond_its_rate_has_to_wait() -> None:
    now = [0.0]

    async def use(client: httpx2.AsyncClient) -> None:
        for number in range(3):
            assert (await client.post("/note/write-note", json=body_of(number))).status_code == 200
        refused = await client.get("/users/ada/notes")
        assert (refused.status_code, refused.json()["code"]) == (429, "rate-limited")
        now[0] += float(refused.headers["retry-after"])
        assert (await client.get("/users/ada/notes")).status_code == 200

    limit = RateLimit(units_per_second=1, burst_units=3)
    run(use, limits=RateLimits(limit, monotonic=lambda: now[0]))


def test_health_readiness_and_metrics_need_no_credentials() -> None:
    async def use(client: httpx2.AsyncClient) -> None:
        assert (await client.get("/healthz")).json() == {"status": "alive"}
        assert (await client.get("/readyz")).json() == {"status": "ready"}
        await client.get("/users/ada/notes")
        metrics = (await client.get("/metrics")).text
        assert 'keyfold_errors_total{operation="notes_of",type="unauthenticated"} 1' in metrics

    run(use, caller=None)


def test_metrics_count_units_by_endpoint() -> None:
    async def use(client: httpx2.AsyncClient) -> None:
        await client.post("/note/write-note", json=body_of(1))
        metrics = (await client.get("/metrics")).text
        labels = '{table="Notes",operation="write_note"}'
        assert f"keyfold_capacity_units_total{labels} 1" in metrics

    run(use)


def test_requests_are_logged_without_arguments() -> None:
    stream = StringIO()

    async def use(client: httpx2.AsyncClient) -> None:
        got = await client.get("/note/one-note?user=bob&number=1")
        [line] = stream.getvalue().splitlines()
        assert json.loads(line) == {
            "time": "1970-01-01T00:00:00.000+00:00",
            "method": "GET",
            "path": "/note/one-note",
            "endpoint": "one_note",
            "caller": "writer",
            "status": 403,
            "code": "access-denied",
            "milliseconds": 0.0,
            "units": 0.0,
            "request_id": got.headers["x-request-id"],
        }

    run(use, request_log=stream, clock=lambda: 0.0, monotonic=lambda: 0.0)
