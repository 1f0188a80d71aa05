"""Each caller hears the changes of what it may read, once each, and of nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from keyfold import Entity, Expiry, Key, Role, Table, part
from keyfold.designs import market, pantry
from keyfold.designs.market import Address, Order, OrderId, Product, User
from keyfold.errors import ChangesUnavailable, EventIdInvalid, PrincipalInvalid
from keyfold.policy import EVERYTHING, READ
from keyfold.service._callers import Caller
from tests.transports import START
from tests.unit.service.listeners import Scene, open_scene

notes = Table("ChangeNotes", key=Key("pk", "sk"), stream="new and old", ttl="ttl")


class Note(Entity, table=notes, key=("N#{owner}", "{number:03}"), unique="title"):
    owner: str = part()
    number: int = part()
    title: str | None = None
    text: str = ""
    diagnosis: str = ""
    ttl: Expiry | None = None


notes.add_role(Role("owner", tenant="owner", can={Note: READ}))
notes.add_role(Role("clerk", can={Note: READ}, hidden={Note: ["diagnosis"]}))
notes.add_role(Role("auditor", can={EVERYTHING: READ}))

Test = Callable[[Scene], Awaitable[None]]


def play(test: Test, table: Table = notes, **options: int) -> None:
    async def run() -> None:
        async with open_scene(table, **options) as scene:
            await test(scene)

    asyncio.run(run())


def note(owner: str, number: int, **fields: Any) -> Note:
    return Note(owner=owner, number=number, **fields)


# What is heard.


def test_a_listener_hears_what_is_created_changed_and_deleted() -> None:
    async def test(scene: Scene) -> None:
        ada = await scene.listen("owner", owner="ada")
        await scene.run(
            note("ada", 1, text="x").put(),
            note("ada", 1, text="y").put(),
            Note.delete(owner="ada", number=1),
        )
        await scene.tick()
        assert [each.kind for each in ada.heard] == ["created", "changed", "deleted"]
        created, changed, deleted = (each.data for each in ada.heard)
        new = {
            "owner": "ada",
            "number": 1,
            "title": None,
            "text": "y",
            "diagnosis": "",
            "ttl": None,
        }
        assert changed == {
            "entity": "Note",
            "change": "changed",
            "key": {"owner": "ada", "number": 1},
            "at": START.isoformat(),
            "new": new,
            "old": {**new, "text": "x"},
        }
        assert "old" not in created
        assert "new" not in deleted
        assert deleted["by_expiry"] is False
        assert deleted["old"] == new

    play(test)


def test_each_principal_hears_only_its_own() -> None:
    async def test(scene: Scene) -> None:
        ada = await scene.listen("owner", owner="ada")
        bob = await scene.listen("owner", owner="bob")
        auditor = await scene.listen("auditor")
        await scene.run(note("ada", 1).put(), note("bob", 2).put(), note("ada", 3).put())
        await scene.tick()
        assert ada.take() == [("created", "Note", 1), ("created", "Note", 3)]
        assert bob.take() == [("created", "Note", 2)]
        assert len(auditor.take()) == 3
        assert b"bob" not in ada.received

    play(test)


def test_nobody_hears_of_items_that_guard_unique_values() -> None:
    async def test(scene: Scene) -> None:
        auditor = await scene.listen("auditor")
        await scene.run(note("ada", 1, title="T").put())
        await scene.tick()
        assert auditor.take() == [("created", "Note", 1)]
        assert b"keyfold#" not in auditor.received

    play(test)


def test_an_item_that_expires_is_deleted() -> None:
    async def test(scene: Scene) -> None:
        ada = await scene.listen("owner", owner="ada")
        await scene.run(Note(owner="ada", number=1, ttl=START + timedelta(minutes=1)).put())
        await scene.tick(120)
        assert scene.engine.run_upkeep() == 1
        await scene.tick()
        assert [each.kind for each in ada.heard] == ["created", "deleted"]
        assert ada.heard[1].data["by_expiry"] is True

    play(test)


def test_attributes_that_a_role_may_not_see_are_left_out() -> None:
    async def test(scene: Scene) -> None:
        clerk = await scene.listen("clerk")
        await scene.run(note("ada", 1, text="x", diagnosis="gout").put())
        await scene.tick()
        assert clerk.heard[0].data["new"]["text"] == "x"
        assert "diagnosis" not in clerk.heard[0].data["new"]
        assert b"gout" not in clerk.received

    play(test)


def test_a_change_of_hidden_attributes_alone_is_not_heard() -> None:
    async def test(scene: Scene) -> None:
        clerk = await scene.listen("clerk")
        await scene.run(
            note("ada", 1).put(), note("ada", 1, diagnosis="gout").put(), note("ada", 1).put()
        )
        await scene.tick()
        assert clerk.take() == [("created", "Note", 1)]

    play(test)


def test_an_item_that_is_invalid_is_heard_of_without_its_content() -> None:
    async def test(scene: Scene) -> None:
        ada = await scene.listen("owner", owner="ada")
        raw = {"pk": {"S": "N#ada"}, "sk": {"S": "001"}, "text": {"NULL": True}}
        await scene.store.execute("PutItem", {"TableName": notes.name, "Item": raw})
        foreign = {"pk": {"S": "X#ada"}, "sk": {"S": "001"}}
        await scene.store.execute("PutItem", {"TableName": notes.name, "Item": foreign})
        await scene.tick()
        assert ada.take() == [("created", "Note", 1)]
        assert b"new" not in ada.received

    play(test)


# Market: end users, and tenants that are hostile to each other.


def test_customers_of_the_market_see_handles() -> None:
    order = OrderId.new()

    async def test(scene: Scene) -> None:
        ada = await scene.listen("customer", user="ada")
        bob = await scene.listen("customer", user="bob")
        support = await scene.listen("support")
        await scene.run(Order(user="ada", order=order, total=Decimal(5)).put())
        await scene.tick()
        assert order.encode() not in ada.received
        shown = ada.heard[0].data
        own = scene.store.as_principal("customer", user="ada").handles
        assert own is not None
        assert own.read(shown["key"]["order"]) == order == own.read(shown["new"]["order"])
        assert bob.heard == []
        assert support.heard[0].data["key"]["order"] == order

    play(test, market.table)


def test_tenants_of_the_market_learn_nothing_of_each_other() -> None:
    async def test(scene: Scene) -> None:
        eve = await scene.listen("customer", "seller", user="eve")
        quiet = await scene.listen("customer", "seller", user="ann")
        before = len(eve.received)
        for number in range(1, 30):
            await scene.run(
                User(user="bob", name=f"Bob {number}").put(),
                Address(user="bob", number=number, street="S", city="C", country="X").put(),
                Product(user="bob", name="P").put(),
            )
        await scene.tick()
        assert len(eve.received) == before == len(quiet.received)
        await scene.run(User(user="eve", name="Eve").put())
        await scene.tick()
        assert eve.take() == [("created", "User", "eve")]
        # Its length tells nothing, and neither do two ids of one position.
        again = await scene.listen("customer", "seller", user="eve", last=eve.last_id)
        assert len(again.last_id) == len(quiet.last_id) == len(eve.last_id)
        assert again.heard == []

    play(test, market.table)


@pytest.mark.parametrize(
    ("roles", "ids"),
    [(("customer",), {"user": "bob"}), (("seller",), {"user": "ada"}), (("support",), {})],
)
def test_an_event_id_of_another_principal_is_refused(
    roles: tuple[str, ...], ids: dict[str, Any]
) -> None:
    async def test(scene: Scene) -> None:
        ada = await scene.listen("customer", user="ada")
        await scene.run(User(user="ada").put())
        await scene.tick()
        with pytest.raises(EventIdInvalid):
            await scene.listen(*roles, last=ada.last_id, **ids)

    play(test, market.table)


def test_forged_event_ids_are_refused() -> None:
    async def test(scene: Scene) -> None:
        ada = await scene.listen("customer", user="ada")
        good = ada.last_id
        settings = scene.store._settings.cursors.of(
            Caller(("customer",), {"user": "ada"}).principal
        )
        cursor = settings.seal({"pk": {"S": "U#ada"}}, "other")
        other = "B" if good[40] == "A" else "A"
        forged = ["x", "0", "é", "%", good[:-4], good + "AA", good[:40] + other + good[41:], cursor]
        forged += ["A" * 200_000, good.swapcase(), good + "\x00"]
        for each in forged:
            with pytest.raises(EventIdInvalid, match="Connect again without it") as caught:
                await scene.listen("customer", last=each, user="ada")
            assert (
                caught.value.public == "The Last-Event-ID is not valid. Connect again without it."
            )
        assert (await scene.listen("customer", last=good, user="ada")).heard == []

    play(test, market.table)


def test_roles_that_the_table_lacks_are_refused() -> None:
    async def test(scene: Scene) -> None:
        with pytest.raises(PrincipalInvalid):
            await scene.listen("nobody")

    play(test, market.table)


# Tables without a stream.


def test_a_table_that_declares_no_stream_says_how_to_declare_one() -> None:
    async def test(scene: Scene) -> None:
        with pytest.raises(ChangesUnavailable, match="declares no stream") as caught:
            await scene.listen("service")
        assert 'stream="new and old"' in caught.value.public
        assert "keyfold apply" in caught.value.public

    play(test, pantry.table)


def test_a_stream_that_is_off_is_an_error() -> None:
    async def test(scene: Scene) -> None:
        request = {"TableName": notes.name, "StreamSpecification": {"StreamEnabled": False}}
        await scene.store.execute("UpdateTable", request)
        with pytest.raises(ChangesUnavailable, match="stream is off"):
            await scene.listen("auditor")

    play(test)
