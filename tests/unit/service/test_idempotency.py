"""A write with an idempotency key is carried out once, whatever happens in between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from keyfold import ALL, Entity, Expiry, Get, Key, Put, Role, Table, Update
from keyfold.engine import Engine
from keyfold.errors import (
    IdempotencyKeyInvalid,
    InternalServerError,
    OptionInvalid,
    ProvisionedThroughputExceededException,
)
from keyfold.requests import Chain
from keyfold.service import Caller
from keyfold.service._idempotency import IdempotencyKeys, read_key, to_canonical_json
from keyfold.store import AsyncStore, StoreSettings
from keyfold.testing import Clock
from tests.unit.service.serving import serving

notes = Table("KeyedNotes", key=Key("pk", "sk"), ttl="expires")


class KeyedNote(Entity, table=notes, key=("USER#{user}", "NOTE#{number:03}")):
    user: str
    number: int
    text: str = ""
    reads: int = 0
    expires: Expiry | None = None


@notes.pattern("Write a note")
def write_note(user: str, number: int, text: str = "") -> Put[KeyedNote]:
    return KeyedNote(user=user, number=number, text=text).create()


@notes.pattern("Count a reader")
def count_reader(user: str, number: int) -> Update[KeyedNote]:
    return KeyedNote.update(user=user, number=number).add(KeyedNote.f.reads, 1)


@notes.pattern("Count a reader, and read")
def count_and_read(user: str, number: int) -> Chain[KeyedNote | None]:
    counted = KeyedNote.update(user=user, number=number).add(KeyedNote.f.reads, 1)
    return counted.then(lambda note: KeyedNote.get(user=user, number=note.number).consistent())


@notes.pattern("Read a note")
def read_note(user: str, number: int) -> Get[KeyedNote]:
    return KeyedNote.get(user=user, number=number)


notes.add_role(Role("writer", tenant="user", can={KeyedNote: ALL}))
notes.add_role(Role("editor", can={KeyedNote: ALL}))
ADA = Caller(("writer",), {"user": "ada"})
EDITOR = Caller(("editor",), {})
WRITE, COUNT, READ = (
    "/keyed-note/write-note",
    "/keyed-note/count-reader",
    "/keyed-note/count-and-read",
)
START = 1_800_000_000.0


class Crash(BaseException):
    """The process ends here, as far as the request can tell."""


Fault = Callable[[str, dict[str, Any]], BaseException | None]


def no_fault(operation: str, request: dict[str, Any]) -> None:
    return None


class FaultyExecutor:
    """An engine that fails before or after calls, as a test says."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.before: Fault = no_fault
        self.after: Fault = no_fault
        self.pause: Callable[[str, dict[str, Any]], Awaitable[None]] | None = None
        self.calls: list[str] = []

    async def execute(self, operation: str, request: dict[str, Any], /) -> dict[str, Any]:
        if self.pause is not None:
            await self.pause(operation, request)
        if (error := self.before(operation, request)) is not None:
            raise error
        self.calls.append(operation)
        response = self.engine.execute(operation, request)
        if (error := self.after(operation, request)) is not None:
            raise error
        return response

    def records(self) -> list[dict[str, Any]]:
        items = self.engine.execute("Scan", {"TableName": "KeyedNotes"})["Items"]
        return [each for each in items if each["pk"]["S"].startswith("keyfold#")]

    def note(self, number: int = 1) -> dict[str, Any] | None:
        key = {"pk": {"S": "USER#ada"}, "sk": {"S": f"NOTE#{number:03}"}}
        return self.engine.execute("GetItem", {"TableName": "KeyedNotes", "Key": key}).get("Item")


class Lab:
    """A service on a database that can fail, with a clock that a test moves."""

    def __init__(
        self,
        executor: FaultyExecutor,
        clock: Clock,
        client: httpx2.AsyncClient,
        store: AsyncStore,
    ) -> None:
        self.executor, self.clock, self.client, self.store = executor, clock, client, store

    async def post(self, path: str, key: str | None, **body: Any) -> httpx2.Response:
        headers = {} if key is None else {"idempotency-key": key}
        return await self.client.post(
            path, json={"user": "ada", "number": 1, **body}, headers=headers
        )


