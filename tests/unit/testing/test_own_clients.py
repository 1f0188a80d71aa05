"""Keyfold's own clients: they use the engine too, whatever their URL."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import keyfold
from keyfold import Entity, Key, Table
from keyfold.engine import Engine
from keyfold.errors import ResourceNotFoundException, ServiceError, Unavailable
from keyfold.store import CallRecord
from keyfold.testing import FaultProfile, Service, dynamodb
from keyfold.wire.client import AsyncClient, Client
from keyfold.wire.server import Server

songs = Table("Songs", key=Key("pk"))


class Song(Entity, table=songs, key="SONG#{title}"):
    title: str
    cover: bytes = b""


SINNERMAN = Song(title="Sinnerman", cover=bytes(range(256)) * 50)
URLS = ["dynamodb://eu-west-1", "dynamodb://eu-west-1/dev-", "http://localhost:1"]


@pytest.mark.parametrize("url", URLS)
def test_a_store_of_a_url_uses_the_service(url: str) -> None:
    # Neither credentials nor a network: both are taken away by the fixtures of this folder.
    with dynamodb() as service, keyfold.open(songs, url) as store:
        store.create_table(songs)
        store.run(SINNERMAN.put())
        assert store.run(Song.get(title="Sinnerman")) == SINNERMAN
        names = service.execute("ListTables", {})["TableNames"]
    assert names == ["dev-Songs" if url.endswith("dev-") else "Songs"]


@pytest.mark.parametrize("url", URLS)
def test_an_async_store_of_a_url_uses_the_service(url: str) -> None:
    async def use() -> Song | None:
        async with keyfold.open_async(songs, url) as store:
            await store.create_table(songs)
            await store.run(SINNERMAN.put())
            return await store.run(Song.get(title="Sinnerman"))

    with dynamodb():
        assert asyncio.run(use()) == SINNERMAN


def test_a_compressed_request_arrives() -> None:
    with dynamodb(), keyfold.open(songs, "dynamodb://eu-west-1", sends_gzip=True) as store:
        store.create_table(songs)
        store.run(SINNERMAN.put())
        assert store.run(Song.get(title="Sinnerman")) == SINNERMAN


def test_an_existing_client_is_redirected_and_returned() -> None:
    with (
        Engine.open(":memory:") as engine,
        Server(engine).running() as url,
        Client(url) as client,
    ):
        with dynamodb() as outer:
            outer.open(songs)
            assert client.execute("ListTables", {}) == {"TableNames": ["Songs"]}
            with dynamodb():
                assert client.execute("ListTables", {}) == {"TableNames": []}
        assert client.execute("ListTables", {}) == {"TableNames": []}
        assert "_answer" not in Client._send.__qualname__
        assert "_answer" not in AsyncClient._send.__qualname__


def test_streams_are_redirected(service: Service) -> None:
    with Client("dynamodb://eu-west-1") as client:
        assert client.execute("ListStreams", {}) == {"Streams": []}


def test_errors_are_those_of_the_service(service: Service) -> None:
    with Client("dynamodb://eu-west-1") as client:
        with pytest.raises(ResourceNotFoundException, match="Requested resource not found"):
            client.execute("Scan", {"TableName": "Nothing"})
        with pytest.raises(ServiceError, match="UnknownOperation"):
            client.execute("Sing", {})


def run_sync(records: list[CallRecord], faults: FaultProfile) -> Song | None:
    with dynamodb() as service, keyfold.open(songs, URLS[0], on_call=records.append) as store:
        store.create_table(songs)
        store.run(SINNERMAN.put())
        records.clear()
        with service.under(faults):
            return store.run(Song.get(title="Sinnerman"))


def run_async(records: list[CallRecord], faults: FaultProfile) -> Song | None:
    async def use(service: Service) -> Song | None:
        async with keyfold.open_async(songs, URLS[0], on_call=records.append) as store:
            await store.create_table(songs)
            await store.run(SINNERMAN.put())
            records.clear()
            with service.under(faults):
                return await store.run(Song.get(title="Sinnerman"))

    with dynamodb() as service:
        return asyncio.run(use(service))


@pytest.mark.parametrize("run", [run_sync, run_async])
def test_the_client_retries_injected_faults_without_a_pause(
    run: Callable[[list[CallRecord], FaultProfile], Song | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(seconds: float) -> None:
        assert seconds == 0.0

    monkeypatch.setattr("time.sleep", refuse)
    records: list[CallRecord] = []
    assert run(records, FaultProfile(throttling=0.8, seed=1)) == SINNERMAN
    failed, last = records[:-1], records[-1]
    assert failed
    assert all(each.error is not None for each in failed)
    assert (last.error, last.attempt) == (None, len(records))

    records.clear()
    with pytest.raises(Unavailable):
        run(records, FaultProfile(throttling=1.0))
    assert [each.attempt for each in records] == list(range(1, 9))


def test_latency_is_waited_for() -> None:
    waits: list[float] = []
    faults = FaultProfile(latency=1.0, latency_seconds=0.25)
    with dynamodb(faults=faults, sleep=waits.append), Client(URLS[0]) as client:
        client.execute("ListTables", {})
    assert waits == [0.25]


def test_async_latency_does_not_block_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    real = asyncio.sleep

    async def sleep(seconds: float, *rest: Any) -> None:
        slept.append(seconds)
        await real(0)

    async def use() -> None:
        async with AsyncClient(URLS[0]) as client:
            monkeypatch.setattr(asyncio, "sleep", sleep)
            await client.execute("ListTables", {})

    with dynamodb(faults=FaultProfile(latency=1.0, latency_seconds=0.25)):
        asyncio.run(use())
    assert slept[0] == 0.25
