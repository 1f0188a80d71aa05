"""Explanations and resources: what an agent can know without running anything."""

from __future__ import annotations

import json

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.types import TextResourceContents

from keyfold.designs import market
from keyfold.service import Caller
from tests.unit.service.mcp.agents import SUPPORT, call, fail, run
from tests.unit.service.mcp.journal import ADA, journal

CUSTOMER = Caller(("customer",), {"user": "ada"})


def test_a_tool_is_explained_without_running_it() -> None:
    async def use(client: Client) -> None:
        found = await call(client, "explain-pattern", pattern="write_note")
        assert [each["operation"] for each in found["calls"]] == ["PutItem"]
        assert found["units_of_a_call"] == {"read": 0, "write": 1}
        note = {"user": "ada", "number": 1}
        dry = await call(client, "explain-pattern", pattern="write_note", arguments={"note": note})
        assert dry["allowed"]
        assert dry["first_calls"][0]["request"]["Item"]["pk"] == {"S": "USER#ada"}
        assert (await call(client, "note_of", **note))["result"] is None

    run(use, journal, caller=ADA, may_write=True)


@pytest.mark.parametrize(
    ("pattern", "arguments", "code"),
    [
        ("note_of", {"user": "bob", "number": 1}, "access-denied"),
        ("note_of", {"user": "ada"}, "value-invalid"),
        ("notes_of", {"user": "ada", "cursor": 7}, "value-invalid"),
        ("write_note", {}, "read-only"),
        ("nothing", {}, "tool-unknown"),
        ("explain-pattern", {}, "tool-unknown"),
    ],
)
def test_an_explanation_fails_as_the_call_would(
    pattern: str, arguments: dict[str, object], code: str
) -> None:
    async def use(client: Client) -> None:
        error = await fail(client, "explain-pattern", pattern=pattern, arguments=arguments)
        assert error["code"] == code

    run(use, journal, caller=ADA)


def test_end_users_see_no_keys_in_explanations() -> None:
    async def use(client: Client) -> None:
        for arguments in (None, {"user": "ada", "count": 3}):
            found = await call(
                client, "explain-pattern", pattern="last_orders", arguments=arguments
            )
            assert [each["operation"] for each in found["calls"]] == ["Query"]
            assert "#" not in json.dumps(found)

    run(use, market.table, caller=CUSTOMER)


def test_the_design_its_entities_and_patterns_are_resources() -> None:
    async def use(client: Client) -> None:
        listed = {each.uri: each for each in (await client.list_resources()).resources}
        assert "keyfold://AgentJournal/design" in listed
        read: dict[str, str] = {}
        for uri, each in listed.items():
            (content,) = (await client.read_resource(uri)).contents
            assert content.mime_type == each.mime_type
            assert isinstance(content, TextResourceContents)
            read[uri] = content.text
        assert read["keyfold://AgentJournal/design"].startswith("# AgentJournal")
        schema = json.loads(read["keyfold://AgentJournal/entities/JournalNote"])
        assert schema["x-dynamodb"]
        explained = json.loads(read["keyfold://AgentJournal/patterns/notes_of"])
        assert [each["operation"] for each in explained["calls"]] == ["Query"]

    run(use, journal, caller=ADA)


def test_end_users_see_no_keys_in_resources() -> None:
    async def use(client: Client) -> None:
        uris = [each.uri for each in (await client.list_resources()).resources]
        assert all(uri.startswith("keyfold://Market/patterns/") for uri in uris)
        for uri in uris:
            assert "#" not in (await client.read_resource(uri)).model_dump_json()
        with pytest.raises(MCPError, match="no such resource"):
            await client.read_resource("keyfold://Market/design")

    run(use, market.table, caller=CUSTOMER)


def test_other_resources_are_unknown() -> None:
    async def use(client: Client) -> None:
        for uri in ("file:///etc/passwd", "keyfold://Market/patterns/delete_user", "keyfold://x"):
            with pytest.raises(MCPError, match="no such resource"):
                await client.read_resource(uri)

    run(use, market.table, caller=SUPPORT)