@asynccontextmanager
async def open_lab(caller: Caller = ADA, path: Path | str = ":memory:") -> AsyncGenerator[Lab]:
    clock = Clock(START)
    with Engine.open(path, clock=clock, upkeep_seconds=None) as engine:
        executor = FaultyExecutor(engine)
        secret = engine.keep_secret("test")
        store = AsyncStore(
            executor,
            StoreSettings(
                [notes], cursor_key=secret, clock=clock, jitter=lambda: 0.0, is_embedded=True
            ),
            sleep=_no_sleep,
        )
        await store.create_table(notes)
        executor.calls.clear()
        async with serving(notes, store, caller=caller) as client:
            yield Lab(executor, clock, client, store)


async def _no_sleep(seconds: float) -> None:
    return None


def in_lab(use: Callable[[Lab], Awaitable[None]], **options: Any) -> None:
    async def main() -> None:
        async with open_lab(**options) as lab:
            await use(lab)

    asyncio.run(main())


def is_record(request: dict[str, Any]) -> bool:
    item: Any = request.get("Item") or request.get("Key") or {}
    return item.get("pk", {}).get("S", "").startswith("keyfold#")


def fail_on_answers(error: BaseException) -> Fault:
    """Return a fault of the call that keeps an answer."""

    def fail(operation: str, request: dict[str, Any]) -> BaseException | None:
        is_pending = "keyfold_request_lease" in request.get("Item", {})
        return error if operation == "PutItem" and is_record(request) and not is_pending else None

    return fail


# Repeated requests.


def test_a_repeated_request_gets_the_first_answer() -> None:
    async def use(lab: Lab) -> None:
        first = await lab.post(WRITE, "k1", text="x")
        again = await lab.post(WRITE, "k1", text="x")
        assert (first.status_code, again.status_code) == (200, 200)
        assert again.content == first.content
        assert again.headers["content-type"] == first.headers["content-type"]
        assert again.headers["idempotency-replayed"] == "true"
        assert "idempotency-replayed" not in first.headers
        other = await lab.post(WRITE, "k2", text="x")
        assert (other.status_code, other.json()["code"]) == (409, "already-exists")

    in_lab(use)


def test_a_key_is_the_same_quoted_or_not_and_so_is_the_body_in_another_layout() -> None:
    async def use(lab: Lab) -> None:
        await lab.post(WRITE, "k1")
        body = b'{ "number" : 1,\n"user":"ada"}'
        headers = {"idempotency-key": '"k1"', "content-type": "application/json"}
        again = await lab.client.post(WRITE, content=body, headers=headers)
        assert again.headers["idempotency-replayed"] == "true"

    in_lab(use)


def test_another_request_with_the_same_key_is_refused() -> None:
    async def use(lab: Lab) -> None:
        await lab.post(WRITE, "k1", text="x")
        for path, body in ((WRITE, {"text": "y"}), (WRITE, {}), (COUNT, {})):
            other = await lab.post(path, "k1", **body)
            assert (other.status_code, other.json()["code"]) == (422, "idempotency-key-reused")
        assert lab.executor.note() == {**(lab.executor.note() or {}), "text": {"S": "x"}}

    in_lab(use)


def test_keys_of_two_principals_are_apart() -> None:
    async def main() -> None:
        async with open_lab() as lab, serving(notes, lab.store, caller=EDITOR) as client:
            first = await lab.post(COUNT, "k1")
            assert first.status_code == 404
            await lab.post(WRITE, "k2")
            headers = {"idempotency-key": "k2"}
            other = await client.post(COUNT, json={"user": "ada", "number": 1}, headers=headers)
            assert (other.status_code, other.json()["reads"]) == (200, 1)
            assert "idempotency-replayed" not in other.headers

    asyncio.run(main())


