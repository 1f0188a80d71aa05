"""Numbers keep all their digits, with handles and without; and without a key, there are no handles."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import httpx2
import pytest
from pydantic import Field

from keyfold import ALL, Entity, Get, Key, Put, Query, Role, Table
from keyfold.engine import Engine
from keyfold.errors import OptionInvalid
from keyfold.keys import Ulid
from keyfold.service import Authenticators, Caller, FixedCaller, create_app
from keyfold.store import AsyncStore, StoreSettings
from tests.tenants.services import InLoop
from tests.unit.service.listeners import open_scene
from tests.unit.service.serving import serving

ledger = Table("ExactLedger", key=Key("pk", "sk"), stream="new and old")
ULID = "01JZ10H7X367VB2NF4YQ973DHW"
DIGITS = "0.12345678901234567890123"
LARGE = "123456789012345678901234567890"


class EntryId(Ulid, prefix="E", is_system_key=True):
    """The id of an entry."""


class LedgerEntry(Entity, table=ledger, key=("USER#{user}", "{entry}")):
    user: str
    entry: EntryId
    amount: Decimal
    count: int = 0
    more: dict[str, Any] = Field(default_factory=dict[str, Any])


@ledger.pattern("Add an entry", path="/users/{user}/entries")
def add_entry(user: str, entry: EntryId, amount: Decimal, count: int, more: Any = None) -> Put[Any]:
    return LedgerEntry(
        user=user, entry=entry, amount=amount, count=count, more={"value": more}
    ).put()


@ledger.pattern("An entry")
def entry_of(user: str, entry: EntryId) -> Get[LedgerEntry]:
    return LedgerEntry.get(user=user, entry=entry)


@ledger.pattern("Entries of an amount")
def entries_of(user: str, amount: Decimal) -> Query[LedgerEntry]:
    return LedgerEntry.query(user=user).where(LedgerEntry.f.amount.eq(amount))


ledger.add_role(Role("clerk", tenant="user", can={LedgerEntry: ALL}))
ledger.add_role(Role("owner", tenant="user", can={LedgerEntry: ALL}, is_end_user=True))
CLERK, OWNER = (Caller((role,), {"user": "ada"}) for role in ("clerk", "owner"))


def run(caller: Caller, use: Any) -> None:
    async def main() -> None:
        async with serving(ledger, caller=caller) as client:
            transport: Any = client._transport
            store = await transport.app.database.open_as(caller)
            shown = f"E#{ULID}" if store.handles is None else store.handles.show(f"E#{ULID}")
            await use(client, shown)

    asyncio.run(main())


async def post(client: httpx2.AsyncClient, body: str) -> httpx2.Response:
    headers = {"content-type": "application/json"}
    return await client.post("/users/ada/entries", content=body, headers=headers)


@pytest.mark.parametrize("caller", [CLERK, OWNER])
@pytest.mark.parametrize("escaped", ["", r', "more": "\u00e9\n"'])
def test_a_body_keeps_all_digits(caller: Caller, escaped: str) -> None:
    async def use(client: httpx2.AsyncClient, entry: str) -> None:
        body = f'{{"entry": "{entry}", "amount": {DIGITS}, "count": {LARGE}{escaped}}}'
        response = await post(client, body)
        assert response.status_code == 200, response.text
        assert response.json()["amount"] == DIGITS
        assert f'"count":{LARGE}' in response.text
        assert response.json()["entry"] == entry
        # In a batch, too, where arguments are values of other JSON.
        read = f'{{"pattern": "entries_of", "arguments": {{"user": "ada", "amount": {DIGITS}}}}}'
        found = await client.post(
            "/batch",
            content=f'{{"requests": [{read}]}}',
            headers={"content-type": "application/json"},
        )
        assert found.status_code == 200, found.text
        assert [each["amount"] for each in found.json()["results"][0]["result"]] == [DIGITS]

    run(caller, use)


def test_numbers_of_any_type_keep_their_digits() -> None:
    async def use(client: httpx2.AsyncClient, entry: str) -> None:
        body = f'{{"entry": "{entry}", "amount": 1, "count": 1, "more": {DIGITS}}}'
        response = await post(client, body)
        assert response.json()["more"] == {"value": DIGITS}

    run(CLERK, use)


@pytest.mark.parametrize("caller", [CLERK, OWNER])
def test_arguments_of_the_path_count_more_than_those_of_the_body(caller: Caller) -> None:
    async def use(client: httpx2.AsyncClient, entry: str) -> None:
        for body in (
            f'{{"user": "bob", "entry": "{entry}", "amount": 1, "count": 1}}',
            f' {{"entry": "{entry}", "amount": 1, "count": 1, "user": "bob" }} ',
        ):
            response = await post(client, body)
            assert (response.status_code, response.json()["user"]) == (200, "ada")

    run(caller, use)


@pytest.mark.parametrize("caller", [CLERK, OWNER])
@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("{}", 422),
        ("", 422),
        ("[]", 422),
        ("1", 422),
        ('"}"', 422),
        ("{", 400),
        ("}", 400),
        ('{"a":}', 400),
        ('{"entry": "x}', 400),
        ('{"amount": NaN}', 422),
        ('{"amount": 1e400}', 422),
        ('{"amount": -1e9999999999}', 422),
        ('{"count": ' + "9" * 100_000 + "}", 400),
        ('{"entry": "\\ud800"}', 400),
        ('{"entry": "\\u0000"}', 422),
    ],
)
def test_bad_bodies_are_refused(caller: Caller, body: str, status: int) -> None:
    async def use(client: httpx2.AsyncClient, _: str) -> None:
        response = await post(client, body)
        assert response.status_code in (status, 422 if status == 400 else status), response.text
        assert response.json()["code"] in ("value-invalid", "request-malformed", "handle-invalid")

    run(caller, use)


@pytest.mark.parametrize("caller", [CLERK, OWNER])
def test_a_body_that_is_not_utf_8_is_refused(caller: Caller) -> None:
    async def use(client: httpx2.AsyncClient, _: str) -> None:
        headers = {"content-type": "application/json"}
        for body in (b'{"entry": "\xff"}', b"\xff\xfe{\x00}\x00", b'{"entry": "\xed\xa0\x80"}'):
            response = await client.post("/users/ada/entries", content=body, headers=headers)
            assert (response.status_code, response.json()["code"]) == (400, "request-malformed")

    run(caller, use)


def test_a_large_number_does_not_end_the_changes_of_others() -> None:
    async def main() -> None:
        async with open_scene(ledger) as scene:
            ada, bob = [await scene.listen("clerk", user=user) for user in ("ada", "bob")]
            entry = LedgerEntry(user="ada", entry=EntryId(f"E#{ULID}"), amount=Decimal(DIGITS))
            await scene.run(entry.model_copy(update={"count": int(LARGE)}).put())
            await scene.tick()
            await scene.run(entry.model_copy(update={"user": "bob"}).put())
            await scene.tick()
            assert [each.data["new"]["count"] for each in ada.heard] == [int(LARGE)]
            assert [each.data["new"]["user"] for each in bob.heard] == ["bob"]
            assert not bob.is_over

    asyncio.run(main())


def test_a_remote_database_needs_a_key_for_handles() -> None:
    url = "http://localhost:8000"
    with pytest.raises(OptionInvalid, match="cursor_key"):
        create_app(ledger, url, authenticator=FixedCaller(OWNER))
    create_app(ledger, url, authenticator=FixedCaller(CLERK))
    create_app(ledger, url)
    create_app(ledger, url, authenticator=FixedCaller(OWNER), cursor_key=bytes(32))
    create_app(ledger, ":memory:", authenticator=FixedCaller(OWNER))
    # Whoever comes may be an end user.
    with pytest.raises(OptionInvalid, match="cursor_key"):
        create_app(ledger, url, authenticator=Authenticators(()))


def test_a_store_without_a_key_for_handles_fails_at_the_start() -> None:
    async def main() -> None:
        with Engine.open(":memory:", upkeep_seconds=None) as engine:
            store = AsyncStore(InLoop(engine), StoreSettings([ledger]))
            app = create_app(ledger, store, authenticator=FixedCaller(OWNER))
            sent: list[Any] = []

            async def receive() -> dict[str, Any]:
                return {"type": "lifespan.startup"}

            async def send(message: Any) -> None:
                sent.append(message)

            await app({"type": "lifespan"}, receive, send)
            assert [each["type"] for each in sent] == ["lifespan.startup.failed"]
            assert "cursor_key" in sent[0]["message"]

    asyncio.run(main())
