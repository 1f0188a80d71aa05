"""Stores on a service: its tables, its clock and its faults."""

from __future__ import annotations

import asyncio
import time
import warnings
from datetime import timedelta

import pytest

from keyfold import AsyncStore, Entity, Expiry, Key, Store, Table, attr
from keyfold.errors import OptionInvalid, Unavailable, WrongTable
from keyfold.store import CallRecord
from keyfold.testing import FaultProfile, OpenAsyncStore, OpenStore, Service, dynamodb

songs = Table("Songs", key=Key("pk"), ttl="ttl")
artists = Table("Artists", key=Key("pk"))


class Song(Entity, table=songs, key="SONG#{title}"):
    title: str
    expires: Expiry | None = attr("ttl", default=None)


class Artist(Entity, table=artists, key="ARTIST#{name}"):
    name: str


SINNERMAN = Song(title="Sinnerman")
HOUR = timedelta(hours=1)


def test_a_store_has_its_tables(keyfold_store: OpenStore) -> None:
    store: Store = keyfold_store([songs, artists])
    store.run(SINNERMAN.put())
    store.run(Artist(name="Nina").put())
    # A second store finds what the first wrote, and creates nothing again.
    again = keyfold_store(songs)
    assert again.run(Song.get(title="Sinnerman")) == SINNERMAN
    with pytest.raises(WrongTable):
        again.run(Artist.get(name="Nina"))


def test_a_store_has_the_clock_of_the_test(
    keyfold_store: OpenStore, keyfold_dynamodb: Service
) -> None:
    store = keyfold_store(songs)
    store.run(SINNERMAN.put().expiring_in(HOUR))
    assert store.run(Song.get(title="Sinnerman")) is not None
    keyfold_dynamodb.clock.advance(2 * HOUR)
    assert store.run(Song.get(title="Sinnerman")) is None
    assert keyfold_dynamodb.execute("Scan", {"TableName": "Songs"})["Items"] == []


def test_a_store_meets_the_faults_of_the_test(
    keyfold_store: OpenStore, keyfold_dynamodb: Service
) -> None:
    records: list[CallRecord] = []
    store = keyfold_store(songs, on_call=records.append)
    started = time.monotonic()
    with keyfold_dynamodb.under(FaultProfile(throttling=1.0)), pytest.raises(Unavailable):
        store.run(SINNERMAN.put())
    attempts = [each for each in records if each.operation == "PutItem"]
    assert len(attempts) == 8
    # With pauses it would take more than two seconds.
    assert time.monotonic() - started < 1.0
    store.run(SINNERMAN.put())
    assert store.run(Song.get(title="Sinnerman")) == SINNERMAN


def test_an_async_store_is_opened_without_a_loop(
    keyfold_async_store: OpenAsyncStore, keyfold_dynamodb: Service
) -> None:
    store: AsyncStore = keyfold_async_store(songs)

    async def use() -> Song | None:
        async with store:
            await store.run(SINNERMAN.put().expiring_in(HOUR))
            with keyfold_dynamodb.under(FaultProfile(throttling=0.5, seed=3)):
                return await store.run(Song.get(title="Sinnerman"))

    found = asyncio.run(use())
    assert found is not None
    assert found.title == "Sinnerman"
    keyfold_dynamodb.clock.advance(2 * HOUR)
    # The store may be used on another loop: it has no connections.
    assert asyncio.run(store.run(Song.get(title="Sinnerman"))) is None


def test_pages_need_no_key_of_their_own(keyfold_store: OpenStore) -> None:
    store = keyfold_store(songs)
    for title in ("Sinnerman", "Feeling Good"):
        store.run(Song(title=title).put())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page = store.run(Song.scan().limit(1))
        assert page.cursor is not None
        # A fixture may open a store for each request of a web service.
        assert len(keyfold_store(songs).run(Song.scan().after(page.cursor))) == 1


def test_options_are_those_of_a_store() -> None:
    with dynamodb() as service, pytest.raises(OptionInvalid, match=r"^on_invalid"):
        service.open(songs, on_invalid="sometimes")  # pyright: ignore[reportArgumentType] - what is refused
