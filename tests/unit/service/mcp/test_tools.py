"""Tools as agents see them, and their calls: arguments, results and errors."""

from __future__ import annotations

import asyncio

import pytest
from mcp import Client

import keyfold
from keyfold import AsyncStore, Table
from keyfold.designs.market import table as market
from keyfold.service import Caller
from keyfold.service._database import ServiceDatabase
from keyfold.service.mcp import AgentService, AgentSettings
from keyfold.service.mcp._schemas import find_references
from tests.unit.service.mcp.agents import agent, call, fail, run
from tests.unit.service.mcp.journal import ADA, BOB, JournalNote, journal


def test_each_pattern_that_reads_is_a_tool() -> None:
    async def use(client: Client) -> None:
        tools = {each.name: each for each in (await client.list_tools()).tools}
        assert [*tools] == [
            "note_of",
            "notes_of",
            "first_notes",
            "note_and_next",
            "explain-pattern",
        ]
        tool = tools["note_of"]
        assert tool.title == "Note of a number"
        assert tool.description == (
            "Get one note.\n\nIt only reads. A call consumes about 0.5 read units."
        )
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint
        schema = tool.input_schema
        assert schema["properties"] == {"user": {"type": "string"}, "number": {"type": "integer"}}
        assert schema["additionalProperties"] is False

    run(use, journal, caller=ADA)


def test_writes_are_tools_only_if_they_are_allowed() -> None:
    async def use(client: Client) -> None:
        tools = {each.name: each.annotations for each in (await client.list_tools()).tools}
        hints = {
            name: (each.read_only_hint, each.destructive_hint, each.idempotent_hint)
            for name, each in tools.items()
            if each is not None
        }
        assert hints["notes_of"] == (True, False, True)
        assert hints["write_note"] == (False, False, False)
        assert hints["change_note"] == (False, True, False)
        assert hints["delete_note"] == (False, True, True)
        await call(client, "write_note", note={"user": "ada", "number": 1, "text": "Hello"})
        answer = await call(client, "note_of", user="ada", number=1)
        assert answer["result"]["text"] == "Hello"
        changed = await call(client, "change_note", user="ada", number=1, text="Bye")
        assert (changed["result"]["text"], changed["units"]) == ("Bye", 1)

    run(use, journal, caller=ADA, may_write=True)


@pytest.mark.parametrize("name", ["write_note", "change_note", "delete_note"])
def test_a_server_that_only_reads_refuses_writes(name: str) -> None:
    async def use(client: Client) -> None:
        assert (await fail(client, name, user="ada", number=1))["code"] == "read-only"

    run(use, journal, caller=ADA)


def test_a_list_takes_limit_and_cursor_unless_the_pattern_does() -> None:
    async def use(client: Client) -> None:
        tools = {each.name: each.input_schema for each in (await client.list_tools()).tools}
        assert [*tools["notes_of"]["properties"]] == ["user", "topic", "limit", "cursor"]
        assert tools["notes_of"]["properties"]["limit"]["maximum"] == 100
        assert tools["first_notes"]["properties"]["limit"] == {"type": "integer"}
        assert tools["first_notes"]["required"] == ["user", "limit"]
        assert "cursor" in tools["first_notes"]["properties"]
        assert "cursor" not in tools["note_of"]["properties"]

    run(use, journal, caller=ADA)


