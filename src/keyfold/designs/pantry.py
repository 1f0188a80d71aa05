"""Pantry: users in groups, the food containers that groups share, and links to join a group.

>>> import keyfold
>>> from datetime import UTC, datetime
>>> from uuid import UUID
>>> ada, home, fridge, milk = (UUID(int=number) for number in range(4))
>>> with keyfold.open(table, ":memory:") as store:
...     _ = store.run(create_user(User(user=ada, name="Ada", email="ada@example.com")))
...     _ = store.run(create_group(home, "Home", ada))
...     _ = store.run(add_container(home, fridge, "Fridge"))
...     bought = datetime(2026, 1, 1, tzinfo=UTC)
...     _ = store.run(add_food(fridge, Food(id=milk, name="Milk", created=bought)))
...     [user.name for user in store.run(list_of_users(home)) if user is not None]
['Ada']
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from keyfold import (
    Delete,
    Entity,
    Get,
    Index,
    Key,
    Page,
    Put,
    Query,
    Request,
    Scan,
    Table,
    Transaction,
    Update,
    attr,
    batch,
    now,
    part,
    transaction,
)
from keyfold.requests import Chain

__all__ = [
    "Categories",
    "Category",
    "Container",
    "Food",
    "FoodChange",
    "Group",
    "GroupContainer",
    "JoinLink",
    "Membership",
    "User",
    "add_container",
    "add_food",
    "add_member",
    "by_group",
    "by_link_expiry",
    "change_food",
    "create_group",
    "create_join_link",
    "create_user",
    "delete_join_link",
    "get_categories",
    "get_container",
    "get_group",
    "get_user",
    "join_by_link",
    "list_of_containers",
    "list_of_expired_join_links",
    "list_of_expired_join_links_of_group",
    "list_of_users",
    "list_of_users_group",
    "remove_food",
    "remove_member",
    "set_categories",
    "table",
]

by_group = Index("UserGroupIndex", key=Key("GroupID", "UserID"))
by_link_expiry = Index("JoinLinkIndex", key=Key("GroupID", "LinkExpiredDatetime"))
table = Table("Pantry", key=Key("PK", "SK"), indexes=[by_group, by_link_expiry])

# Users.


class User(Entity, table=table, key=("{user}", "USER")):
    """A user of the pantry."""

    user: UUID = part()
    name: str = attr("UserName")
    email: str = attr("EMailAddress")


class Membership(Entity, table=table, key=("{user}", "Group#{group}")):
    """The membership of a user in a group; the only items in UserGroupIndex, a sparse index."""

    user: UUID = attr("UserID")
    group: UUID = attr("GroupID")


# Groups.


class Group(Entity, table=table, key=("{group}", "Group")):
    """People who share containers."""

    group: UUID = part()
    name: str = attr("GroupName")
    # A set, not a list: members are removed by value, so concurrent changes do not interfere.
    users: frozenset[UUID] = attr("BelongingUsers", default=frozenset())


class GroupContainer(Entity, table=table, key=("{group}", "Container#{container}")):
    """The fact that a container belongs to a group."""

    group: UUID = part()
    container: UUID = attr("ContainerID")


class JoinLink(Entity, table=table, key=("{group}", "ShareLink#{expires}")):
    """A link to join a group until it expires; the only items in JoinLinkIndex, a sparse index."""

    group: UUID = attr("GroupID")
    expires: datetime = attr("LinkExpiredDatetime")


# Containers.


class Food(BaseModel):
    """One food in a container."""

    model_config = ConfigDict(frozen=True)

    id: UUID = attr("FoodId")
    name: str | None = attr("Name", default=None)
    unit: str | None = attr("Unit", default=None)
    quantity: Decimal | None = attr("Quantity", default=None)
    category: str | None = attr("Category", default=None)
    expiry: datetime | None = attr("Expiry", default=None)
    created: datetime = attr("CreatedDatetime")


class FoodChange(BaseModel):
    """Changes of a food: the fields that are passed are set, or removed if they are None."""

    model_config = ConfigDict(frozen=True)

    name: str | None = None
    unit: str | None = None
    quantity: Decimal | None = None
    category: str | None = None
    expiry: datetime | None = None


class Container(Entity, table=table, key=("{container}", "Container")):
    """A food container, such as a fridge. It is in no index, so a change costs one write."""

    container: UUID = part()
    name: str = attr("ContainerName")
    foods: dict[UUID, Food] = attr("Foods", default_factory=dict[UUID, Food])


# Categories.


class Category(BaseModel):
    """A food category."""

    model_config = ConfigDict(frozen=True)

    name: str


class Categories(Entity, table=table, key=("Category", "Category")):
    """All food categories, in a single item."""

    categories: list[Category] = attr("Category")


# Access patterns of the design document: reads.


@table.pattern("GetUser")
def get_user(user: UUID) -> Get[User]:
    """Get one user."""
    return User.get(user=user)


@table.pattern("ListOfUsersGroup")
def list_of_users_group(user: UUID) -> Query[Membership]:
    """Query the groups that a user belongs to."""
    return Membership.query(user=user)


@table.pattern("GetGroup")
def get_group(group: UUID) -> Get[Group]:
    """Get one group, with the ids of its users."""
    return Group.get(group=group)


@table.pattern("ListOfContainers")
def list_of_containers(group: UUID) -> Query[GroupContainer]:
    """Query the containers that belong to a group."""
    return GroupContainer.query(group=group)


@table.pattern("ListOfUsres")
def list_of_users(group: UUID) -> Chain[list[User | None]]:
    """Get the users that belong to a group; None for each user that no longer exists.

    Their ids come from the index, which is eventually consistent. The users themselves are read
    consistently, so that every user in the index is found.
    """
    return _read_users(Membership.query(by_group, group=group))


def _read_users(members: Query[Membership], seen: tuple[UUID, ...] = ()) -> Chain[Any]:
    def continue_reading(page: Page[Membership]) -> Request[Any]:
        users = (*seen, *(member.user for member in page))
        if page.cursor is not None:
            return _read_users(members.after(page.cursor), users)
        return batch([User.get(user=user).consistent() for user in users])

    return members.then(continue_reading)


@table.pattern("GetContainer")
def get_container(container: UUID) -> Get[Container]:
    """Get one container, with its foods."""
    return Container.get(container=container)


@table.pattern("ListOfExpiredJoinLinks")
def list_of_expired_join_links() -> Scan[JoinLink]:
    """Scan for the expired links of all groups.

    This reads every link in JoinLinkIndex, expired or not, since there is no partition key to
    query by. The index is sparse and contains only links, so no other items are read.
    """
    return JoinLink.scan(by_link_expiry).where(JoinLink.f.expires <= now)


# The same for one group, which reads only what it returns.


@table.pattern("ListOfExpiredJoinLinksOfGroup")
def list_of_expired_join_links_of_group(group: UUID) -> Query[JoinLink]:
    """Query the expired links of one group, in the order of their expiry."""
    return JoinLink.query(by_link_expiry, group=group).until(now)


# Writes of users and groups.

_EXAMPLE_USER = UUID("3f0e7c1a-5a55-4c0e-9f3a-1d2b6c7e8f90")
_EXAMPLE_GROUP = UUID("7b1d2c3e-8f4a-4b6c-a5d7-0e9f8a7b6c5d")
_EXAMPLE_CONTAINER = UUID("c4a8f1e2-6d3b-4e5f-8a9c-2b1d0e3f4a5b")


@table.pattern("CreateUser")
def create_user(user: User) -> Put[User]:
    """Create a user; fails with AlreadyExists if the id is taken."""
    return user.create()


@table.pattern(
    "CreateGroup", example={"group": _EXAMPLE_GROUP, "name": "Home", "founder": _EXAMPLE_USER}
)
def create_group(group: UUID, name: str, founder: UUID) -> Transaction:
    """Create a group with its first member; fails if that user does not exist."""
    return transaction(
        Group(group=group, name=name, users=frozenset({founder})).create(),
        Membership(user=founder, group=group).create(),
        User.check(User.f.name.exists(), user=founder),
    )


@table.pattern("AddMember", example={"group": _EXAMPLE_GROUP, "user": _EXAMPLE_USER})
def add_member(group: UUID, user: UUID) -> Transaction:
    """Add a user to a group; fails if the user is already a member, or if either does not exist.

    The membership and the group's set of users change together. Neither is read, so concurrent
    changes of other members do not conflict.
    """
    return transaction(
        Membership(user=user, group=group).create(),
        Group.update(group=group).add(Group.f.users, {user}),
        User.check(User.f.name.exists(), user=user),
    )


@table.pattern("RemoveMember")
def remove_member(group: UUID, user: UUID) -> Transaction:
    """Remove a user from a group; fails if the user is not a member."""
    return transaction(
        Membership.delete(user=user, group=group).where(Membership.f.user.exists()),
        Group.update(group=group).delete(Group.f.users, {user}),
    )


@table.pattern("CreateJoinLink")
def create_join_link(link: JoinLink) -> Transaction:
    """Create a link to join a group until it expires; fails if the group does not exist."""
    return transaction(link.create(), Group.check(Group.f.name.exists(), group=link.group))


@table.pattern(
    "JoinByLink",
    example={
        "link": JoinLink(group=_EXAMPLE_GROUP, expires=datetime(2026, 1, 1, tzinfo=UTC)),
        "user": _EXAMPLE_USER,
    },
)
def join_by_link(link: JoinLink, user: UUID) -> Transaction:
    """Add a user to a group by a link; fails if the link has expired or was deleted."""
    check = JoinLink.check(JoinLink.f.expires > now, group=link.group, expires=link.expires)
    return transaction(check, *add_member(link.group, user).requests)


@table.pattern("DeleteJoinLink")
def delete_join_link(link: JoinLink) -> Delete[JoinLink]:
    """Delete a link, expired or not; does nothing if it does not exist."""
    return link.delete()


# Writes of containers and their foods.


@table.pattern(
    "AddContainer",
    example={"group": _EXAMPLE_GROUP, "container": _EXAMPLE_CONTAINER, "name": "Fridge"},
)
def add_container(group: UUID, container: UUID, name: str) -> Transaction:
    """Create an empty container in a group; fails if the group does not exist."""
    return transaction(
        Container(container=container, name=name).create(),
        GroupContainer(group=group, container=container).create(),
        Group.check(Group.f.name.exists(), group=group),
    )


@table.pattern(
    "AddFood",
    example={
        "food": Food(
            id=UUID("e8d1c5b4-2f7a-4d3c-9b6e-5a4f3c2d1e0b"),
            created=datetime(2026, 1, 1, tzinfo=UTC),
        )
    },
)
def add_food(container: UUID, food: Food) -> Update[Container]:
    """Add a food to a container, in one write without a read; fails if the food is in it already."""
    place = Container.f.foods[str(food.id)]
    return Container.update(container=container).set(place, food).where(place.not_exists())


@table.pattern("ChangeFood")
def change_food(container: UUID, food: UUID, change: FoodChange) -> Update[Container]:
    """Change fields of a food, in one write without a read; fails if it is not in the container.

    Only the fields that are passed change, so concurrent changes of other fields are kept.
    """
    place = Container.f.foods[str(food)]
    request = Container.update(container=container).where(place.exists())
    for name in FoodChange.model_fields:
        if name in change.model_fields_set:
            request = request.set(getattr(place, name), getattr(change, name))
    return request


@table.pattern("RemoveFood")
def remove_food(container: UUID, food: UUID) -> Update[Container]:
    """Remove a food from a container, in one write; does nothing if the food is not in it."""
    return Container.update(container=container).remove(Container.f.foods[str(food)])


# Categories.


@table.pattern("GetCategories")
def get_categories() -> Get[Categories]:
    """Get all food categories."""
    return Categories.get()


@table.pattern("SetCategories", example={"names": ("Dairy", "Fruit")})
def set_categories(names: Sequence[str]) -> Put[Categories]:
    """Replace all food categories."""
    return Categories(categories=[Category(name=name) for name in names]).put()
