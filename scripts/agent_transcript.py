"""Sessions of an agent, recorded for the documentation: a client of MCP's official SDK calls tools.

The database has the examples of the table, and is as before for each call. So every recording is the same.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import Any, NamedTuple

from compare_calculators import profile_design
from mcp import Client

import keyfold
from keyfold import AsyncStore
from keyfold.analysis import TableProfile, find_sample
from keyfold.cli._tables import DESIGNS, find_table
from keyfold.model import Entity, Table
from keyfold.service import Caller, PatternEndpoint, make_endpoints
from keyfold.service._database import ServiceDatabase
from keyfold.service.mcp import AgentService, AgentSettings, make_server
from keyfold.values import Item

# Or earlier, if an example would have expired.
NOW = 1_751_328_000.0
# A cursor is sealed anew each time, so it is not shown.
CURSOR = re.compile(r'(?<="cursor":")[\w-]+')
# The same in an id that a call has made.
ULID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")
# Answers of the page that has every pattern are cut off here.
LONGEST = 240
CUSTOMER = Caller(("customer",), {"user": "rabinovich"})
# What the agent of a customer does, and what a prompt makes it try.
STORY: tuple[tuple[str, str, dict[str, Any]], ...] = (
    (
        "Its own orders, one at a time:",
        "last_orders",
        {"user": "rabinovich", "count": 9, "limit": 1},
    ),
    ("Those of another customer:", "last_orders", {"user": "eve", "count": 9}),
    ("In another role:", "last_orders", {"user": "eve", "count": 9, "role": "support"}),
    ("A write, which it was not given:", "delete_user", {"user": "rabinovich"}),
    (
        "What a call would do:",
        "explain-pattern",
        {"pattern": "bonuses", "arguments": {"user": "rabinovich"}},
    ),
)


class RecordedAnswer(NamedTuple):
    """What a tool answered."""

    text: str
    is_error: bool


class RecordingAgent:
    """A client of a table's tools, and the database behind them."""

    def __init__(self, table: Table, store: AsyncStore, client: Client) -> None:
        self.table, self.client, self._store = table, client, store
        self._before: list[Item] = []

    async def fill(self) -> None:
        """Store the examples of the table."""
        for each in self.table.example_entities():
            await self._store.run(each.create())
        self._before = await self._scan()

    async def reset(self) -> None:
        """Undo what calls have changed."""
        named = {"TableName": self.table.name}
        for item in await self._scan():
            if item not in self._before:
                key = {name: item[name] for name in self.table.key.names}
                await self._store.execute("DeleteItem", {**named, "Key": key})
        for item in self._before:
            await self._store.execute("PutItem", {**named, "Item": item})

    async def remove(self, entities: Sequence[Entity]) -> None:
        """Delete entities, with what guards their unique values."""
        for each in entities:
            names = type(each).keyfold_schema().key_fields
            await self._store.run(
                type(each).delete(**{name: getattr(each, name) for name in names})
            )

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> RecordedAnswer:
        """Return what a tool answers; the client checks that it fits the tool's schema."""
        result = await self.client.call_tool(tool, dict(arguments))
        (content,) = result.content
        assert content.type == "text"
        known = {*ULID.findall(json.dumps([self._before, arguments]))}
        text = CURSOR.sub("…", content.text)
        text = ULID.sub(lambda found: found[0] if found[0] in known else "…", text)
        return RecordedAnswer(text, result.is_error)

    async def _scan(self) -> list[Item]:
        return (await self._store.execute("Scan", {"TableName": self.table.name}))["Items"]


@cache
def profile_of(table: Table) -> TableProfile:
    """Return the profile of a design."""
    (name,) = [each for each in DESIGNS if find_table(each) is table]
    return profile_design(name)