@pytest.mark.parametrize("table", [journal, market])
def test_schemas_have_what_they_refer_to(table: Table) -> None:
    async def use(client: Client) -> None:
        for tool in (await client.list_tools()).tools:
            for schema in (tool.input_schema, tool.output_schema or {}):
                assert set(find_references(schema)) == set(schema.get("$defs", ()))

    run(use, table, may_write=True)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"user": "bob", "number": 1}, "access-denied"),
        ({"user": "ada"}, "value-invalid"),
        ({"user": "ada", "number": "one"}, "value-invalid"),
        ({"user": "ada", "number": 1, "as": "bob"}, "value-invalid"),
        ({"user": "ada", "number": 1, "role": "support"}, "value-invalid"),
        ({"user": "ada", "number": 10**30}, "key-part-invalid"),
        ({"user": "\ud800", "number": 1}, "value-invalid"),
        ({"user": "ada#", "number": {"user": "bob"}}, "value-invalid"),
        ({"user": "ada", "number": 1, "limit": 5}, "value-invalid"),
    ],
)
def test_invalid_arguments_are_errors_of_the_tool(arguments: dict[str, object], code: str) -> None:
    async def use(client: Client) -> None:
        assert (await fail(client, "note_of", **arguments))["code"] == code

    run(use, journal, caller=ADA)


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("notes_of", {"user": "ada", "limit": 0}, "value-invalid"),
        ("notes_of", {"user": "ada", "limit": True}, "value-invalid"),
        ("notes_of", {"user": "ada", "cursor": 7}, "value-invalid"),
        ("notes_of", {"user": "ada", "cursor": "forged"}, "cursor-invalid"),
        ("notes-of", {"user": "ada"}, "tool-unknown"),
        ("", {}, "tool-unknown"),
    ],
)
def test_invalid_calls_are_errors_of_the_tool(
    name: str, arguments: dict[str, object], code: str
) -> None:
    async def use(client: Client) -> None:
        assert (await fail(client, name, **arguments))["code"] == code

    run(use, journal, caller=ADA)


def test_deep_arguments_are_refused() -> None:
    deep: object = "x"
    for _ in range(400):
        deep = [deep]

    async def main() -> None:
        # The SDK's client refuses to send it.
        service = AgentService(journal, ServiceDatabase(journal, ":memory:"), AgentSettings())
        answer = await service.call(ADA, "note_of", {"user": deep, "number": 1})
        assert answer.document["code"] == "value-invalid"
        await service.database.close()

    asyncio.run(main())


def test_without_a_caller_the_whole_table_is_used() -> None:
    async def use(client: Client) -> None:
        for user in ("ada", "bob"):
            await call(client, "write_note", note={"user": user, "number": 1})
            assert (await call(client, "note_of", user=user, number=1))["result"]["user"] == user

    run(use, journal, may_write=True)


def test_what_is_not_there_is_said() -> None:
    async def use(client: Client) -> None:
        answer = await call(client, "note_of", user="ada", number=1)
        assert answer == {"result": None, "note": "There is no such item.", "units": 0.5}

    run(use, journal, caller=ADA)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_clients_of_both_protocols_are_served(mode: str) -> None:
    async def use(client: Client) -> None:
        assert "Who you act for is fixed" in (client.instructions or "")
        assert (await call(client, "notes_of", user="bob"))["items"] == []

    run(use, journal, caller=BOB, mode=mode)


def test_end_users_give_and_get_handles() -> None:
    ada = Caller(("seller",), {"user": "ada"})

    async def use(client: Client) -> None:
        product = {"user": "ada", "id": "apple", "name": "Apple", "price": "0.3"}
        made = await call(client, "add_product", product=product)
        handle = made["result"]["product"]
        assert handle.startswith("I_h")
        changed = await call(
            client, "change_product", user="ada", product=handle, changes={"name": "Pear"}
        )
        assert changed["result"] == {**made["result"], "name": "Pear"}
        key = "I#01JZ10H7X367VB2NF4YQ973DHW"
        error = await fail(client, "remove_product", user="ada", product=key)
        assert error["code"] == "handle-invalid"
        assert key not in str(error)

    run(use, market, caller=ada, may_write=True)


def test_an_error_shows_no_key() -> None:
    async def use(client: Client) -> None:
        await call(client, "write_note", note={"user": "ada", "number": 1})
        error = await fail(client, "write_note", note={"user": "ada", "number": 1})
        assert error["code"] == "already-exists"
        assert "USER#" not in str(error)

    run(use, journal, caller=ADA, may_write=True)


def test_an_open_store_can_be_served() -> None:
    async def main() -> None:
        async with keyfold.open_async(journal, ":memory:") as store:
            assert isinstance(store, AsyncStore)
            await store.run(JournalNote(user="ada", number=1).create())
            async with agent(journal, store, caller=ADA) as client:
                assert len((await call(client, "notes_of", user="ada"))["items"]) == 1

    asyncio.run(main())
