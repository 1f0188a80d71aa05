"""The pantry's items as other programs store them: every pattern works, and a backfill renews them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from keyfold.designs import pantry
from keyfold.designs.pantry import Container, Food, FoodChange, Group, JoinLink, Membership, User
from keyfold.errors import ConditionFailed
from keyfold.transfer import Options, TableLocation, backfill_table, load_table
from tests.unit.designs.stale_databases import LATE_EXPIRY, START, Database, database

ADA, BOB, EVE = (
    UUID("3f0e7c1a-5a55-4c0e-9f3a-1d2b6c7e8f90"),
    UUID("9d5b3f57-6c0f-4f0b-8a68-3c1f5e2d7a41"),
    UUID(int=0xE0E),
)
LARDER = UUID(int=0x1A)
RICE = Food(id=UUID(int=0x32), name="Rice", created=START)
SEEDS = Path(__file__).parents[2] / "seeds" / "pantry"
GROUPS: list[dict[str, Any]] = [
    json.loads(line)["Item"] for line in (SEEDS / "groups.jsonl").read_text().splitlines()
]
NAMES = [each["GroupName"]["S"] for each in GROUPS]


@pytest.fixture
def home() -> Iterator[Database]:
    with database(pantry.table, LATE_EXPIRY) as home:
        for user, name in ((ADA, "Ada"), (BOB, "Bob"), (EVE, "Eve")):
            home.run(pantry.create_user(User(user=user, name=name, email=f"{name}@example.com")))
        yield home


def put(home: Database, item: dict[str, Any]) -> None:
    home.execute("PutItem", {"TableName": "Pantry", "Item": item})


def put_group(home: Database, item: dict[str, Any]) -> UUID:
    """Store a group as it is, and the memberships of its users."""
    put(home, item)
    group = UUID(item["PK"]["S"])
    for user in (ADA, BOB):
        home.run(Membership(user=user, group=group).create())
    return group


def users_of(home: Database, group: UUID) -> set[UUID]:
    found = home.run(pantry.get_group(group))
    assert found is not None
    home.run_until(
        pantry.list_of_users(group),
        lambda listed: {user.user for user in listed if user is not None} == {*found.users},
    )
    return {*found.users}


def stored(home: Database, pk: UUID, sk: str) -> dict[str, Any]:
    items = home.stored(pantry.table)
    return next(each for each in items if (each["PK"]["S"], each["SK"]["S"]) == (str(pk), sk))


@pytest.mark.indexes
@pytest.mark.parametrize("item", GROUPS, ids=NAMES)
def test_members_come_and_go_whatever_is_stored(home: Database, item: dict[str, Any]) -> None:
    group = put_group(home, item)
    assert users_of(home, group) == {ADA, BOB}
    home.run(pantry.add_member(group, EVE))
    assert users_of(home, group) == {ADA, BOB, EVE}
    put(home, item)  # the other program again
    home.run(pantry.remove_member(group, ADA))
    found = home.run(pantry.get_group(group))
    assert found is not None
    assert found.users == {BOB}


@pytest.mark.indexes
@pytest.mark.parametrize("item", GROUPS, ids=NAMES)
def test_a_link_admits_whatever_is_stored(home: Database, item: dict[str, Any]) -> None:
    group = put_group(home, item)
    link = JoinLink(group=group, expires=START + timedelta(hours=1))
    home.run(pantry.create_join_link(link))
    home.run(pantry.join_by_link(link, EVE))
    assert users_of(home, group) == {ADA, BOB, EVE}


@pytest.mark.indexes
def test_nobody_is_lost_who_joins_a_list_at_the_same_time(home: Database) -> None:
    people = [User(user=UUID(int=n), name=f"{n}", email=f"{n}@example.com") for n in range(8)]
    for user in people:
        home.run(pantry.create_user(user))
    group = put_group(home, GROUPS[0])
    changes = [pantry.add_member(group, user.user) for user in people]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(home.run, changes))
    assert users_of(home, group) == {ADA, BOB, *(user.user for user in people)}


@pytest.mark.indexes
def test_ids_in_capitals_are_the_same_users(home: Database) -> None:
    item = GROUPS[3] | {"BelongingUsers": {"SS": [str(ADA).upper(), str(BOB)]}}
    group = put_group(home, item)
    home.run(pantry.add_member(group, EVE))
    assert users_of(home, group) == {ADA, BOB, EVE}


@pytest.mark.indexes
@pytest.mark.parametrize("form", [{}, {"Users": {"L": []}}, {"BelongingUsers": {"L": []}}])
def test_a_group_may_have_no_users(home: Database, form: dict[str, Any]) -> None:
    item = {name: GROUPS[0][name] for name in ("PK", "SK", "GroupName")} | form
    put(home, item)
    group = UUID(item["PK"]["S"])
    assert users_of(home, group) == set()
    home.run(pantry.add_member(group, EVE))
    assert users_of(home, group) == {EVE}


def test_users_that_are_no_ids_are_reported(home: Database) -> None:
    put(home, GROUPS[0] | {"Users": {"L": [{"S": "ada"}]}})
    page = home.run(Group.query(group=UUID(GROUPS[0]["PK"]["S"])))
    assert [each.entity for each in page.invalid] == ["Group"]


# Containers.


@pytest.fixture
def larder(home: Database) -> UUID:
    put(
        home,
        {
            "PK": {"S": str(LARDER)},
            "SK": {"S": "Container"},
            "ContainerName": {"S": "Larder"},
        },
    )
    return LARDER


def test_a_container_without_foods_is_empty(home: Database, larder: UUID) -> None:
    assert home.run(pantry.get_container(larder)) == Container(container=larder, name="Larder")


def test_the_first_food_of_a_container_without_foods(home: Database, larder: UUID) -> None:
    assert home.run(pantry.add_food(larder, RICE)).foods == {RICE.id: RICE}
    home.calls.clear()
    home.run(pantry.change_food(larder, RICE.id, FoodChange(unit="kg")))
    assert [operation for operation, _ in home.calls] == ["UpdateItem"]


def test_no_food_of_a_container_without_foods_is_changed(home: Database, larder: UUID) -> None:
    assert home.run(pantry.remove_food(larder, RICE.id)).foods == {}
    with pytest.raises(ConditionFailed):
        home.run(pantry.change_food(larder, RICE.id, FoodChange(unit="kg")))


# Backfills.


def backfill(home: Database, tmp_path: Path) -> dict[str, int]:
    location = TableLocation(home, "home", "Pantry")
    rejects = tmp_path / "rejected.jsonl"
    summary = backfill_table(location, pantry.table, Options(rejects=rejects))
    assert summary.is_good
    return summary.changed


def test_a_backfill_makes_sets_of_users(home: Database, tmp_path: Path) -> None:
    for item in GROUPS:
        put(home, item)
    assert backfill(home, tmp_path) == {"Group": 3}
    for item in GROUPS:
        found = stored(home, UUID(item["PK"]["S"]), "Group")
        assert set(found) == {"PK", "SK", "GroupName", "BelongingUsers"}
        assert {*found["BelongingUsers"]["SS"]} == {str(ADA), str(BOB)}
    assert backfill(home, tmp_path) == {}


@pytest.mark.indexes
def test_a_backfill_puts_memberships_into_the_index(home: Database, tmp_path: Path) -> None:
    group = UUID(int=7)
    key = {"PK": {"S": str(ADA)}, "SK": {"S": f"Group#{group}"}}
    put(home, key | {"GroupID": {"S": str(group)}})
    joined = Membership(user=ADA, group=group)
    assert home.run(pantry.list_of_users_group(ADA)) == [joined]
    assert home.run(pantry.list_of_users(group)) == [], "it is not in the index yet"
    assert backfill(home, tmp_path) == {"Membership": 1}
    [user] = home.run_until(pantry.list_of_users(group), len)
    assert user is not None
    assert user.user == ADA


def test_a_backfill_gives_containers_their_foods(
    home: Database, larder: UUID, tmp_path: Path
) -> None:
    assert backfill(home, tmp_path) == {"Container": 1}
    assert stored(home, larder, "Container")["Foods"] == {"M": {}}


# Times of links that are not in the extended format, or not as links are written.

OTHER_TIMES = ["20240101T000000Z", "2024-01-01 00:00:00z", "2024-W01-1T00:00:00Z"]
CANONICAL = "2024-01-01T00:00:00.000000Z"


def link_item(text: str, group: UUID = ADA) -> dict[str, Any]:
    item = {"PK": str(group), "SK": f"ShareLink#{text}", "GroupID": str(group)}
    item |= {"LinkExpiredDatetime": text, "Note": "kept"}
    return {name: {"S": text} for name, text in item.items()}


@pytest.mark.indexes
@pytest.mark.parametrize("text", [*OTHER_TIMES, "2024-01-01T01:00+01:00"])
def test_a_backfill_moves_a_link_to_the_key_it_is_written_with(
    home: Database, tmp_path: Path, text: str
) -> None:
    put(home, link_item(text))
    assert backfill(home, tmp_path) == {"JoinLink": 1}
    assert backfill(home, tmp_path) == {}
    links = [each for each in home.stored(pantry.table) if "LinkExpiredDatetime" in each]
    assert links == [link_item(CANONICAL)]
    canonical = JoinLink(group=ADA, expires=datetime(2024, 1, 1, tzinfo=UTC))
    expired = pantry.list_of_expired_join_links_of_group(ADA)
    (found,) = home.run_until(expired, lambda links: [each.time for each in links] == [CANONICAL])
    assert found == canonical


def test_a_link_stays_if_another_has_its_key(home: Database, tmp_path: Path) -> None:
    for text in (OTHER_TIMES[0], CANONICAL):
        put(home, link_item(text))
    rejects = tmp_path / "rejected.jsonl"
    location = TableLocation(home, "home", "Pantry")
    summary = backfill_table(location, pantry.table, Options(rejects=rejects))
    assert (summary.changed, summary.rejects) == ({}, 1)
    assert (
        f"its key should be PK='{ADA}' SK='ShareLink#{CANONICAL}', which another item has"
        in (json.loads(rejects.read_text())["reason"])
    )
    assert stored(home, ADA, f"ShareLink#{OTHER_TIMES[0]}")


def test_a_dry_backfill_shows_where_a_link_would_go(home: Database, tmp_path: Path) -> None:
    put(home, link_item(OTHER_TIMES[0]))
    options = Options(rejects=tmp_path / "rejected.jsonl")
    location = TableLocation(home, "home", "Pantry")
    summary = backfill_table(location, pantry.table, options, is_dry=True)
    (example,) = summary.to_json()["examples"]
    assert example["new_key"] == {"PK": {"S": str(ADA)}, "SK": {"S": f"ShareLink#{CANONICAL}"}}
    assert example["sets"] == {"LinkExpiredDatetime": {"S": CANONICAL}}
    assert example["removes"] == []
    assert stored(home, ADA, f"ShareLink#{OTHER_TIMES[0]}")


def test_a_load_writes_links_under_the_key_they_are_written_with(
    home: Database, tmp_path: Path
) -> None:
    file, rejects = tmp_path / "links.jsonl", tmp_path / "rejected.jsonl"
    items = [link_item(text, UUID(int=place)) for place, text in enumerate(OTHER_TIMES)]
    odd = link_item("2024-01-01T00:00", EVE)
    half = link_item(CANONICAL, BOB) | {"LinkExpiredDatetime": {"S": OTHER_TIMES[0]}}
    file.write_text("\n".join(json.dumps({"Item": each}) for each in (*items, odd, half)))
    location = TableLocation(home, "home", "Pantry")
    options = Options(rejects=rejects, merges=True)
    summary = load_table(file, location, options, declared=pantry.table)
    assert (summary.items, summary.rejects) == (4, 1)
    assert "is not a time of ISO 8601" in json.loads(rejects.read_text())["reason"]
    links = [each for each in home.stored(pantry.table) if "LinkExpiredDatetime" in each]
    assert sorted(links, key=str) == sorted(
        (link_item(CANONICAL, group) for group in (UUID(int=0), UUID(int=1), UUID(int=2), BOB)),
        key=str,
    )