def test_answers_survive_a_restart_and_a_day_ends_them(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"

    async def main() -> None:
        async with open_lab(path=path) as lab:
            await lab.post(WRITE, None)
            first = await lab.post(COUNT, "k1")
        async with open_lab(path=path) as lab:
            again = await lab.post(COUNT, "k1")
            assert again.content == first.content
            assert again.headers["idempotency-replayed"] == "true"
            lab.clock.advance(86_399)
            assert (await lab.post(COUNT, "k1")).json()["reads"] == 1
            lab.clock.advance(1)
            assert (await lab.post(COUNT, "k1")).json()["reads"] == 2

    asyncio.run(main())


def test_reads_ignore_the_key() -> None:
    async def use(lab: Lab) -> None:
        await lab.post(WRITE, None)
        lab.executor.calls.clear()
        parameters = {"user": "ada", "number": "1"}
        found = await lab.client.get(
            "/keyed-note/read-note", params=parameters, headers={"idempotency-key": "two words"}
        )
        assert found.status_code == 200
        assert lab.executor.calls == ["GetItem"]

    in_lab(use)


def test_a_request_without_a_key_makes_no_record() -> None:
    async def use(lab: Lab) -> None:
        await lab.post(WRITE, None)
        assert lab.executor.calls == ["PutItem"]
        await lab.post(COUNT, "k1")
        assert lab.executor.calls == ["PutItem", "PutItem", "UpdateItem", "PutItem"]

    in_lab(use)


# What a record shows.


def test_a_record_shows_nothing_of_the_request_and_expires() -> None:
    async def use(lab: Lab) -> None:
        await lab.post(WRITE, "my-key", text="my text")
        (record,) = lab.executor.records()
        # Three letters alone may occur in what is sealed.
        for secret in ("my-key", "my text", "'ada'", '"ada"', "#ada", "writer", "write_note"):
            assert secret not in repr(record)
        assert (
            record["expires"] == record["keyfold_request_expiry"] == {"N": str(int(START) + 86_400)}
        )
        found = await lab.client.get("/keyed-note/read-note", params={"user": "ada", "number": "1"})
        assert found.status_code == 200

    in_lab(use)


def test_the_answer_of_another_record_is_not_believed() -> None:
    async def use(lab: Lab) -> None:
        await lab.post(WRITE, "k1")
        await lab.post(WRITE, "k2", number=2)
        one, other = lab.executor.records()
        forged = {**one, "keyfold_request_answer": other["keyfold_request_answer"]}
        lab.executor.engine.execute("PutItem", {"TableName": "KeyedNotes", "Item": forged})
        codes = [
            (await lab.post(WRITE, "k1")).json().get("code"),
            (await lab.post(WRITE, "k2", number=2)).json().get("code"),
        ]
        assert sorted(codes, key=str) == [None, "earlier-outcome-unknown"]

    in_lab(use)


# Two at once, and crashes.


def test_two_equal_requests_at_once_run_once() -> None:
    async def use(lab: Lab) -> None:
        await lab.post(WRITE, None)
        running, done = asyncio.Event(), asyncio.Event()

        async def pause(operation: str, _: dict[str, Any]) -> None:
            if operation == "UpdateItem":
                running.set()
                await done.wait()

        lab.executor.pause = pause
        first = asyncio.create_task(lab.post(COUNT, "k1"))
        await running.wait()
        second = await lab.post(COUNT, "k1")
        assert (second.status_code, second.json()["code"]) == (409, "request-in-progress")
        assert second.headers["retry-after"] == "1"
        done.set()
        assert (await first).json()["reads"] == 1
        assert (await lab.post(COUNT, "k1")).json()["reads"] == 1
        # Whichever comes first: they run once.
        both = await asyncio.gather(*(lab.post(COUNT, "k2") for _ in range(8)))
        assert {each.status_code for each in both} <= {200, 409}
        assert (await lab.post(COUNT, "k2")).json()["reads"] == 2

    in_lab(use)


def test_a_crash_before_the_answer_is_kept_never_repeats_the_write() -> None:
    async def use(lab: Lab) -> None:
        await lab.post(WRITE, None)
        lab.executor.before = fail_on_answers(Crash())
        with pytest.raises(Crash):
            await lab.post(COUNT, "k1")
        lab.executor.before = no_fault
        waiting = await lab.post(COUNT, "k1")
        assert (waiting.status_code, waiting.json()["code"]) == (409, "request-in-progress")
        lab.clock.advance(61)
        unknown = await lab.post(COUNT, "k1")
        assert (unknown.status_code, unknown.json()["code"]) == (409, "earlier-outcome-unknown")
        assert "new key" in unknown.json()["detail"]
        other = await lab.post(COUNT, "k1", number=2)
        assert other.json()["code"] == "idempotency-key-reused"
        assert (lab.executor.note() or {})["reads"] == {"N": "1"}

    in_lab(use)


def test_an_answer_that_cannot_be_kept_is_still_given() -> None:
    async def use(lab: Lab) -> None:
        await lab.post(WRITE, None)
        slow = ProvisionedThroughputExceededException("slow down")
        lab.executor.before = fail_on_answers(slow)
        first = await lab.post(COUNT, "k1")
        assert (first.status_code, first.json()["reads"]) == (200, 1)
        lab.clock.advance(61)
        assert (await lab.post(COUNT, "k1")).json()["code"] == "earlier-outcome-unknown"

    in_lab(use)


def test_a_record_whose_response_was_lost_is_the_request_s_own() -> None:
    async def use(lab: Lab) -> None:
        lost = [InternalServerError("lost")]
        lab.executor.after = lambda _, request: lost.pop() if is_record(request) and lost else None
        assert (await lab.post(WRITE, "k1")).status_code == 200
        assert (await lab.post(WRITE, "k1")).headers["idempotency-replayed"] == "true"

    in_lab(use)


# Requests that fail.


def test_a_request_that_wrote_nothing_leaves_no_record() -> None:
    async def use(lab: Lab) -> None:
        assert (await lab.post(COUNT, "k1")).status_code == 404
        assert (await lab.post(WRITE, "k2", user="bob")).status_code == 403
        assert (await lab.post(WRITE, "k3", number="x")).status_code == 422
        assert lab.executor.records() == []
        await lab.post(WRITE, None)
        assert (await lab.post(COUNT, "k1")).json()["reads"] == 1

    in_lab(use)


def test_a_request_that_was_throttled_may_be_sent_again() -> None:
    async def use(lab: Lab) -> None:
        await lab.post(WRITE, None)
        slow = ProvisionedThroughputExceededException("slow down")
        lab.executor.before = lambda operation, _: slow if operation == "UpdateItem" else None
        assert (await lab.post(COUNT, "k1")).status_code == 503
        lab.executor.before = no_fault
        again = await lab.post(COUNT, "k1")
        assert (again.status_code, again.json()["reads"]) == (200, 1)

    in_lab(use)


def test_a_write_whose_response_was_lost_is_not_repeated() -> None:
    async def use(lab: Lab) -> None:
        await lab.post(WRITE, None)
        lost = InternalServerError("lost")
        lab.executor.after = lambda operation, _: lost if operation == "UpdateItem" else None
        first = await lab.post(COUNT, "k1")
        assert (first.status_code, first.json()["code"]) == (504, "outcome-unknown")
        lab.executor.after = no_fault
        # At once: nobody waits for a lease that has ended.
        assert (await lab.post(COUNT, "k1")).json()["code"] == "earlier-outcome-unknown"
        assert (lab.executor.note() or {})["reads"] == {"N": "1"}

    in_lab(use)


def test_a_read_that_fails_after_the_write_does_not_make_the_write_repeatable() -> None:
    async def use(lab: Lab) -> None:
        await lab.post(WRITE, None)
        slow = ProvisionedThroughputExceededException("slow down")
        lab.executor.before = lambda operation, request: (
            slow if operation == "GetItem" and not is_record(request) else None
        )
        assert (await lab.post(READ, "k1")).status_code == 503
        lab.executor.before = no_fault
        assert (await lab.post(READ, "k1")).json()["code"] == "earlier-outcome-unknown"
        assert (lab.executor.note() or {})["reads"] == {"N": "1"}

    in_lab(use)


def test_an_answer_that_is_too_large_is_not_kept_but_its_status_is() -> None:
    async def use(lab: Lab) -> None:
        # Control characters take six bytes each in JSON.
        text = "\x01" * 100_000
        first = await lab.post(WRITE, "k1", text=text)
        assert first.status_code == 200
        assert len(first.content) > 400_000
        again = await lab.post(WRITE, "k1", text=text)
        assert (again.status_code, again.json()["code"]) == (409, "answer-not-kept")
        assert "status 200" in again.json()["detail"]

    in_lab(use)


# Keys and tables.


@pytest.mark.parametrize(
    ("key", "fact"),
    [
        ("", "it is empty"),
        ('""', "it is empty"),
        ("x" * 256, "it has 256 characters"),
        ("two words", "it has a space"),
        ("k\x7f", "it has a space, a control"),
        ("é", "one beyond ASCII"),
    ],
)
def test_an_invalid_key_is_refused(key: str, fact: str) -> None:
    with pytest.raises(IdempotencyKeyInvalid, match=fact):
        read_key(key)


@pytest.mark.parametrize("key", ["x", "x" * 255, '"', "a,b;c", "!~"])
def test_any_visible_text_is_a_key(key: str) -> None:
    assert read_key(f" {key} ") == key


def test_an_invalid_key_is_a_problem() -> None:
    async def use(lab: Lab) -> None:
        found = await lab.post(WRITE, "two words")
        assert (found.status_code, found.json()["code"]) == (400, "idempotency-key-invalid")
        assert lab.executor.note() is None

    in_lab(use)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b"1", b'"1"'),
        (b"12345678901234567890123", b"12345678901234567890124"),
        (b"[1, 2]", b"[2, 1]"),
        (b"null", b""),
        (b'{"a": 1}', b'{"a": 1.5}'),
    ],
)
def test_different_bodies_are_told_apart(one: bytes, other: bytes) -> None:
    assert to_canonical_json(one) != to_canonical_json(other)


