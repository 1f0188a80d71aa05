"""Entity tags: reads that a client need not repeat, and writes that depend on what it has read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from decimal import Decimal
from typing import Any

import httpx2
import pytest

from keyfold import ALL, Delete, Entity, Expiry, Get, Key, Put, Role, Table, Update, Version
from keyfold import transaction as transact
from keyfold.engine import Engine
from keyfold.errors import PreconditionInvalid
from keyfold.model import Transaction, UpdatedAt
from keyfold.requests import Mapped, Upsert
from keyfold.service import Caller
from keyfold.service._entity_tags import EntityTags, TagList, read_tags
from keyfold.store import AsyncStore, StoreSettings
from keyfold.testing import Clock
from tests.unit.service.serving import serving

tagged = Table("Tagged", key=Key("pk", "sk"), ttl="expires")


class Card(Entity, table=tagged, key=("CARD#{id}", "CARD")):
    """An entity without a version."""

    id: str
    text: str = ""
    price: Decimal = Decimal(0)
    tags: frozenset[str] = frozenset()
    data: bytes | None = None
    note: str | None = None
    expires: Expiry | None = None


class Counter(Entity, table=tagged, key=("COUNTER#{id}", "COUNTER")):
    """An entity with a version."""

    id: str
    count: int = 0
    version: Version = 0


class Stamped(Entity, table=tagged, key=("STAMPED#{id}", "STAMPED")):
    """An entity that is completed when it is written."""

    id: str
    email: str | None = None
    updated: UpdatedAt | None = None


@tagged.pattern("Read a card", path="/cards/{id}")
def read_card(id: str) -> Get[Card]:  # noqa: A002 - as the field is called
    return Card.get(id=id)


@tagged.pattern("Put a card", path="/put-card")
def put_card(card: Card) -> Put[Card]:
    return card.put()


@tagged.pattern("Create a card", path="/create-card")
def create_card(card: Card) -> Put[Card]:
    return card.create()


@tagged.pattern("Replace a card", path="/replace-card")
def replace_card(card: Card) -> Put[Card]:
    return card.replace()


@tagged.pattern("Change a card", path="/change-card")
def change_card(id: str, text: str) -> Update[Card]:  # noqa: A002 - as above
    return Card.update(id=id).set(Card.f.text, text).where(Card.f.price.eq(Decimal(0)))


@tagged.pattern("Change a card, mapped", path="/map-card")
def map_card(id: str, text: str) -> Mapped[str]:  # noqa: A002 - as above
    return Card.update(id=id).set(Card.f.text, text).map(lambda card, _: card.text)


@tagged.pattern("Delete a card", path="/delete-card")
def delete_card(id: str) -> Delete[Card]:  # noqa: A002 - as above
    return Card.delete(id=id)


@tagged.pattern("Change two cards", path="/two-cards")
def two_cards(id: str) -> Transaction:  # noqa: A002 - as above
    return transact(Card.delete(id=id), Card(id="other").put())


@tagged.pattern("Upsert a card", path="/upsert-card")
def upsert_card(id: str, text: str) -> Upsert[Card]:  # noqa: A002 - as above
    return Card.update(id=id).set(Card.f.text, text).or_create()


@tagged.pattern("Read a counter", path="/counters/{id}")
def read_counter(id: str) -> Get[Counter]:  # noqa: A002 - as above
    return Counter.get(id=id)


@tagged.pattern("Count", path="/count")
def count(id: str) -> Update[Counter]:  # noqa: A002 - as above
    return Counter.update(id=id).add(Counter.f.count, 1)


@tagged.pattern("Delete a counter", path="/delete-counter")
def delete_counter(id: str) -> Delete[Counter]:  # noqa: A002 - as above
    return Counter.delete(id=id)


@tagged.pattern("Create a counter", path="/create-counter")
def create_counter(id: str) -> Put[Counter]:  # noqa: A002 - as above
    return Counter(id=id).put()


@tagged.pattern("Put a stamped entity", path="/put-stamped")
def put_stamped(id: str, email: str) -> Put[Stamped]:  # noqa: A002 - as above
    return Stamped(id=id, email=email).put()


tagged.add_role(Role("editor", can={Card: ALL, Counter: ALL, Stamped: ALL}))
EDITOR = Caller(("editor",), {})


class RacyExecutor:
    """An engine on which another client writes after a read, if a test says so."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.after_read: Callable[[], Any] | None = None

    async def execute(self, operation: str, request: dict[str, Any], /) -> dict[str, Any]:
        response = self.engine.execute(operation, request)
        if operation == "GetItem" and self.after_read is not None:
            meanwhile, self.after_read = self.after_read, None
            meanwhile()
        return response

    def set(self, **attributes: Any) -> None:
        key = {"pk": {"S": "CARD#1"}, "sk": {"S": "CARD"}}
        item = self.engine.execute("GetItem", {"TableName": "Tagged", "Key": key}).get("Item", key)
        self.engine.execute("PutItem", {"TableName": "Tagged", "Item": {**item, **attributes}})


