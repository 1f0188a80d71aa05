"""From a URL to a store."""

from __future__ import annotations

import asyncio
import threading
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
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
    UrlUnknown,
)
from keyfold.model import Entity, Index, Key, Table, batch
from tests.unit.model.shop import Rate, by_base, desk, market, rates
from tests.unit.store.sides import START, Kind, open_side

RATE = Rate(base="USD", target="EUR", rate=Decimal(1), at=START)
GET = Rate.get(base="USD", target="EUR")


@pytest.fixture(params=["sync", "async"])
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


def test_both_are_context_managers() -> None:
    with keyfold.open(rates, ":memory:") as store:
        assert isinstance(store, keyfold.Store)
        assert store.run(RATE.put()) == RATE

    async def main() -> None:
        async with keyfold.open_async(rates, ":memory:") as store:
            assert isinstance(store, keyfold.AsyncStore)
            assert await store.run(RATE.put()) == RATE
            assert [each async for each in store.iterate(Rate.query(by_base, base="USD"))] == [RATE]

    asyncio.run(main())


def test_a_file_keeps_what_is_written(kind: Kind, tmp_path: Path) -> None:
    for path in (tmp_path / "a.db", str(tmp_path / "b.db")):
        first = open_side(kind, [rates, market], path)
        first.run(RATE.put())
        first.close()
        again = open_side(kind, [market, rates], path)
        assert again.run(GET) == RATE
        again.close()


def test_opening_makes_the_tables_that_are_missing_and_leaves_the_others(
    kind: Kind, tmp_path: Path
) -> None:
    path = tmp_path / "shop.db"
    first = open_side(kind, rates, path)
    first.run(RATE.put())
    assert [call.operation for call in first.calls] == [
        "CreateTable",
        "UpdateTimeToLive",
        "PutItem",
    ]
    first.close()
    again = open_side(kind, [rates, desk], path)
    assert [(call.operation, call.tables) for call in again.calls] == [("CreateTable", ("Desk",))]
    assert again.run(GET) == RATE
    again.close()
    with Engine.open(path) as engine:
        assert engine.execute("ListTables", {})["TableNames"] == ["Desk", "ExchangeRates"]
        found = engine.execute("DescribeTimeToLive", {"TableName": "ExchangeRates"})
        assert found["TimeToLiveDescription"]["TimeToLiveStatus"] == "ENABLED"


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("dynamodb://eu-west-1", "still to come"),
        ("http://localhost:8000", "still to come"),
        ("sqlite:///x.db", "Give the path of a file, or ':memory:'"),
    ],
)
def test_an_unknown_url_is_refused_before_anything_is_made(
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
        open_side(kind, bad, tmp_path / "bad.db")
    with pytest.raises(OptionInvalid):
        open_side(kind, rates, tmp_path / "bad.db", cursor_key=b"short")
    with pytest.raises(OptionInvalid, match="Give a Table, or several"):
        open_side(kind, cast(Any, Rate), tmp_path / "bad.db")
    naive = SimpleNamespace(now=lambda: START.replace(tzinfo=None))
    with pytest.raises(OptionInvalid, match="times have a time zone"):
        open_side(kind, rates, tmp_path / "bad.db", clock=cast(Any, naive))
    with pytest.raises(OptionInvalid):
        open_side(kind, rates, tmp_path / "bad.db", durability="sometimes")
    with Engine.open(tmp_path / "bad.db") as engine:
        assert engine.execute("ListTables", {})["TableNames"] == []


def test_what_is_wrong_with_a_file_is_said(kind: Kind, tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no database, but a text that is long enough to be one" * 99)
    with pytest.raises(FileNotKeyfold):
        open_side(kind, rates, tmp_path / "text.db")
    with pytest.raises(FileUnreachable):
        open_side(kind, rates, tmp_path / "no folder" / "x.db")


def test_a_closed_store_says_so(kind: Kind) -> None:
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


def test_what_waits_for_the_disk_never_holds_up_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loops: set[int] = set()
    touched: list[tuple[str, int]] = []

    def watch(name: str) -> None:
        inner = getattr(Engine, name)

        def watched(*args: Any, **kwargs: Any) -> Any:
            operation = args[1] if name == "execute" else name
            touched.append((str(operation), threading.get_ident()))
            return inner(*args, **kwargs)

        replaced = staticmethod(watched) if name == "open" else watched
        monkeypatch.setattr(Engine, name, replaced)

    for name in ("open", "close", "execute", "keep_secret"):
        watch(name)

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
    aside = {name for name, thread in touched if thread not in loops}
    here = {name for name, thread in touched if thread in loops}
    assert aside >= {
        "open",
        "keep_secret",
        "PutItem",
        "BatchWriteItem",
        "UpdateItem",
        "CreateTable",
    }
    assert here <= {"GetItem", "Query"}


def test_many_tasks_share_a_store(tmp_path: Path) -> None:
    async def main() -> None:
        async with keyfold.open_async(rates, tmp_path / "many.db") as store:
            await store.run(RATE.put())

            async def count() -> None:
                found = await store.run(GET)
                assert found is not None

            await asyncio.gather(*(count() for _ in range(50)))

    asyncio.run(main())
