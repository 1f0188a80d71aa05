"""Times of join links: which spellings are read, and which patterns find them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from pydantic import ValidationError

from keyfold.designs import pantry
from keyfold.designs.pantry import JoinLink, User
from keyfold.designs.pantry._times import read_time, write_time
from keyfold.errors import TransactionFailed
from tests.unit.designs.stale_databases import LATE_EXPIRY, START, Database, database

HOME, ADA = UUID(int=0x40), UUID(int=0xADA)
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
HALF = timedelta(microseconds=500_000)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-31T12:00:00.000000Z", NOON),
        ("2026-01-31T12:00:00Z", NOON),
        ("2026-01-31T12:00Z", NOON),
        ("2026-01-31T12Z", NOON),
        ("2026-01-31T13:00:00+01:00", NOON),
        ("2026-01-31T13+01", NOON),
        ("2026-01-31T06:30-05:30", NOON),
        ("2026-01-31T12:00:00.5Z", NOON + HALF),
        ("2026-01-31T12:00:00,500Z", NOON + HALF),
        ("2026-01-31T12:00:00.500000999Z", NOON + HALF),
        ("2026-01-31T12:00.5Z", NOON + timedelta(seconds=30)),
        ("2026-01-31T11.5Z", NOON - timedelta(minutes=30)),
        ("2026-01-30T24:00Z", NOON - timedelta(hours=12)),
        ("2026-01-31T11:59:60Z", NOON),
        # Not the extended format.
        ("20260131T120000Z", NOON),
        ("20260131T1300+0100", NOON),
        ("2026-01-31 12:00:00z", NOON),
        (" 2026-01-31t12:00:00Z", NOON),
        ("2026-W05-6T12:00:00Z", NOON),
    ],
)
def test_a_time_is_read(text: str, moment: datetime) -> None:
    assert read_time(text) == moment
    assert read_time(write_time(moment)) == moment


@pytest.mark.parametrize(
    "text",
    [
        "tomorrow",
        "",
        "2026-01-31",
        "2026-01-31T12:00:00",
        "2026-02-30T12:00Z",
        "2026-01-31T24:01Z",
        "2026-01-31T12:60Z",
        "2026-01-31T12:00:61Z",
        "2026-01-31T12:00+01:60",
        "2026-01-31T12:00+24:00",
        "0001-01-01T00:00+01:00",
        "1769860800",
    ],
)
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time of ISO 8601 with an offset"):
        read_time(text)


# Links in a table.


@pytest.fixture
def home() -> Iterator[Database]:
    with database(pantry.table, LATE_EXPIRY) as home:
        home.run(pantry.create_user(User(user=ADA, name="Ada", email="ada@example.com")))
        home.run(pantry.create_group(HOME, "Home", ADA))
        yield home


def put_link(home: Database, in_key: str, in_attribute: str | None = None) -> None:
    item = {"PK": str(HOME), "SK": f"ShareLink#{in_key}", "GroupID": str(HOME)}
    item["LinkExpiredDatetime"] = in_attribute or in_key
    stored = {name: {"S": text} for name, text in item.items()}
    home.execute("PutItem", {"TableName": "Pantry", "Item": stored})


def spell(moment: datetime, hours: int, precision: str = "microseconds") -> str:
    """Return a time with an offset of some hours."""
    local = (moment + timedelta(hours=hours)).replace(tzinfo=None)
    return f"{local.isoformat(timespec=precision)}{hours:+03}:00"


@pytest.mark.indexes
@pytest.mark.parametrize("hours", [-23, -12, 0, 1, 14, 23])
@pytest.mark.parametrize("precision", ["hours", "minutes", "seconds", "microseconds"])
def test_expired_links_are_found_whatever_their_offset(
    home: Database, hours: int, precision: str
) -> None:
    past, future = START, START + timedelta(hours=1)
    for each in (past, future):
        put_link(home, spell(each, hours, precision), spell(each, -hours))
    for request in (
        pantry.list_of_expired_join_links(),
        pantry.list_of_expired_join_links_of_group(HOME),
    ):
        page = home.run_until(request, lambda links: [each.expires for each in links] == [past])
        assert page[0].time == spell(past, hours, precision)
        assert not page.invalid


@pytest.mark.indexes
def test_a_link_that_was_found_is_deleted_under_its_own_key(home: Database) -> None:
    put_link(home, "2099-12-31T23:00:00+14:00")
    (link,) = home.run_until(pantry.list_of_expired_join_links(), len)
    assert home.run(pantry.delete_join_link(link)) == link
    home.run_until(pantry.list_of_expired_join_links(), lambda links: len(links) == 0)
    assert home.run(pantry.delete_join_link(link)) is None, "an index may list it still"


@pytest.mark.parametrize("hours", [-14, 0, 14])
def test_a_link_admits_until_its_time_whatever_its_offset(home: Database, hours: int) -> None:
    bob = UUID(int=0xB0B)
    home.run(pantry.create_user(User(user=bob, name="Bob", email="bob@example.com")))
    text = spell(START + timedelta(hours=1), hours, "minutes")
    put_link(home, text)
    link = JoinLink(group=HOME, expires=read_time(text), time=text)
    home.run(pantry.join_by_link(link, bob))
    home.run(pantry.remove_member(HOME, bob))
    home.clock.advance(timedelta(hours=1))
    with pytest.raises(TransactionFailed):
        home.run(pantry.join_by_link(link, bob))


@pytest.mark.indexes
def test_links_that_cannot_be_read_are_reported(home: Database) -> None:
    put_link(home, "2026-01-31T12:00Z")
    put_link(home, "2026-01-31T12:00")
    put_link(home, "2026-01-31T14:00Z", "2026-01-31T15:00Z")
    put_link(home, "tomorrow")
    page = home.run_until(pantry.list_of_expired_join_links(), lambda page: len(page.invalid) == 3)
    assert [link.time for link in page] == ["2026-01-31T12:00Z"]
    assert sorted(each.key["SK"]["S"] for each in page.invalid) == [
        "ShareLink#2026-01-31T12:00",
        "ShareLink#2026-01-31T14:00Z",
        "ShareLink#tomorrow",
    ]
    assert any("the key says 2026-01-31T14:00Z" in each.reason for each in page.invalid)
    of_group = home.run(pantry.list_of_expired_join_links_of_group(HOME))
    assert len(of_group.invalid) == 2, "all that are in the range"


def test_a_link_agrees_with_its_key() -> None:
    assert JoinLink(group=HOME, expires=NOON).time == "2026-01-31T12:00:00.000000Z"
    assert JoinLink(group=HOME, expires=NOON, time="2026-01-31T12:00Z").expires == NOON
    with pytest.raises(ValidationError, match="the key says"):
        JoinLink(group=HOME, expires=NOON, time="2026-01-31T13:00Z")
