"""The log: calls at DEBUG, retries at INFO, failures of handlers with tracebacks; no values."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any, cast

import pytest

import keyfold
from keyfold import READ, Change, Entity, Key, Role, Table
from keyfold.errors import AlreadyExists, OptionInvalid, Unavailable
from keyfold.store import CallRecord
from keyfold.testing import FaultProfile, dynamodb

SECRET = "a secret that no log may show"


table = Table("Secrets", key=Key("pk"))


class Secret(Entity, table=table, key="SECRET#{id}"):
    id: str
    text: str = SECRET


table.add_role(Role("clerk", can={Secret: READ}))


def lines(caplog: pytest.LogCaptureFixture, level: int) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == level]


def test_calls_are_logged_at_debug(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "keyfold")
    with keyfold.open(table, ":memory:") as store:
        caplog.clear()
        store.run(Secret(id=SECRET).create())
        with pytest.raises(AlreadyExists):
            store.run(Secret(id=SECRET).create())
        store.run(keyfold.batch([Secret(id="1").put(), Secret(id="2").put()]))
    shown = lines(caplog, logging.DEBUG)
    assert [line.partition(": ")[0] for line in shown] == [
        "PutItem on Secrets",
        "PutItem on Secrets",
        "BatchWriteItem on Secrets",
    ]
    assert "ms" in shown[0]
    assert shown[1].endswith("failed with ConditionalCheckFailedException")
    assert SECRET not in caplog.text


def test_calls_are_logged_by_async_stores_and_with_hooks(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "keyfold")
    records: list[CallRecord] = []

    async def use() -> None:
        async with keyfold.open_async(table, ":memory:", on_call=records.append) as store:
            caplog.clear()
            records.clear()
            await store.run(Secret(id="1").put())

    asyncio.run(use())
    (line,) = lines(caplog, logging.DEBUG)
    (record,) = records
    assert line.startswith("PutItem on Secrets: ")
    # Hooks ask for the capacity, so it is known.
    assert f"{record.consumed:g} capacity units" in line


def test_nothing_is_logged_by_default(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "keyfold")
    with keyfold.open(table, ":memory:") as store:
        store.run(Secret(id="1").put())
    assert caplog.records == []


@pytest.mark.parametrize("url", ["", "dynamodb://eu-west-1"])
def test_retries_are_logged_at_info(url: str, caplog: pytest.LogCaptureFixture) -> None:
    with dynamodb() as service:
        store = service.open(table)
        used = keyfold.open(table, url) if url else store
        caplog.set_level(logging.INFO, "keyfold")
        with service.under(FaultProfile(throttling=1.0)), pytest.raises(Unavailable):
            used.run(Secret(id=SECRET).put())
        used.close()
    shown = lines(caplog, logging.INFO)
    subject = "PutItem to https://dynamodb.eu-west-1.amazonaws.com" if url else "PutItem on Secrets"
    assert len(shown) == 7
    for number, line in enumerate(shown, start=1):
        assert line.startswith(
            f"{subject}: attempt {number} failed (ProvisionedThroughputExceededException); "
        )
    assert SECRET not in caplog.text


def test_retries_of_unprocessed_members_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "keyfold")
    with dynamodb(faults=FaultProfile(unprocessed=0.5, seed=1)) as service:
        service.open(table).run(keyfold.batch([Secret(id="1").put(), Secret(id="2").put()]))
    assert any("1 of its members are unprocessed" in line for line in lines(caplog, logging.INFO))


def test_failures_of_handlers_are_logged_with_tracebacks(
    caplog: pytest.LogCaptureFixture,
) -> None:

    notes = Table("Notes", key=Key("pk"), stream="new and old")

    class Note(Entity, table=notes, key="NOTE#{id}"):
        id: str
        length: int = 0

    @notes.on_change(Note)
    def burn(change: Change[Note]) -> None:
        raise RuntimeError("it does not burn")

    with dynamodb() as service:
        store = service.open(notes)
        store.run(Note(id=SECRET).put())
        store.follow(notes, start="oldest", attempts=2, until_caught_up=True)
    failures = [record for record in caplog.records if record.name == "keyfold.store"]
    assert [record.levelno for record in failures] == [logging.WARNING, logging.ERROR]
    assert failures[0].getMessage() == (
        "follower 'default' of Notes: handler burn failed on attempt 1 of 2; retrying"
    )
    assert failures[1].getMessage().endswith("on attempt 2 of 2; the change becomes a dead letter")
    for record in failures:
        assert record.exc_info is not None
        assert record.exc_info[1] is not None
    assert 'raise RuntimeError("it does not burn")' in caplog.text
    assert SECRET not in caplog.text
    caplog.clear()
    with dynamodb() as service:
        store = service.open(notes)
        item = {"pk": {"S": "NOTE#1"}, "id": {"S": "1"}, "length": {"S": "long"}}
        store.execute("PutItem", {"TableName": "Notes", "Item": item})
        store.follow(notes, start="oldest", attempts=2, until_caught_up=True)
    assert caplog.records[-1].getMessage() == (
        "follower 'default' of Notes: handler burn was not called; the change becomes a dead letter"
    )


def test_a_hook_may_be_given_alone() -> None:
    records: list[CallRecord] = []
    with keyfold.open(table, ":memory:", on_call=records.append) as store:
        store.run(Secret(id="1").put())
    assert records[-1].operation == "PutItem"
    assert records[-1].tables == ("Secrets",)
    for given in (5, ["hook"]):
        with pytest.raises(OptionInvalid, match="takes a CallRecord"):
            keyfold.open(table, ":memory:", on_call=cast(Any, given))


def test_stores_say_what_they_are_for(tmp_path: Path) -> None:
    other = Table("Others", key=Key("pk"))

    class Other(Entity, table=other, key="{id}"):  # pyright: ignore[reportUnusedClass] - declaring it is the point
        id: str

    with keyfold.open([table, other], tmp_path / "secrets.db") as store:
        assert repr(store) == f"<Store Secrets, Others on <Engine {tmp_path}/secrets.db>>"
        clerk = store.as_principal("clerk")
        assert repr(clerk) == f"<Store Secrets, Others as clerk on <Engine {tmp_path}/secrets.db>>"
    with keyfold.open(table, "dynamodb://eu-west-1") as store:
        assert repr(store) == "<Store Secrets on <Client dynamodb://eu-west-1>>"
    store = keyfold.open_async(table, ":memory:")
    assert repr(store) == "<AsyncStore Secrets on <Engine :memory:>>"
    store = keyfold.open_async(table, "http://localhost:8000")
    assert repr(store) == "<AsyncStore Secrets on <AsyncClient http://localhost:8000>>"
    with dynamodb() as service:
        assert repr(service.open(table)) == "<Store Secrets on <Service>>"