class TagClient:
    """A client of a service, which returns status, code and tag."""

    def __init__(self, client: httpx2.AsyncClient, executor: RacyExecutor, clock: Clock) -> None:
        self.client, self.executor, self.clock = client, executor, clock

    async def get(self, path: str, **headers: str) -> httpx2.Response:
        return await self.client.get(path, headers=_named(headers))

    async def post(self, path: str, body: dict[str, Any], **headers: str) -> httpx2.Response:
        return await self.client.post(path, json=body, headers=_named(headers))


def _named(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): text for name, text in headers.items()}


@asynccontextmanager
async def open_client() -> AsyncGenerator[TagClient]:
    clock = Clock(1_800_000_000.0)
    with Engine.open(":memory:", clock=clock, upkeep_seconds=None) as engine:
        executor = RacyExecutor(engine)
        settings = StoreSettings([tagged], cursor_key=b"k" * 32, clock=clock, is_embedded=True)
        store = AsyncStore(executor, settings)
        await store.create_table(tagged)
        async with serving(tagged, store, caller=EDITOR) as client:
            yield TagClient(client, executor, clock)


def using(use: Callable[[TagClient], Awaitable[None]]) -> None:
    async def main() -> None:
        async with open_client() as client:
            await use(client)

    asyncio.run(main())


def card(**fields: Any) -> dict[str, Any]:
    return {"card": {"id": "1", **fields}}


def fails(response: httpx2.Response, status: int, code: str) -> None:
    assert (response.status_code, response.json()["code"]) == (status, code)


# Reads.


def test_a_read_has_the_tag_of_the_write_until_the_entity_changes() -> None:
    async def use(client: TagClient) -> None:
        wrote = await client.post("/put-card", card(price="1.50", tags=["b", "a"], data="eA=="))
        read = await client.get("/cards/1")
        assert read.headers["etag"] == wrote.headers["etag"]
        again = await client.get("/cards/1", if_none_match=read.headers["etag"])
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == read.headers["etag"]
        assert "content-length" not in again.headers
        changed = await client.post("/put-card", card(price="1.51"))
        assert changed.headers["etag"] != read.headers["etag"]
        full = await client.get("/cards/1", if_none_match=read.headers["etag"])
        assert full.status_code == 200
        any_of = f'"x", W/{changed.headers["etag"]}'
        assert (await client.get("/cards/1", if_none_match=any_of)).status_code == 304
        assert (await client.get("/cards/1", if_none_match="*")).status_code == 304

    using(use)


def test_a_read_may_depend_on_a_tag() -> None:
    async def use(client: TagClient) -> None:
        tag = (await client.post("/put-card", card())).headers["etag"]
        assert (await client.get("/cards/1", if_match=tag)).status_code == 200
        assert (await client.get("/cards/1", if_match="*")).status_code == 200
        fails(await client.get("/cards/1", if_match='"x"'), 412, "precondition-failed")
        fails(await client.get("/cards/1", if_match=f"W/{tag}"), 412, "precondition-failed")
        fails(await client.get("/cards/2", if_none_match="*"), 404, "not-found")

    using(use)


def test_the_tag_of_a_version_is_the_version() -> None:
    async def use(client: TagClient) -> None:
        assert (await client.post("/create-counter", {"id": "1"})).headers["etag"] == '"v1"'
        assert (await client.post("/count", {"id": "1"})).headers["etag"] == '"v2"'
        assert (await client.get("/counters/1")).headers["etag"] == '"v2"'

    using(use)


def test_what_is_not_one_entity_has_no_tag() -> None:
    async def use(client: TagClient) -> None:
        await client.post("/put-card", card())
        mapped = await client.post("/map-card", {"id": "1", "text": "x"})
        deleted = await client.post("/delete-card", {"id": "1"})
        assert (mapped.json(), deleted.status_code) == ("x", 200)
        assert "etag" not in mapped.headers
        assert "etag" not in deleted.headers

    using(use)


