"""Each access pattern of the pantry, with consistent and with stale reads."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from keyfold import Request
from keyfold.designs import pantry
from keyfold.designs.pantry import (
    Categories,
    Category,
    Container,
    Food,
    FoodChange,
    Group,
    GroupContainer,
    JoinLink,
    Membership,
    User,
)
from keyfold.designs.pantry._reading import _read_users
from keyfold.errors import AlreadyExists, ConditionFailed, NotFound, TransactionFailed
from tests.unit.designs.stale_databases import LATE_EXPIRY, STALE_READS, START, Database, database

HOUR = timedelta(hours=1)

ADA = User(user=UUID(int=0xADA), name="Ada", email="ada@example.com")
BOB = User(user=UUID(int=0xB0B), name="Bob", email="bob@example.com")
EVE = User(user=UUID(int=0xE0E), name="Eve", email="eve@example.com")
HOME, CLUB = UUID(int=0x40), UUID(int=0xC0)
FRIDGE, SHELF = UUID(int=0xF0), UUID(int=0x50)
MILK = Food(
    id=UUID(int=0x31),
    name="Milk",
    unit="l",
    quantity=Decimal(2),
    category="Dairy",
    expiry=START + 48 * HOUR,
    created=START,
)
RICE = Food(id=UUID(int=0x32), name="Rice", created=START)


@pytest.fixture(params=[LATE_EXPIRY, STALE_READS], ids=["consistent", "stale"])
def home(request: pytest.FixtureRequest) -> Iterator[Database]:
    """A group of two with a fridge, beside a group of one."""
    with database(pantry.table, request.param) as home:
        for user in (ADA, BOB, EVE):
            home.run(pantry.create_user(user))
        home.run(pantry.create_group(HOME, "Home", ADA.user))
        home.run(pantry.add_member(HOME, BOB.user))
        home.run(pantry.create_group(CLUB, "Club", ADA.user))
        home.run(pantry.add_container(HOME, FRIDGE, "Fridge"))
        yield home


def check(home: Database, request: Request[Any], expected: object) -> None:
    """Check that a request eventually returns what is expected."""
    assert home.run_until(request, lambda answer: answer == expected) == expected


def stored_under(home: Database, pk: UUID | str, sk: str) -> dict[str, Any] | None:
    key = {"PK": {"S": str(pk)}, "SK": {"S": sk}}
    items = home.stored(pantry.table)
    return next((item for item in items if item.items() >= key.items()), None)


def reasons_of(failure: pytest.ExceptionInfo[TransactionFailed]) -> list[type | None]:
    return [reason and type(reason) for reason in failure.value.reasons]


# The document's access patterns.


def test_get_user(home: Database) -> None:
    check(home, pantry.get_user(ADA.user), ADA)
    check(home, pantry.get_user(HOME), None)


def test_list_of_users_group(home: Database) -> None:
    groups = [Membership(user=ADA.user, group=group) for group in (HOME, CLUB)]
    check(home, pantry.list_of_users_group(ADA.user), groups)
    check(home, pantry.list_of_users_group(EVE.user), [])


def test_get_group(home: Database) -> None:
    users = frozenset({ADA.user, BOB.user})
    check(home, pantry.get_group(HOME), Group(group=HOME, name="Home", users=users))


def test_get_group_reads_a_list_of_users_too(home: Database) -> None:
    users = {"L": [{"S": str(ADA.user)}]}
    item = {"PK": {"S": str(SHELF)}, "SK": {"S": "Group"}, "GroupName": {"S": "Old"}}
    home.execute("PutItem", {"TableName": "Pantry", "Item": item | {"BelongingUsers": users}})
    expected = Group(group=SHELF, name="Old", users=frozenset({ADA.user}))
    check(home, pantry.get_group(SHELF), expected)


def test_list_of_containers(home: Database) -> None:
    home.run(pantry.add_container(HOME, SHELF, "Shelf"))
    containers = [GroupContainer(group=HOME, container=each) for each in (SHELF, FRIDGE)]
    check(home, pantry.list_of_containers(HOME), containers)
    check(home, pantry.list_of_containers(CLUB), [])


def test_list_of_usres(home: Database) -> None:
    check(home, pantry.list_of_users(HOME), [ADA, BOB])
    check(home, pantry.list_of_users(CLUB), [ADA])
    check(home, pantry.list_of_users(FRIDGE), [])


def test_list_of_usres_goes_on_after_a_page(home: Database) -> None:
    members = Membership.query(pantry.by_group, group=HOME).limit(1)
    check(home, _read_users(members), [ADA, BOB])


def test_get_container(home: Database) -> None:
    home.run(pantry.add_food(FRIDGE, MILK))
    fridge = Container(container=FRIDGE, name="Fridge", foods={MILK.id: MILK})
    check(home, pantry.get_container(FRIDGE), fridge)


def test_list_of_expired_join_links(home: Database) -> None:
    links = [
        JoinLink(group=group, expires=START + hours * HOUR)
        for group, hours in ((HOME, 1), (HOME, 2), (CLUB, 1), (CLUB, 3))
    ]
    for link in links:
        home.run(pantry.create_join_link(link))
    request = pantry.list_of_expired_join_links()
    check(home, request, [])
    home.clock.advance(2 * HOUR)
    page = home.run(request)
    assert sorted(page, key=lambda link: (link.group, link.expires)) == links[:3]
    assert page.scanned == 4, "links alone are read, expired or not"


def test_list_of_expired_join_links_of_group(home: Database) -> None:
    links = [JoinLink(group=HOME, expires=START + hours * HOUR) for hours in (1, 2, 3, 72)]
    for link in (*links, JoinLink(group=CLUB, expires=START + HOUR)):
        home.run(pantry.create_join_link(link))
    request = pantry.list_of_expired_join_links_of_group(HOME)
    check(home, request, [])
    home.clock.advance(2 * HOUR)
    check(home, request, links[:2])
    assert home.run(request).scanned == 3, "it reads links that expire within two days, no others"


def test_the_index_may_be_behind_and_then_catches_up() -> None:
    with database(pantry.table, STALE_READS) as home:
        home.run(pantry.create_user(ADA))
        home.run(pantry.create_group(HOME, "Home", ADA.user))
        assert home.run(pantry.list_of_users(HOME)) == []
        check(home, pantry.list_of_users(HOME), [ADA])


# Users and groups.


def test_create_user(home: Database) -> None:
    with pytest.raises(AlreadyExists):
        home.run(pantry.create_user(ADA))
    assert stored_under(home, ADA.user, "USER") == {
        "PK": {"S": "00000000-0000-0000-0000-000000000ada"},
        "SK": {"S": "USER"},
        "UserName": {"S": "Ada"},
        "EMailAddress": {"S": "ada@example.com"},
    }


def test_create_group(home: Database) -> None:
    with pytest.raises(TransactionFailed) as failure:
        home.run(pantry.create_group(UUID(int=1), "Nobody's", FRIDGE))
    assert reasons_of(failure) == [None, None, ConditionFailed]
    assert stored_under(home, CLUB, "Group") == {
        "PK": {"S": str(CLUB)},
        "SK": {"S": "Group"},
        "GroupName": {"S": "Club"},
        "BelongingUsers": {"SS": [str(ADA.user)]},
    }
    assert stored_under(home, ADA.user, f"Group#{CLUB}") == {
        "PK": {"S": str(ADA.user)},
        "SK": {"S": f"Group#{CLUB}"},
        "UserID": {"S": str(ADA.user)},
        "GroupID": {"S": str(CLUB)},
    }


def test_add_member(home: Database) -> None:
    home.run(pantry.add_member(CLUB, EVE.user))
    check(home, pantry.list_of_users(CLUB), [ADA, EVE])
    for group, user, expected in (
        (CLUB, EVE.user, [AlreadyExists, None, None]),
        (FRIDGE, EVE.user, [None, NotFound, None]),
        (CLUB, FRIDGE, [None, None, ConditionFailed]),
    ):
        with pytest.raises(TransactionFailed) as failure:
            home.run(pantry.add_member(group, user))
        assert reasons_of(failure) == expected


def test_remove_member(home: Database) -> None:
    home.run(pantry.remove_member(HOME, ADA.user))
    check(home, pantry.list_of_users(HOME), [BOB])
    with pytest.raises(TransactionFailed) as failure:
        home.run(pantry.remove_member(HOME, EVE.user))
    assert reasons_of(failure) == [ConditionFailed, None]
    home.run(pantry.remove_member(HOME, BOB.user))
    check(home, pantry.list_of_users(HOME), [])
    check(home, pantry.get_group(HOME), Group(group=HOME, name="Home"))


@pytest.mark.indexes
def test_members_stay_right_under_concurrent_changes() -> None:
    people = [User(user=UUID(int=n), name=f"{n}", email=f"{n}@example.com") for n in range(24)]
    gone, staying = people[:12], people[12:]
    with database(pantry.table, LATE_EXPIRY) as home:
        for user in (ADA, *people):
            home.run(pantry.create_user(user))
        home.run(pantry.create_group(HOME, "Home", ADA.user))
        for user in gone:
            home.run(pantry.add_member(HOME, user.user))
        changes = [
            change
            for one, other in zip(gone, staying, strict=True)
            for change in (
                pantry.remove_member(HOME, one.user),
                pantry.add_member(HOME, other.user),
            )
        ]
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(home.run, changes))
        check(home, pantry.list_of_users(HOME), [*staying, ADA])
        group = home.run(pantry.get_group(HOME))
        assert group is not None
        assert group.users == {user.user for user in (*staying, ADA)}


# Join links.


def test_create_join_link(home: Database) -> None:
    link = JoinLink(group=HOME, expires=START + HOUR)
    home.run(pantry.create_join_link(link))
    assert stored_under(home, HOME, "ShareLink#2100-01-01T01:00:00.000000Z") == {
        "PK": {"S": str(HOME)},
        "SK": {"S": "ShareLink#2100-01-01T01:00:00.000000Z"},
        "GroupID": {"S": str(HOME)},
        "LinkExpiredDatetime": {"S": "2100-01-01T01:00:00.000000Z"},
    }
    with pytest.raises(TransactionFailed) as failure:
        home.run(pantry.create_join_link(JoinLink(group=FRIDGE, expires=START + HOUR)))
    assert reasons_of(failure) == [None, ConditionFailed]


def test_join_by_link(home: Database) -> None:
    link = JoinLink(group=HOME, expires=START + HOUR)
    home.run(pantry.create_join_link(link))
    home.run(pantry.join_by_link(link, EVE.user))
    check(home, pantry.list_of_users(HOME), [ADA, BOB, EVE])
    home.run(pantry.remove_member(HOME, EVE.user))
    home.clock.advance(HOUR)
    with pytest.raises(TransactionFailed) as failure:
        home.run(pantry.join_by_link(link, EVE.user))
    assert reasons_of(failure) == [ConditionFailed, None, None, None], "it has expired"
    check(home, pantry.list_of_users(HOME), [ADA, BOB])


def test_delete_join_link(home: Database) -> None:
    link = JoinLink(group=HOME, expires=START + HOUR)
    home.run(pantry.create_join_link(link))
    assert home.run(pantry.delete_join_link(link)) == link
    assert home.run(pantry.delete_join_link(link)) is None
    with pytest.raises(TransactionFailed):
        home.run(pantry.join_by_link(link, EVE.user))


# Containers.


def test_add_container(home: Database) -> None:
    assert stored_under(home, FRIDGE, "Container") == {
        "PK": {"S": str(FRIDGE)},
        "SK": {"S": "Container"},
        "ContainerName": {"S": "Fridge"},
        "Foods": {"M": {}},
    }
    assert stored_under(home, HOME, f"Container#{FRIDGE}") == {
        "PK": {"S": str(HOME)},
        "SK": {"S": f"Container#{FRIDGE}"},
        "ContainerID": {"S": str(FRIDGE)},
    }
    with pytest.raises(TransactionFailed) as failure:
        home.run(pantry.add_container(SHELF, SHELF, "Shelf"))
    assert reasons_of(failure) == [None, None, ConditionFailed]


def test_add_food(home: Database) -> None:
    home.run(pantry.add_food(FRIDGE, MILK))
    item = stored_under(home, FRIDGE, "Container")
    assert item is not None
    assert item["Foods"]["M"] == {
        str(MILK.id): {
            "M": {
                "FoodId": {"S": str(MILK.id)},
                "Name": {"S": "Milk"},
                "Unit": {"S": "l"},
                "Quantity": {"N": "2"},
                "Category": {"S": "Dairy"},
                "Expiry": {"S": "2100-01-03T00:00:00.000000Z"},
                "CreatedDatetime": {"S": "2100-01-01T00:00:00.000000Z"},
            }
        }
    }
    with pytest.raises(ConditionFailed):
        home.run(pantry.add_food(FRIDGE, MILK))
    with pytest.raises(NotFound):
        home.run(pantry.add_food(SHELF, MILK))


def test_change_food(home: Database) -> None:
    home.run(pantry.add_food(FRIDGE, MILK))
    change = FoodChange(quantity=Decimal("0.5"), unit=None)
    fridge = home.run(pantry.change_food(FRIDGE, MILK.id, change))
    assert fridge.foods == {
        MILK.id: MILK.model_copy(update={"quantity": Decimal("0.5"), "unit": None})
    }
    with pytest.raises(ConditionFailed):
        home.run(pantry.change_food(FRIDGE, RICE.id, change))


def test_remove_food(home: Database) -> None:
    for food in (MILK, RICE):
        home.run(pantry.add_food(FRIDGE, food))
    assert home.run(pantry.remove_food(FRIDGE, MILK.id)).foods == {RICE.id: RICE}
    assert home.run(pantry.remove_food(FRIDGE, MILK.id)).foods == {RICE.id: RICE}


def test_a_change_of_food_is_one_write_and_no_read(home: Database) -> None:
    before = len(home.calls)
    home.run(pantry.add_food(FRIDGE, RICE))
    home.run(pantry.change_food(FRIDGE, RICE.id, FoodChange(name="Basmati")))
    home.run(pantry.remove_food(FRIDGE, RICE.id))
    changes = home.calls[before:]
    assert [operation for operation, _ in changes] == ["UpdateItem"] * 3
    # The food was removed, so it can be added again.
    operation, request = changes[0]
    answer = home.execute(operation, request | {"ReturnConsumedCapacity": "INDEXES"})
    assert answer["ConsumedCapacity"] == {
        "TableName": "Pantry",
        "CapacityUnits": 1.0,
        "Table": {"CapacityUnits": 1.0},
    }, "no index is written to"


# Categories.


def test_get_categories(home: Database) -> None:
    check(home, pantry.get_categories(), None)
    home.run(pantry.set_categories(["Dairy", "Fruit"]))
    kinds = [Category(name="Dairy"), Category(name="Fruit")]
    check(home, pantry.get_categories(), Categories(categories=kinds))


def test_set_categories(home: Database) -> None:
    home.run(pantry.set_categories(["Dairy"]))
    assert stored_under(home, "Category", "Category") == {
        "PK": {"S": "Category"},
        "SK": {"S": "Category"},
        "Category": {"L": [{"M": {"name": {"S": "Dairy"}}}]},
    }


# The table.


def test_the_indexes_are_sparse(home: Database) -> None:
    home.run(pantry.create_join_link(JoinLink(group=HOME, expires=START)))
    home.clock.advance(0)
    found = {
        index.name: {type(each).__name__ for each in home.run(pantry.table.scan(index))}
        for index in pantry.table.indexes
    }
    assert found == {"UserGroupIndex": {"Membership"}, "JoinLinkIndex": {"JoinLink"}}


def test_the_document_s_patterns_have_its_names() -> None:
    assert list(pantry.table.patterns)[:7] == [
        "GetUser",
        "ListOfUsersGroup",
        "GetGroup",
        "ListOfContainers",
        "ListOfUsres",
        "GetContainer",
        "ListOfExpiredJoinLinks",
    ]


@pytest.mark.parametrize("name", pantry.table.patterns)
def test_a_pattern_explains_itself(name: str) -> None:
    pattern = pantry.table.patterns[name]
    assert pattern.description
    explained = pattern.explain()
    assert explained.scans is (name == "ListOfExpiredJoinLinks")
    assert explained.round_trips == (2 if name == "ListOfUsres" else 1)
