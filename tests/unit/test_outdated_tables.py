"""Tables that lack part of their declaration: found when a file is opened, or by the first read."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

import keyfold
from keyfold.deploy import apply
from keyfold.engine import Engine
from keyfold.errors import IndexMissing, RequestRefused, TableOutdated
from keyfold.model import Collection, Entity, Expiry, Index, Key, Table, attr, part
from keyfold.wire.server import Server
from tests.unit.store.store_kinds import (
    AnyStore,
    AsyncStoreAdapter,
    Kind,
    SyncStoreAdapter,
    open_any_store,
)

KEY = Key("pk")
by_team = Index("ByTeam", key=Key("team"))


@pytest.fixture(params=["sync", "async"])
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


def declare(**options: Any) -> Table:
    table = Table("Club", key=KEY, **options)

    class Member(Entity, table=table, key="M#{id}"):
        id: str = part()
        team: str | None = None
        expires: Expiry | None = attr("ttl", default=None)

    assert Member.keyfold_schema().table is table
    return table


def make_file(folder: Path, **options: Any) -> str:
    path = str(folder / "club.db")
    keyfold.open(declare(**options), path).close()
    return path


def open_service(kind: Kind, table: Table, url: str) -> AnyStore:
    if kind == "sync":
        return SyncStoreAdapter(keyfold.open(table, url), [], [])
    return AsyncStoreAdapter(lambda: keyfold.open_async(table, url), [], [])


clubs = Table("Club", key=KEY, indexes=[by_team])


class Player(Entity, table=clubs, key="M#{id}"):
    id: str = part()
    team: str


class Team(Collection):
    players: list[Player]


LACKING: list[tuple[dict[str, Any], str]] = [
    ({"indexes": [by_team]}, "the index ByTeam by team"),
    ({"ttl": "ttl"}, "expiry by ttl"),
    ({"stream": "new"}, "a stream with new"),
]


@pytest.mark.parametrize(("options", "lacking"), LACKING)
def test_opening_a_file_says_what_its_table_lacks(
    kind: Kind, tmp_path: Path, options: dict[str, Any], lacking: str
) -> None:
    path = make_file(tmp_path)
    table = declare(**options)
    with pytest.raises(TableOutdated) as caught:
        open_any_store(kind, table, path)
    assert caught.value.lacking == (lacking,)
    assert str(caught.value) == (
        f"Club in {path}: the table lacks {lacking}. Run `keyfold apply --db {path}` to add it. "
        "[table-outdated]"
    )
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    with Engine.open(path) as engine:
        apply(engine, [table])
    open_any_store(kind, table, path).close()


def test_everything_that_is_lacking_is_listed(kind: Kind, tmp_path: Path) -> None:
    path = make_file(tmp_path, stream="keys")
    with pytest.raises(TableOutdated) as caught:
        open_any_store(kind, declare(indexes=[by_team], ttl="ttl", stream="new"), path)
    assert caught.value.lacking == tuple(each for _, each in LACKING)


def test_an_index_with_another_key_is_lacking(kind: Kind, tmp_path: Path) -> None:
    path = make_file(tmp_path, indexes=[by_team])
    other = Index("ByTeam", key=Key("team", "pk"))
    with pytest.raises(TableOutdated, match="the index ByTeam by team, pk"):
        open_any_store(kind, declare(indexes=[other]), path)


def test_a_table_with_more_than_declared_is_opened(kind: Kind, tmp_path: Path) -> None:
    path = make_file(tmp_path, indexes=[by_team], ttl="ttl", stream="new")
    open_any_store(kind, declare(), path).close()


def test_a_read_of_an_index_that_a_service_lacks_names_keyfold_apply(kind: Kind) -> None:
    requests = (
        clubs.query(by_team, team="red"),
        clubs.scan(by_team),
        Team.get(by_team, team="red"),
    )
    with Engine.open(":memory:") as engine, Server(engine).running() as url:
        engine.execute("CreateTable", declare().to_dynamodb())
        store = open_service(kind, clubs, url)
        for request in requests:
            with pytest.raises(IndexMissing) as caught:
                store.run(request)
            assert isinstance(caught.value, RequestRefused)
            assert (caught.value.table, caught.value.index) == ("Club", "ByTeam")
            assert str(caught.value) == (
                f"{request!r}: table Club does not have the index ByTeam. Run `keyfold apply` to "
                "add it, and `keyfold backfill` to give stored items its keys. [index-missing]"
            )
        store.close()