def test_a_hash_cannot_be_guessed_without_the_secret() -> None:
    one = Card(id="1", text="x")
    assert EntityTags(b"a").tag_of(one) == EntityTags(b"a").tag_of(one.model_copy())
    assert EntityTags(b"a").tag_of(one) != EntityTags(b"b").tag_of(one)
    assert EntityTags(b"a").tag_of("x") is None


# Writes.


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/put-card", card(text="new")),
        ("/replace-card", card(text="new")),
        ("/change-card", {"id": "1", "text": "new"}),
        ("/map-card", {"id": "1", "text": "new"}),
        ("/delete-card", {"id": "1"}),
    ],
)
def test_a_write_depends_on_the_tag_of_an_item(path: str, body: dict[str, Any]) -> None:
    async def use(client: TagClient) -> None:
        fails(await client.post(path, body, if_match="*"), 412, "precondition-failed")
        fails(await client.post(path, body, if_match='"x"'), 412, "precondition-failed")
        old = (await client.post("/put-card", card(text="old"))).headers["etag"]
        tag = (await client.post("/put-card", card(text="x", tags=["a"], data="eA=="))).headers[
            "etag"
        ]
        for other in (old, f"W/{tag}", '"v1"'):
            fails(await client.post(path, body, if_match=other), 412, "precondition-failed")
        assert (await client.get("/cards/1")).headers["etag"] == tag
        assert (await client.post(path, body, if_match=f"{old}, {tag}")).status_code == 200
        fails(await client.post(path, body, if_match=tag), 412, "precondition-failed")
        await client.post("/put-card", card())
        assert (await client.post(path, body, if_match="*")).status_code == 200

    using(use)


@pytest.mark.parametrize(
    "meanwhile",
    [
        {"text": {"S": "theirs"}},
        {"note": {"S": "theirs"}},
        {"undeclared": {"S": "was there, and changed"}},
    ],
)
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/put-card", card(text="new")),
        ("/change-card", {"id": "1", "text": "new"}),
        ("/delete-card", {"id": "1"}),
    ],
)
def test_a_change_between_check_and_write_fails_the_write(
    path: str, body: dict[str, Any], meanwhile: dict[str, Any]
) -> None:
    async def use(client: TagClient) -> None:
        await client.post("/put-card", card(text="x"))
        client.executor.set(undeclared={"S": "x"})
        tag = (await client.get("/cards/1")).headers["etag"]
        client.executor.after_read = lambda: client.executor.set(**meanwhile)
        response = await client.post(path, body, if_match=tag)
        fails(response, 412, "precondition-failed")
        key = {"pk": {"S": "CARD#1"}, "sk": {"S": "CARD"}}
        found = client.executor.engine.execute("GetItem", {"TableName": "Tagged", "Key": key})
        assert meanwhile.items() <= found["Item"].items()

    using(use)


def test_attributes_that_no_field_has_are_part_of_the_tag() -> None:
    async def use(client: TagClient) -> None:
        before = (await client.post("/put-card", card(text="x"))).headers["etag"]
        client.executor.set(undeclared={"S": "x"})
        tag = (await client.get("/cards/1")).headers["etag"]
        assert tag != before
        body = {"id": "1", "text": "new"}
        fails(await client.post("/change-card", body, if_match=before), 412, "precondition-failed")
        assert (await client.post("/change-card", body, if_match=tag)).status_code == 200

    using(use)


def test_the_condition_of_the_pattern_is_not_a_precondition() -> None:
    async def use(client: TagClient) -> None:
        tag = (await client.post("/put-card", card(price="1"))).headers["etag"]
        response = await client.post("/change-card", {"id": "1", "text": "x"}, if_match=tag)
        fails(response, 409, "condition-failed")

    using(use)


def test_a_write_depends_on_the_version_of_an_item() -> None:
    async def use(client: TagClient) -> None:
        await client.post("/create-counter", {"id": "1"})
        assert (await client.post("/count", {"id": "1"}, if_match='"v1"')).status_code == 200
        for other in ('"v1"', '"v3"', '"v0"', '"2"', 'W/"v2"', '"vv2"'):
            response = await client.post("/count", {"id": "1"}, if_match=other)
            fails(response, 412, "precondition-failed")
            response = await client.post("/delete-counter", {"id": "1"}, if_match=other)
            fails(response, 412, "precondition-failed")
        assert (await client.post("/count", {"id": "1"}, if_match='"v7", "v2"')).status_code == 200
        gone = await client.post("/delete-counter", {"id": "1"}, if_match='"v3"')
        assert gone.status_code == 200
        response = await client.post("/delete-counter", {"id": "1"}, if_match='"v3"')
        fails(response, 412, "precondition-failed")

    using(use)