def test_a_table_with_other_keys_is_served_without_idempotency_keys(
    caplog: pytest.LogCaptureFixture,
) -> None:
    table = Table("Numbered", key=Key("id"))

    class Numbered(Entity, table=table, key="{id}"):
        id: int
        text: str = ""

    @table.pattern("Write one")
    def write_one(id: int) -> Put[Numbered]:  # noqa: A002 - as the attribute is called
        return Numbered(id=id).put()

    table.add_role(Role("writer", can={Numbered: ALL}))

    async def main() -> None:
        async with serving(table, caller=Caller(("writer",), {})) as client:
            plain = await client.post("/numbered/write-one", json={"id": 1})
            assert plain.status_code == 200
            headers = {"idempotency-key": "k"}
            keyed = await client.post("/numbered/write-one", json={"id": 1}, headers=headers)
            assert (keyed.status_code, keyed.json()["code"]) == (400, "idempotency-keys-off")

    asyncio.run(main())
    assert "whose partition key is of type N" in caplog.text


by_number = Table("SortedByNumber", key=Key("pk", "sk"))
by_bytes = Table("SortedByBytes", key=Key("pk", "sk"))


class NumberedPage(Entity, table=by_number, key=("{pk}", "{sk}")):
    pk: str
    sk: int


class BinaryPage(Entity, table=by_bytes, key=("{pk}", "{sk}")):
    pk: str
    sk: bytes


