"""`keyfold mcp`, as a client of the official SDK starts it, and over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

import keyfold
from keyfold.designs.market import User, table
from tests.unit.cli.program import Run
from tests.unit.service.mcp.agents import call, fail

COMMAND = [sys.executable, "-m", "keyfold", "mcp", "market"]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "market.db"
    with keyfold.open(table, str(path)) as store:
        for user in ("ada", "bob"):
            store.run(User(user=user, id=f"{user}@example.com").create())
    return path


def test_a_client_uses_tools_on_standard_input_and_output(tmp_path: Path, database: Path) -> None:
    audit = tmp_path / "audit.jsonl"
    words = ["--db", str(database), "--as", "customer", "--id", "user=ada", "--audit", str(audit)]

    async def main() -> None:
        [program, *others] = COMMAND
        started = StdioServerParameters(
            command=program, args=[*others, *words], env=dict(os.environ)
        )
        async with Client(started) as client:
            tools = {each.name: each for each in (await client.list_tools()).tools}
            assert [*tools["last_orders"].input_schema["properties"]] == [
                "user",
                "count",
                "limit",
                "cursor",
            ]
            assert "delete_user" not in tools
            found = await call(client, "user_profile", user="ada")
            assert found["result"]["user"]["id"] == "ada@example.com"
            assert (await fail(client, "user_profile", user="bob"))["code"] == "access-denied"
            assert (await fail(client, "delete_user", user="ada"))["code"] == "read-only"

    asyncio.run(main())
    statuses = [json.loads(line)["status"] for line in audit.read_text().splitlines()]
    assert statuses == ["ok", "access-denied", "read-only"]


def test_tools_are_served_over_http_until_a_signal(database: Path) -> None:
    words = ["--db", str(database), "--as", "support", "--http", "--port", "0", "--json"]
    with subprocess.Popen([*COMMAND, *words], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            ready = json.loads(process.stdout.readline())

            async def main() -> None:
                async with Client(ready["url"]) as client:
                    found = await call(client, "user_profile", user="bob")
                    assert found["result"]["user"]["id"] == "bob@example.com"

            asyncio.run(main())
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


DECLARATION = """
from keyfold import Entity, Get, Key, Table

shelf = Table("Shelf", key=Key("pk"))


class ShelvedBook(Entity, table=shelf, key="BOOK#{book}"):
    book: str


@shelf.pattern("A book")
def NAME(book: str) -> Get[ShelvedBook]:
    return ShelvedBook.get(book=book)
"""


def test_designers_tools_see_the_declaration_as_it_is_in_its_file(tmp_path: Path) -> None:
    file = tmp_path / "shelf_declared.py"
    file.write_text(DECLARATION.replace("NAME", "book_of"))
    words = ["--table", "shelf_declared:shelf", "--db", ":memory:", "--design"]

    async def main() -> None:
        [program, *others] = COMMAND[:-1]
        started = StdioServerParameters(
            command=program, args=[*others, *words], env=dict(os.environ), cwd=tmp_path
        )
        async with Client(started) as client:
            await call(client, "explain-design", pattern="book_of")
            file.write_text(DECLARATION.replace("NAME", "find_the_book"))
            await call(client, "explain-design", pattern="find_the_book")
            file.write_text("shelf = ")
            error = await fail(client, "lint-design")
            assert "shelf_declared cannot be imported: SyntaxError" in error["detail"]
            # The tools of patterns are those of the start.
            assert (await call(client, "book_of", book="x"))["result"] is None

    asyncio.run(main())


@pytest.mark.parametrize(
    ("words", "fact"),
    [
        (["--as", "nobody"], "no table has such a role"),
        (["--port", "1"], "it is for --http"),
        (["--http", "--design"], "that of one designer"),
        (["--auth", "auth.toml"], "it is for --http"),
        (["--id", "user=ada"], "it is for --as"),
        (["--http", "--host", "0.0.0.0", "--port", "0", "--as", "support"], "--insecure"),
        (["--http", "--as", "support", "--auth", "auth.toml"], "told apart by --auth"),
        (["--max-units", "0"], "above 0"),
        (["--audit", "/nowhere/audit.jsonl"], "cannot be opened"),
    ],
)
def test_options_that_do_not_go_together_are_refused(run: Run, words: list[str], fact: str) -> None:
    outcome = run("mcp", "market", "--db", ":memory:", *words)
    assert outcome.code == 2
    assert fact in " ".join(outcome.err.split())
