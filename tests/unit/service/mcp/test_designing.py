"""Tools for designers: they review, price and try a declaration on scratch data."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from mcp import Client

import keyfold
from keyfold import Table
from keyfold.designs import market, pantry
from keyfold.errors import DeclarationInvalid
from keyfold.service._database import ServiceDatabase
from keyfold.service.mcp import AgentService, AgentSettings, DesignWorkbench
from tests.unit.service.mcp.agents import agent, call, fail

EVE = "7d3d58a3-96ee-4c8e-a7a4-a2b61e1f3c01"
OWN = [
    "explain-pattern",
    "lint-design",
    "price-design",
    "explain-design",
    "try-pattern",
    "take-snapshot",
    "roll-back",
]


def run(
    use: Callable[[Client], Awaitable[None]],
    table: Table = pantry.table,
    load: Callable[[], Table] | None = None,
) -> None:
    async def main() -> None:
        async with keyfold.open_async(table, ":memory:") as store:
            scan = {"TableName": table.name}
            before = await store.execute("Scan", {**scan})
            tools = DesignWorkbench(load or (lambda: table)).make_tools()
            database = ServiceDatabase(table, store)
            service = AgentService(table, database, AgentSettings(), tools)
            async with agent(table, service=service) as client:
                await use(client)
            # Nothing has touched the database of the server.
            assert await store.execute("Scan", {**scan}) == before

    asyncio.run(main())


def test_designers_have_tools_that_no_pattern_can_be_named_like() -> None:
    async def use(client: Client) -> None:
        tools = {each.name: each for each in (await client.list_tools()).tools}
        own = [name for name in tools if "-" in name]
        assert own == OWN
        assert all(tools[name].description for name in own)
        assert not any(name.isidentifier() for name in own)

    run(use)


def test_a_design_is_reviewed_and_priced() -> None:
    async def use(client: Client) -> None:
        found = await call(client, "lint-design")
        assert {"findings", "ignored", "skipped"} == found.keys()
        cost = await call(client, "price-design")
        assert {each["name"] for each in cost["patterns"]} == set(pantry.table.patterns)

    run(use)


def test_a_pattern_of_the_design_is_explained() -> None:
    async def use(client: Client) -> None:
        found = await call(client, "explain-design", pattern="get_user")
        assert [each["operation"] for each in found["calls"]] == ["GetItem"]
        assert found["units_of_a_call"] == {"read": 0.5, "write": 0}
        error = await fail(client, "explain-design", pattern="get_nobody")
        assert error["code"] == "pattern-unknown"
        assert "get_user" in error["detail"]

    run(use)


def test_a_pattern_is_tried_and_rolled_back() -> None:
    async def use(client: Client) -> None:
        user = {"user": EVE, "name": "Eve", "email": "eve@example.com"}
        first = await call(client, "take-snapshot")
        assert first["snapshot"] == 1
        made = await call(client, "try-pattern", pattern="create_user", arguments={"user": user})
        assert made["result"]["name"] == "Eve"
        assert made["stored_items"] == first["stored_items"] + 1
        (sent,) = made["calls"]
        assert (sent["operation"], sent["items_changed"]) == ("PutItem", 1)
        got = await call(client, "try-pattern", pattern="get_user", arguments={"user": EVE})
        assert got["result"]["name"] == "Eve"
        assert await call(client, "take-snapshot") == {**got_size(made), "snapshot": 2}
        assert await call(client, "roll-back", snapshot=1) == first
        gone = await call(client, "try-pattern", pattern="get_user", arguments={"user": EVE})
        assert gone["result"] is None
        error = await fail(client, "roll-back", snapshot=2)
        assert error["code"] == "snapshot-unknown"
        assert await call(client, "roll-back", snapshot=0) == {**first, "snapshot": 0}

    run(use)


def got_size(document: dict[str, Any]) -> dict[str, Any]:
    return {"stored_items": document["stored_items"]}


def test_unique_values_are_guarded_in_scratch_data() -> None:
    taken = next(each for each in market.table.example_entities() if isinstance(each, market.User))

    async def use(client: Client) -> None:
        other = {"user": "zoe", "id": taken.id}
        error = await fail(client, "try-pattern", pattern="create_user", arguments={"user": other})
        assert error["code"] == "unique-taken"

    run(use, market.table)


@pytest.mark.parametrize("name", OWN[1:])
def test_what_is_wrong_with_the_declaration_is_said(name: str) -> None:
    def load() -> Table:
        raise DeclarationInvalid(("Shelf.sk: it has no template.",))

    arguments = {"pattern": "get_user"} if "pattern" in name or "explain" in name else {}

    async def use(client: Client) -> None:
        error = await fail(client, name, **arguments)
        assert error["code"] == "declaration-invalid"
        assert "Shelf.sk" in error["detail"]

    run(use, load=load)


def test_the_declaration_of_each_call_is_the_current_one() -> None:
    tables = iter([pantry.table, market.table])

    async def use(client: Client) -> None:
        await call(client, "explain-design", pattern="get_user")
        await call(client, "explain-design", pattern="last_orders")

    run(use, load=lambda: next(tables))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("try-pattern", {"pattern": "get_user", "arguments": {"user": 7}}),
        ("try-pattern", {"pattern": "get_user", "arguments": {"user": "ada", "db": "x.db"}}),
        ("try-pattern", {"pattern": "get_user", "db": "x.db"}),
        ("roll-back", {"snapshot": "1"}),
        ("roll-back", {"snapshot": -1}),
        ("lint-design", {"table": "os:system"}),
    ],
)
def test_invalid_arguments_are_refused(name: str, arguments: dict[str, Any]) -> None:
    async def use(client: Client) -> None:
        assert (await fail(client, name, **arguments))["code"] == "value-invalid"

    run(use)
