"""Stores on clients of aioboto3 and aiobotocore, against a live server.

Run by pytest in the environment that has aioboto3; see ../test_clients.py.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any

import pytest

import keyfold
from keyfold import Entity, Key, Table, transaction
from keyfold.errors import (
    AlreadyExists,
    ConditionFailed,
    OptionInvalid,
    ResourceNotFoundException,
    TransactionFailed,
    Unreachable,
)
from keyfold.model import Change

URL = os.environ["AWS_ENDPOINT_URL_DYNAMODB"]

songs = Table("Songs-of-aioboto3", key=Key("pk", "sk"), stream="new and old")
titles: list[str] = []


class Song(Entity, table=songs, key=("ARTIST#{artist}", "SONG#{title}")):
    artist: str
    title: str
    plays: int = 0
    cover: bytes = b""


@songs.on_change(Song)
def note(change: Change[Song]) -> None:
    if change.new is not None:
        titles.append(change.new.title)


def make_client(library: str, service: str = "dynamodb", url: str = URL) -> Any:
    """Return a context manager for a client that leaves retries to us."""
    config = import_module("aiobotocore.config").AioConfig(
        retries={"total_max_attempts": 1}, connect_timeout=5, read_timeout=30
    )
    if library == "aioboto3":
        return import_module("aioboto3").Session().client(service, endpoint_url=url, config=config)
    session = import_module("aiobotocore.session").get_session()
    return session.create_client(service, endpoint_url=url, config=config)


def run_on(library: str, use: Callable[[keyfold.AsyncStore, Any], Awaitable[None]]) -> None:
    """Call `use` with a store that `Table.open_async` opens on a client, with the table created."""

    async def main() -> None:
        streams = make_client(library, "dynamodbstreams")
        async with make_client(library) as client, streams as streams_client:
            opened = songs.open_async(client=client, streams_client=streams_client)
            async with opened as store:
                await store.create_table(songs)
                try:
                    await use(store, client)
                finally:
                    await store.drop_table(songs)
            # Closing the store leaves the user's client open.
            assert (await client.list_tables())["TableNames"] == []

    asyncio.run(main())


@pytest.fixture(params=["aioboto3", "aiobotocore"])
def library(request: pytest.FixtureRequest) -> str:
    return request.param


def test_a_store_reads_and_writes_entities(library: str) -> None:
    async def use(store: keyfold.AsyncStore, client: Any) -> None:
        written = [Song(artist="Nina", title=f"{number:03}") for number in range(40)]
        await store.run(keyfold.batch([song.put() for song in written]))
        await store.run(Song(artist="Nina", title="Sinnerman", cover=b"\0\xff").create())
        found = await store.run(Song.get(artist="Nina", title="Sinnerman"))
        assert found == Song(artist="Nina", title="Sinnerman", cover=b"\0\xff")
        stored = await client.get_item(
            TableName=songs.name, Key={"pk": {"S": "ARTIST#Nina"}, "sk": {"S": "SONG#Sinnerman"}}
        )
        assert stored["Item"]["cover"] == {"B": b"\0\xff"}
        listed = [song async for song in store.iterate(Song.query(artist="Nina"))]
        assert [song.title for song in listed] == [*(song.title for song in written), "Sinnerman"]
        more = Song.update(artist="Nina", title="Sinnerman").add(Song.f.plays, 2)
        assert (await store.run(more)).plays == 2
        assert await store.run(Song.delete(artist="Nina", title="Sinnerman")) is not None
        assert await store.run(Song.get(artist="Nina", title="Sinnerman")) is None

    run_on(library, use)


def test_errors_are_those_of_our_own_client(library: str) -> None:
    song = Song(artist="Nina", title="Feeling Good")

    async def use(store: keyfold.AsyncStore, client: Any) -> None:
        await store.run(song.create())
        with pytest.raises(AlreadyExists) as caught:
            await store.run(song.create())
        assert caught.value.found == song
        with pytest.raises(ConditionFailed):
            await store.run(
                Song.delete(artist="Nina", title="Feeling Good").where(Song.f.plays.eq(9))
            )
        other = Song(artist="Nina", title="Other")
        with pytest.raises(TransactionFailed) as failed:
            await store.run(transaction(other.put(), song.create()))
        assert [reason is None for reason in failed.value.reasons] == [True, False]
        assert await store.run(Song.get(artist="Nina", title="Other")) is None
        elsewhere = Table("Nowhere", key=Key("pk"))

        class Thing(Entity, table=elsewhere, key="{id}"):
            id: str

        async with elsewhere.open_async(client=client) as nowhere:
            with pytest.raises(ResourceNotFoundException):
                await nowhere.run(Thing.get(id="1"))

    run_on(library, use)


def test_a_stream_is_followed(library: str) -> None:
    async def use(store: keyfold.AsyncStore, client: Any) -> None:
        titles.clear()
        for title in ("a", "b", "c"):
            await store.run(Song(artist="Nina", title=title).put())
        await store.follow(songs, until_caught_up=True, setup=True)
        assert titles == ["a", "b", "c"]
        await client.delete_table(TableName=f"{songs.name}-leases")

    run_on(library, use)


def test_a_refused_connection_is_reported(library: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    async def main() -> None:
        async with (
            make_client(library, url=f"http://127.0.0.1:{port}") as client,
            songs.open_async(client=client) as store,
        ):
            with pytest.raises(Unreachable):
                await store.run(Song.get(artist="Nina", title="Sinnerman"))
            # With a single attempt, a refused connection cannot have carried the request.
            with pytest.raises(Unreachable):
                await store.run(Song(artist="Nina", title="Sinnerman").put())

    asyncio.run(main())


def test_an_async_client_needs_an_async_store(library: str) -> None:
    async def main() -> None:
        async with make_client(library) as client:
            with pytest.raises(OptionInvalid, match="Use open_async for an asynchronous client"):
                songs.open(client=client)

    asyncio.run(main())