@by_number.pattern("Write one", path="/write")
def write_numbered(pk: str) -> Put[NumberedPage]:
    return NumberedPage(pk=pk, sk=1).create()


@by_bytes.pattern("Write one", path="/write")
def write_binary(pk: str) -> Put[BinaryPage]:
    return BinaryPage(pk=pk, sk=b"1").create()


by_number.add_role(Role("writer", can={NumberedPage: ALL}))
by_bytes.add_role(Role("writer", can={BinaryPage: ALL}))


@pytest.mark.parametrize("table", [by_number, by_bytes])
def test_a_sort_key_may_be_of_any_type(table: Table) -> None:
    async def main() -> None:
        async with serving(table, caller=Caller(("writer",), {})) as client:
            for replayed in (None, "true"):
                headers = {"idempotency-key": "k"}
                found = await client.post("/write", json={"pk": "x"}, headers=headers)
                assert found.status_code == 200
                assert found.headers.get("idempotency-replayed") == replayed

    asyncio.run(main())


def test_a_store_without_a_key_keeps_no_records() -> None:
    with Engine.open(":memory:") as engine, pytest.raises(OptionInvalid, match="cursor_key"):
        IdempotencyKeys(AsyncStore(FaultyExecutor(engine), StoreSettings([notes])), notes)