@asynccontextmanager
async def open_agent(
    table: Table, caller: Caller | None, *, may_write: bool
) -> AsyncGenerator[RecordingAgent]:
    """Open an agent whose database has the examples of the table."""
    expiry = [item.get(table.ttl or "", {}).get("N") for item in find_sample(table).items]
    moment = min([NOW, *(float(each) - 1 for each in expiry if each is not None)])
    options: dict[str, Any] = {"clock": lambda: moment, "cursor_key": bytes(32)}
    async with keyfold.open_async(table, ":memory:", **options) as store:
        settings = AgentSettings(may_write=may_write)
        database = ServiceDatabase(table, store)
        service = AgentService(table, database, settings, measure=profile_of)
        async with Client(make_server(service, lambda _: caller)) as client:
            agent = RecordingAgent(table, store, client)
            await agent.fill()
            yield agent


async def record_pattern(
    agent: RecordingAgent, endpoint: PatternEndpoint
) -> tuple[dict[str, Any], RecordedAnswer]:
    """Return the arguments of a pattern's most telling run, and the answer to a call with them."""
    run = profile_of(endpoint.table).patterns[endpoint.pattern.name].runs[0]
    adapters = {each.name: each.adapter for each in endpoint.parameters}
    arguments = {
        name: adapters[name].dump_python(value, mode="json", by_alias=True, exclude_unset=True)
        for name, value in run.arguments.items()
    }
    answer = RecordedAnswer("", is_error=True)
    for missing in _list_missing(endpoint.table, run.arguments):
        await agent.reset()
        await agent.remove(missing)
        answer = await agent.call(endpoint.name, arguments)
        if not answer.is_error:
            break
    return arguments, answer


def _list_missing(table: Table, arguments: Mapping[str, Any]) -> Iterator[list[Entity]]:
    """Yield what may have to be missing for a call to succeed: what it is passed, nothing, or one example."""
    yield [each for each in arguments.values() if isinstance(each, Entity)]
    yield []
    for each in table.example_entities():
        yield [each]


async def record_design(name: str) -> list[tuple[str, dict[str, Any], RecordedAnswer]]:
    """Return a call of each pattern of a design, by an agent that may do everything."""
    table = find_table(name)
    async with open_agent(table, None, may_write=True) as agent:
        return [
            (each.name, *await record_pattern(agent, each))
            for each in make_endpoints(table).values()
        ]


def write_agent_story() -> str:
    """Return the session of a customer's agent, as Markdown."""

    async def main() -> Iterator[str]:
        lines: list[str] = []
        async with open_agent(find_table("market"), CUSTOMER, may_write=False) as agent:
            names = [each.name for each in (await agent.client.list_tools()).tools]
            lines += ["The tools:", "", "```text", *_wrap(", ".join(names)), "```", ""]
            for title, tool, arguments in STORY:
                answer = await agent.call(tool, arguments)
                lines += [title, "", "```text", _show_call(tool, arguments)]
                lines += [*_indent(json.loads(answer.text)), "```", ""]
        return iter(lines)

    return "\n".join(asyncio.run(main())).strip()


def write_agent_session() -> str:
    """Return a call of each pattern of the four designs, as Markdown."""
    lines: list[str] = []
    for name in DESIGNS:
        lines += [f"## {name}", "", "```text"]
        for tool, arguments, answer in asyncio.run(record_design(name)):
            assert not answer.is_error, f"{name}: {tool} {arguments}: {answer.text}"
            text = answer.text
            shown = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
            lines += [_show_call(tool, arguments), shown, ""]
        lines[-1:] = ["```", ""]
    return "\n".join(lines).strip()


def _show_call(tool: str, arguments: Mapping[str, Any]) -> str:
    return f"> {tool} {json.dumps(arguments, ensure_ascii=False)}"


def _indent(document: Any) -> list[str]:
    return json.dumps(document, ensure_ascii=False, indent=2).splitlines()


def _wrap(text: str) -> Iterator[str]:
    line = ""
    for word in text.split(" "):
        if line and len(line) + len(word) >= 100:  # noqa: PLR2004 - columns
            yield line
            line = ""
        line = f"{line} {word}".strip()
    yield line