def test_an_expired_item_is_not_there() -> None:
    async def use(client: TagClient) -> None:
        at = datetime.fromtimestamp(1_800_000_100.0).astimezone().isoformat()
        tag = (await client.post("/put-card", card(expires=at))).headers["etag"]
        client.clock.advance(101)
        for each in (tag, "*"):
            response = await client.post("/put-card", card(), if_match=each)
            fails(response, 412, "precondition-failed")

    using(use)


def test_an_entity_that_is_completed_at_the_write_can_be_matched() -> None:
    async def use(client: TagClient) -> None:
        tag = (await client.post("/put-stamped", {"id": "1", "email": "a"})).headers["etag"]
        client.clock.advance(1)
        body = {"id": "1", "email": "b"}
        assert (await client.post("/put-stamped", body, if_match=tag)).status_code == 200
        fails(await client.post("/put-stamped", body, if_match=tag), 412, "precondition-failed")

    using(use)


def test_a_put_may_depend_on_absence() -> None:
    async def use(client: TagClient) -> None:
        for path in ("/put-card", "/create-card"):
            assert (await client.post(path, card(id="9"), if_none_match="*")).status_code == 200
            response = await client.post(path, card(id="9"), if_none_match="*")
            fails(response, 412, "precondition-failed")
            await client.post("/delete-card", {"id": "9"})
        response = await client.post("/replace-card", card(), if_none_match="*")
        fails(response, 412, "precondition-failed")
        for path, body, tags in (
            ("/put-card", card(), '"x"'),
            ("/delete-card", {"id": "1"}, "*"),
        ):
            response = await client.post(path, body, if_none_match=tags)
            fails(response, 400, "precondition-invalid")

    using(use)


@pytest.mark.parametrize("tags", ['"x"', "*"])
def test_only_writes_of_one_item_have_preconditions(tags: str) -> None:
    async def use(client: TagClient) -> None:
        for path, body in (
            ("/two-cards", {"id": "1"}),
            ("/upsert-card", {"id": "1", "text": "x"}),
        ):
            response = await client.post(path, body, if_match=tags)
            fails(response, 400, "precondition-invalid")
            assert "not a write of one existing item" in response.json()["detail"]
        fails(await client.post("/create-card", card(), if_match=tags), 412, "precondition-failed")
        assert (await client.get("/cards/1")).status_code == 404

    using(use)


def test_a_key_with_another_precondition_is_another_request() -> None:
    async def use(client: TagClient) -> None:
        await client.post("/create-counter", {"id": "1"})

        def post(tag: str) -> Awaitable[httpx2.Response]:
            return client.post("/count", {"id": "1"}, idempotency_key="k", if_match=tag)

        first, again = await post('"v1"'), await post('"v1"')
        assert (again.status_code, again.headers["etag"]) == (200, first.headers["etag"])
        fails(await post('"v2"'), 422, "idempotency-key-reused")

    using(use)


# Headers.


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("*", TagList(is_any=True)),
        (" * ", TagList(is_any=True)),
        ('"a"', TagList(frozenset("a"))),
        ('""', TagList(frozenset([""]))),
        ('"a" , W/"b",,"c"', TagList(frozenset("ac"), frozenset("b"))),
        ('"a,b"', TagList(frozenset(["a,b"]))),
        ('"é"', TagList(frozenset("é"))),
    ],
)
def test_lists_of_tags_are_read(text: str, tags: TagList) -> None:
    assert read_tags("if-match", text) == tags


@pytest.mark.parametrize(
    "text", ["", "a", '"a', 'a"', '"a" "b"', '"a b"', 'w/"a"', "W/*", '*, "a"', '"a", b', "'a'"]
)
def test_malformed_lists_are_refused(text: str) -> None:
    with pytest.raises(PreconditionInvalid, match="not a list of entity tags"):
        read_tags("if-match", text)


def test_a_list_has_a_limit() -> None:
    with pytest.raises(PreconditionInvalid, match="51 tags"):
        read_tags("if-match", ", ".join(f'"{number}"' for number in range(51)))


def test_a_malformed_header_is_a_problem() -> None:
    async def use(client: TagClient) -> None:
        await client.post("/put-card", card())
        fails(await client.get("/cards/1", if_none_match="x"), 400, "precondition-invalid")
        response = await client.post("/put-card", card(text="y"), if_match="x")
        fails(response, 400, "precondition-invalid")

    using(use)
