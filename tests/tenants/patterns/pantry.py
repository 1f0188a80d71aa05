"""Who may run the patterns of the pantry: ada's roles, on her own and on bob's."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

from keyfold import Request
from keyfold.designs import pantry
from keyfold.designs.pantry import Food, FoodChange, JoinLink, User
from tests.tenants.patterns.rows import Column, PatternTable, Row
from tests.transports import START

ADA, BOB, EVE = UUID(int=0xADA), UUID(int=0xB0B), UUID(int=0xE4E)
HOME, CLUB = UUID(int=0x40), UUID(int=0xC0)
FRIDGE, SHELF = UUID(int=0xF0), UUID(int=0x50)
NEW = UUID(int=0x4E)
RICE, SALT = (
    Food(id=UUID(int=number), name=name, created=START)
    for number, name in ((0x32, "Rice"), (0x54, "Salt"))
)
LINK = JoinLink(group=HOME, expires=START + timedelta(hours=1))
LATER = JoinLink(group=HOME, expires=START + timedelta(hours=2))

IDS = {"user": str(ADA), "group": str(HOME), "container": str(FRIDGE)}
COLUMNS = {
    "user": Column(("user",), {"user": str(ADA)}),
    "member": Column(("member",), {"group": str(HOME)}),
    "keeper": Column(("keeper",), {"container": str(FRIDGE)}),
    "service": Column(("service",)),
    "ada": Column(("user", "member", "keeper"), IDS),
}


def stored() -> Iterator[Request[Any]]:
    for user, name in ((ADA, "Ada"), (BOB, "Bob"), (EVE, "Eve")):
        yield pantry.create_user(User(user=user, name=name, email=f"{name}@example.com"))
    for group, user, container in ((HOME, ADA, FRIDGE), (CLUB, BOB, SHELF)):
        yield pantry.create_group(group, "Group", user)
        yield pantry.add_container(group, container, "Container")
        yield pantry.add_food(container, RICE)
    yield pantry.create_join_link(LINK)
    yield pantry.set_categories(["Grain"])


ROWS = [
    Row("GetUser", "oneself", lambda: pantry.get_user(ADA), may="user service"),
    Row("GetUser", "another", lambda: pantry.get_user(BOB), may="service"),
    Row("ListOfUsersGroup", "own", lambda: pantry.list_of_users_group(ADA), may="user service"),
    Row("ListOfUsersGroup", "another's", lambda: pantry.list_of_users_group(BOB), may="service"),
    Row("GetGroup", "own", lambda: pantry.get_group(HOME), may="member service"),
    Row("GetGroup", "another", lambda: pantry.get_group(CLUB), may="service"),
    Row("ListOfContainers", "own", lambda: pantry.list_of_containers(HOME), may="member service"),
    Row("ListOfContainers", "another's", lambda: pantry.list_of_containers(CLUB), may="service"),
    Row("ListOfUsres", "of one's group", lambda: pantry.list_of_users(HOME), may="service"),
    Row("ListOfUsres", "of another group", lambda: pantry.list_of_users(CLUB), may="service"),
    Row("GetContainer", "own", lambda: pantry.get_container(FRIDGE), may="keeper service"),
    Row("GetContainer", "another's", lambda: pantry.get_container(SHELF), may="service"),
    Row("ListOfExpiredJoinLinks", "of all", pantry.list_of_expired_join_links, may="service"),
    Row(
        "ListOfExpiredJoinLinksOfGroup",
        "own",
        lambda: pantry.list_of_expired_join_links_of_group(HOME),
        may="member service",
    ),
    Row(
        "ListOfExpiredJoinLinksOfGroup",
        "another's",
        lambda: pantry.list_of_expired_join_links_of_group(CLUB),
        may="service",
    ),
    Row("GetCategories", "all", pantry.get_categories, may="user member keeper service"),
    Row(
        "CreateUser",
        "somebody",
        lambda: pantry.create_user(User(user=NEW, name="New", email="new@example.com")),
        may="service",
    ),
    Row("CreateGroup", "new", lambda: pantry.create_group(NEW, "New", ADA), may="service"),
    Row("AddMember", "to one's group", lambda: pantry.add_member(HOME, EVE), may="service"),
    Row("AddMember", "oneself elsewhere", lambda: pantry.add_member(CLUB, ADA), may="service"),
    Row("RemoveMember", "oneself", lambda: pantry.remove_member(HOME, ADA), may="service"),
    Row("CreateJoinLink", "to one's group", lambda: pantry.create_join_link(LATER), may="service"),
    Row("JoinByLink", "somebody", lambda: pantry.join_by_link(LINK, EVE), may="service"),
    Row("DeleteJoinLink", "own", lambda: pantry.delete_join_link(LINK), may="service"),
    Row("AddContainer", "own", lambda: pantry.add_container(HOME, NEW, "Box"), may="service"),
    Row("AddFood", "own", lambda: pantry.add_food(FRIDGE, SALT), may="keeper service"),
    Row("AddFood", "another's", lambda: pantry.add_food(SHELF, SALT), may="service"),
    Row(
        "ChangeFood",
        "own",
        lambda: pantry.change_food(FRIDGE, RICE.id, FoodChange(unit="kg")),
        may="keeper service",
    ),
    Row(
        "ChangeFood",
        "another's",
        lambda: pantry.change_food(SHELF, RICE.id, FoodChange(unit="kg")),
        may="service",
    ),
    Row("RemoveFood", "own", lambda: pantry.remove_food(FRIDGE, RICE.id), may="keeper service"),
    Row("RemoveFood", "another's", lambda: pantry.remove_food(SHELF, RICE.id), may="service"),
    Row("SetCategories", "all", lambda: pantry.set_categories(["Salt"]), may="service"),
]

FOREIGN = {str(ADA): str(BOB), str(HOME): str(CLUB), str(FRIDGE): str(SHELF)}

PATTERNS = PatternTable(pantry.table, COLUMNS, stored, ROWS, foreign=FOREIGN)
