"""Roles of the pantry: each has its own partitions, and what it may do there."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from keyfold import Request, Store
from keyfold.designs import pantry
from keyfold.designs.pantry import Food, FoodChange, JoinLink, Membership, User
from keyfold.errors import AccessDenied, PrincipalInvalid
from tests.unit.designs.stale_databases import LATE_EXPIRY, START, Database, database

ADA, BOB = UUID(int=0xADA), UUID(int=0xB0B)
HOME, CLUB = UUID(int=0x40), UUID(int=0xC0)
FRIDGE, SHELF = UUID(int=0xF0), UUID(int=0x50)
RICE = Food(id=UUID(int=0x32), name="Rice", created=START)
LINK = JoinLink(group=HOME, expires=START + timedelta(hours=1))


@pytest.fixture
def home() -> Iterator[Database]:
    with database(pantry.table, LATE_EXPIRY) as home:
        for user, name in ((ADA, "Ada"), (BOB, "Bob")):
            home.run(pantry.create_user(User(user=user, name=name, email=f"{name}@example.com")))
        for group, user, container in ((HOME, ADA, FRIDGE), (CLUB, BOB, SHELF)):
            home.run(pantry.create_group(group, "Group", user))
            home.run(pantry.add_container(group, container, "Container"))
        home.run(pantry.create_join_link(LINK))
        home.run(pantry.set_categories(["Grain"]))
        yield home


def ada_of(home: Database) -> Store:
    ids = {"user": str(ADA), "group": str(HOME), "container": str(FRIDGE)}
    return home.store.as_principal("user", "member", "keeper", **ids)


@pytest.mark.parametrize(
    "request_",
    [
        pantry.get_user(ADA),
        pantry.list_of_users_group(ADA),
        pantry.get_group(HOME),
        pantry.list_of_containers(HOME),
        pantry.list_of_expired_join_links_of_group(HOME),
        pantry.get_container(FRIDGE),
        pantry.get_categories(),
    ],
    ids=repr,
)
def test_a_member_reads_what_is_their_own(home: Database, request_: Request[Any]) -> None:
    assert ada_of(home).run(request_) == home.run(request_)


def test_a_member_changes_the_food_of_a_container(home: Database) -> None:
    ada = ada_of(home)
    ada.run(pantry.add_food(FRIDGE, RICE))
    ada.run(pantry.change_food(FRIDGE, RICE.id, FoodChange(unit="kg")))
    ada.run(pantry.remove_food(FRIDGE, RICE.id))


@pytest.mark.parametrize(
    "request_",
    [
        pantry.get_user(BOB),
        pantry.list_of_users_group(BOB),
        pantry.get_group(CLUB),
        pantry.list_of_containers(CLUB),
        pantry.list_of_expired_join_links_of_group(CLUB),
        pantry.list_of_expired_join_links(),
        pantry.list_of_users(CLUB),
        pantry.get_container(SHELF),
        pantry.add_food(SHELF, RICE),
        # Their own ids in another place.
        pantry.create_group(UUID(int=1), "New", ADA),
        pantry.add_member(CLUB, ADA),
        pantry.add_member(HOME, BOB),
        pantry.remove_member(HOME, ADA),
        pantry.create_join_link(LINK),
        pantry.delete_join_link(LINK),
        pantry.join_by_link(LINK, ADA),
        pantry.add_container(HOME, SHELF, "Mine"),
        pantry.set_categories(["Mine"]),
        pantry.create_user(User(user=ADA, name="Ada", email="ada@example.com")),
        # Their container, as a member of a group.
        Membership(user=FRIDGE, group=CLUB).put(),
        Membership.delete(user=FRIDGE, group=CLUB),
        JoinLink(group=FRIDGE, expires=START).put(),
    ],
    ids=repr,
)
def test_what_is_not_their_own_is_denied(home: Database, request_: Request[Any]) -> None:
    before = len(home.calls)
    with pytest.raises(AccessDenied):
        ada_of(home).run(request_)
    assert len(home.calls) == before, "nothing was sent"


def test_the_users_of_a_group_are_shown_by_the_service(home: Database) -> None:
    with pytest.raises(AccessDenied):
        ada_of(home).run(pantry.list_of_users(HOME))
    users = home.store.as_principal("service").run(pantry.list_of_users(HOME))
    assert [user and user.user for user in users] == [ADA]


def test_an_id_is_a_uuid(home: Database) -> None:
    with pytest.raises(PrincipalInvalid):
        home.store.as_principal("member", group="home")
