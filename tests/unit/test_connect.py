"""Opening stores from URLs and clients."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import pytest

import keyfold
from keyfold.engine import Engine
from keyfold.errors import (
    DeclarationInvalid,
    EngineClosed,
    FileNotKeyfold,
    FileUnreachable,
    OptionInvalid,
    ResourceNotFoundException,
    Unreachable,
    UrlUnknown,
)
from keyfold.model import Entity, Index, Key, Table, batch
from keyfold.store import CallRecord
from keyfold.wire.client import Retries
from keyfold.wire.server import Server
from tests.transports import make_boto_client
from tests.unit.model.shop import Rate, by_base, desk, market, rates
from tests.unit.store.store_kinds import START, Kind, open_any_store
from tests.unit.wire.client.client_kinds import ScriptedServer, ok

RATE = Rate(base="USD", target="EUR", rate=Decimal(1), at=START)
GET = Rate.get(base="USD", target="EUR")


@pytest.fixture(params=["sync", "async"])
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


def test_open_and_open_async_are_context_managers() -> None:
    with keyfold.open(rates, ":memory:") as store:
        assert isinstance(store, keyfold.Store)
        assert store.run(RATE.put()) == RATE

    async def main() -> None:
        async with keyfold.open_async(rates, ":memory:") as store:
            assert isinstance(store, keyfold.AsyncStore)
            assert await store.run(RATE.put()) == RATE
            assert [each async for each in store.iterate(Rate.query(by_base, base="USD"))] == [RATE]

    asyncio.run(main())


def test_a_table_has_methods_that_open_a_store(server_url: str, tmp_path: Path) -> None:
    songs = keyfold.Table("Songs", key=Key("pk"))

    class Song(Entity, table=songs, key="SONG#{title}"):
        title: str

    song, get = Song(title="Sinnerman"), Song.get(title="Sinnerman")
    calls: list[str] = []
    with songs.open(tmp_path / "songs.db", on_call=[lambda call: calls.append(call.operation)]) as (
        store
    ):
        store.run(song.put())
    assert calls == ["CreateTable", "DescribeTable", "PutItem"]
    client = make_boto_client(server_url)
    with songs.open(client=client) as store:
        store.create_table(songs)
        store.run(song.put())

    async def main() -> None:
        for opened in (
            songs.open_async(tmp_path / "songs.db"),
            songs.open_async(server_url),
            songs.open_async(client=client),
        ):
            async with opened as store:
                assert await store.run(get) == song

    asyncio.run(main())
    client.close()
    with pytest.raises(OptionInvalid, match="Give a URL, or a client"):
        songs.open()
    assert repr(songs) == "Table('Songs')"
    assert isinstance(songs, Table)


def test_items_stay_in_the_file_between_runs(kind: Kind, tmp_path: Path) -> None:
    for path in (tmp_path / "a.db", str(tmp_path / "b.db")):
        first = open_any_store(kind, [rates, market], path)
        first.run(RATE.put())
        first.close()
        again = open_any_store(kind, [market, rates], path)
        assert again.run(GET) == RATE
        again.close()


def test_opening_creates_missing_tables_and_leaves_the_others_alone(
    kind: Kind, tmp_path: Path
) -> None:
    path = tmp_path / "shop.db"
    first = open_any_store(kind, rates, path)
    first.run(RATE.put())
    assert [call.operation for call in first.calls] == [
        "CreateTable",
        "DescribeTable",
        "UpdateTimeToLive",
        "PutItem",
    ]
    first.close()
    again = open_any_store(kind, [rates, desk], path)
    assert [(call.operation, call.tables) for call in again.calls] == [
        ("CreateTable", ("Desk",)),
        ("DescribeTable", ("Desk",)),
    ]
    assert again.run(GET) == RATE
    again.close()
    with Engine.open(path) as engine:
        assert engine.execute("ListTables", {})["TableNames"] == ["Desk", "ExchangeRates"]
        found = engine.execute("DescribeTimeToLive", {"TableName": "ExchangeRates"})
        assert found["TimeToLiveDescription"]["TimeToLiveStatus"] == "ENABLED"


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("sqlite:///x.db", "Give the path of a file, ':memory:', http"),
        ("dynamodb://", "'' is not a region"),
        ("dynamodb://eu_west", "is not a region"),
        ("dynamodb://eu-west-1/a/b", "A table prefix has letters"),
        ("http://", "Give the path of a file, ':memory:', http"),
        ("http://localhost:8000/path", "It may have only a host and a port"),
        ("http://user@localhost:8000", "It may have only a host and a port"),
        ("https://localhost:99999", "It is not a URL"),
    ],
)
def test_an_unknown_url_is_refused_before_anything_is_created(
    url: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for opener in (keyfold.open, keyfold.open_async):
        with pytest.raises(UrlUnknown, match=text):
            opener(rates, url)
    assert list(tmp_path.iterdir()) == []


def test_a_bad_declaration_or_option_opens_nothing(kind: Kind, tmp_path: Path) -> None:
    bad = Table("Bad", key=Key("pk"), indexes=[Index("Lonely", key=Key("x"))])

    class Thing(Entity, table=bad, key="{id}"):  # pyright: ignore[reportUnusedClass] - declaring it is the point
        id: str

    with pytest.raises(DeclarationInvalid, match="no entity fills the key of index 'Lonely'"):
        open_any_store(kind, bad, tmp_path / "bad.db")
    with pytest.raises(OptionInvalid):
        open_any_store(kind, rates, tmp_path / "bad.db", cursor_key=b"short")
    with pytest.raises(OptionInvalid, match="Give a Table, or several"):
        open_any_store(kind, cast(Any, Rate), tmp_path / "bad.db")
    for clock in (lambda: START, START, lambda: float("nan")):
        with pytest.raises(OptionInvalid, match=r"function that returns the seconds since 1970"):
            open_any_store(kind, rates, tmp_path / "bad.db", clock=cast(Any, clock))
    with pytest.raises(OptionInvalid):
        open_any_store(kind, rates, tmp_path / "bad.db", durability="sometimes")
    with Engine.open(tmp_path / "bad.db") as engine:
        assert engine.execute("ListTables", {})["TableNames"] == []


def test_errors_say_what_is_wrong_with_a_file(kind: Kind, tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no database, but a text that is long enough to be one" * 99)
    with pytest.raises(FileNotKeyfold):
        open_any_store(kind, rates, tmp_path / "text.db")
    with pytest.raises(FileUnreachable):
        open_any_store(kind, rates, tmp_path / "no folder" / "x.db")


def test_a_closed_store_raises_an_error_that_says_so(kind: Kind) -> None:
    if kind == "sync":
        store = keyfold.open(rates, ":memory:")
        store.close()
        with pytest.raises(EngineClosed):
            store.run(GET)
        return

    async def main() -> None:
        unopened = keyfold.open_async(rates, ":memory:")
        with pytest.raises(EngineClosed):
            await unopened.run(GET)
        async with keyfold.open_async(rates, ":memory:") as store:
            pass
        with pytest.raises(EngineClosed):
            await store.run(GET)

    asyncio.run(main())


def test_disk_access_never_blocks_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loops: set[int] = set()
    calls_by_thread: list[tuple[str, int]] = []

    def record_threads(name: str) -> None:
        inner = getattr(Engine, name)

        def recording(*args: Any, **kwargs: Any) -> Any:
            operation = args[1] if name == "execute" else name
            calls_by_thread.append((str(operation), threading.get_ident()))
            return inner(*args, **kwargs)

        replaced = staticmethod(recording) if name == "open" else recording
        monkeypatch.setattr(Engine, name, replaced)

    for name in ("open", "close", "execute", "keep_secret"):
        record_threads(name)

    async def main() -> None:
        loops.add(threading.get_ident())
        async with keyfold.open_async(rates, tmp_path / "async.db") as store:
            await store.run(RATE.put())
            await asyncio.gather(
                *(store.run(RATE.model_copy(update={"target": str(n)}).put()) for n in range(20))
            )
            await store.run(batch([RATE.put()]))
            await store.run(Rate.update(base="USD", target="EUR").set(Rate.f.stale, True))
            assert await store.run(Rate.query(by_base, base="USD").count()) == 21

    asyncio.run(main())
    in_other_threads = {name for name, thread in calls_by_thread if thread not in loops}
    in_event_loop = {name for name, thread in calls_by_thread if thread in loops}
    assert in_other_threads >= {
        "open",
        "keep_secret",
        "PutItem",
        "BatchWriteItem",
        "UpdateItem",
        "CreateTable",
    }
    assert in_event_loop <= {"GetItem", "Query"}


def test_many_tasks_share_a_store(tmp_path: Path) -> None:
    async def main() -> None:
        async with keyfold.open_async(rates, tmp_path / "many.db") as store:
            await store.run(RATE.put())

            async def count() -> None:
                found = await store.run(GET)
                assert found is not None

            await asyncio.gather(*(count() for _ in range(50)))

    asyncio.run(main())


@pytest.fixture
def server_url() -> Iterator[str]:
    with (
        Engine.open(":memory:", upkeep_seconds=None) as engine,
        Server(engine).running() as url,
    ):
        yield url


def test_no_table_is_created_in_a_service_unless_requested(kind: Kind, server_url: str) -> None:
    if kind == "sync":
        with keyfold.open(rates, server_url) as store:
            with pytest.raises(ResourceNotFoundException):
                store.run(GET)
            store.create_table(rates)
            store.run(RATE.put())
            assert store.run(GET) == RATE
        return

    async def main() -> None:
        async with keyfold.open_async(rates, server_url) as store:
            with pytest.raises(ResourceNotFoundException):
                await store.run(GET)
            await store.create_table(rates)
            await store.run(RATE.put())
            assert await store.run(GET) == RATE

    asyncio.run(main())


def test_a_boto3_client_is_used_and_not_closed(kind: Kind, server_url: str) -> None:
    client = make_boto_client(server_url)
    if kind == "sync":
        with keyfold.open(rates, client=client) as store:
            store.create_table(rates)
            store.run(RATE.put())
    else:

        async def main() -> None:
            async with keyfold.open_async(rates, client=client) as store:
                await store.create_table(rates)
                await store.run(RATE.put())

        asyncio.run(main())
    assert client.scan(TableName="ExchangeRates")["Count"] == 1
    client.close()


def test_cursors_of_a_service_need_a_key_to_outlive_the_process(server_url: str) -> None:
    query = Rate.query(by_base, base="USD").limit(1)
    key = b"a key for cursors, of some bytes"
    with keyfold.open(rates, server_url) as store:
        store.create_table(rates)
        for target in ("EUR", "GBP"):
            store.run(RATE.model_copy(update={"target": target}).put())
        with pytest.warns(UserWarning, match="no cursor_key was given"):
            assert store.run(query).cursor is not None
    with keyfold.open(rates, server_url, cursor_key=key) as store:
        cursor = store.run(query).cursor
        assert cursor is not None
    with keyfold.open(rates, server_url, cursor_key=key) as store:
        assert [rate.target for rate in store.run(query.after(cursor))] == ["GBP"]


def test_options_are_passed_to_the_engine_or_client(server_url: str) -> None:
    with pytest.raises(TypeError, match="durability"):
        keyfold.open(rates, server_url, durability="process")
    prefixed = keyfold.open(rates, "dynamodb://eu-west-1/dev-", endpoint=server_url)
    with prefixed as store, keyfold.open(rates, server_url) as plain:
        store.create_table(rates)
        assert store.run(RATE.put()) == RATE
        with pytest.raises(ResourceNotFoundException):
            plain.run(GET)
    closed = keyfold.open(rates, "http://127.0.0.1:9", retries=Retries(attempts=1))
    with closed as store, pytest.raises(Unreachable, match=r"cannot reach http://127\.0\.0\.1:9"):
        store.run(GET)


def test_hooks_see_the_retries_of_the_client(kind: Kind) -> None:
    refused = b'{"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException"}'
    throttled = b"HTTP/1.1 400 No\r\nContent-Length: %d\r\n\r\n%b" % (len(refused), refused)
    records: list[CallRecord] = []
    retries = Retries(first_pause_seconds=0)
    options: dict[str, Any] = {"on_call": [records.append], "retries": retries}
    with ScriptedServer([throttled, None, ok(), throttled, ok()]) as server:
        prefixed = {"url": "dynamodb://eu-west-1/dev-", "endpoint": server.url}
        if kind == "sync":
            with keyfold.open(rates, server.url, **options) as store:
                assert store.run(GET) is None
            with keyfold.open(rates, **prefixed, **options) as store:
                assert store.run(GET) is None
        else:

            async def main() -> None:
                async with keyfold.open_async(rates, server.url, **options) as store:
                    assert await store.run(GET) is None
                async with keyfold.open_async(rates, **prefixed, **options) as store:
                    assert await store.run(GET) is None

            asyncio.run(main())
    assert [(record.attempt, type(record.error).__name__) for record in records] == [
        (1, "ThrottlingException"),
        (2, "Unreachable"),
        (3, "NoneType"),
        (1, "ThrottlingException"),
        (2, "NoneType"),
    ]
    assert {(record.operation, record.tables) for record in records} == {
        ("GetItem", ("ExchangeRates",))
    }
    assert all(0 <= record.seconds < 60 for record in records)


@pytest.mark.parametrize("opener", [keyfold.open, keyfold.open_async])
def test_a_url_and_a_client_exclude_each_other(opener: Any, server_url: str) -> None:
    client = make_boto_client(server_url)
    with pytest.raises(OptionInvalid, match="not both"):
        opener(rates, server_url, client=client)
    with pytest.raises(OptionInvalid, match="Give a URL, or a client"):
        opener(rates)
    with pytest.raises(OptionInvalid, match="With a client of your own there are no options"):
        opener(rates, client=client, durability="process")
    with pytest.raises(OptionInvalid, match=r"a client from boto3\.client\('dynamodb'\)"):
        opener(rates, client=object())
    client.close()


def test_modules_of_other_kinds_of_database_are_not_loaded() -> None:
    code = (
        "import sys, keyfold\n"
        "from keyfold import Entity, Key, Table\n"
        "table = Table('Songs', key=Key('pk'))\n"
        "class Song(Entity, table=table, key='{{title}}'):\n"
        "    title: str\n"
        "keyfold.open(table, {url!r}).close()\n"
        "others = {{'asyncio', 'keyfold.engine', 'keyfold.wire.client', 'ssl'}}\n"
        "print(*sorted(others & set(sys.modules)))"
    )
    for url, loaded in (
        (":memory:", "keyfold.engine"),
        ("http://localhost:1", "keyfold.wire.client"),
    ):
        program = [sys.executable, "-c", code.format(url=url)]
        done = subprocess.run(program, capture_output=True, check=True, text=True)
        assert done.stdout.strip() == loaded
