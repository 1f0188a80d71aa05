"""Write access patterns of the pantry: transactions, and changes of one item."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

from keyfold import Delete, Put, Transaction, Update, now, transaction
from keyfold.designs.pantry._items import (
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
    table,
)

_EXAMPLE_USER = UUID("3f0e7c1a-5a55-4c0e-9f3a-1d2b6c7e8f90")
_EXAMPLE_GROUP = UUID("7b1d2c3e-8f4a-4b6c-a5d7-0e9f8a7b6c5d")
_EXAMPLE_CONTAINER = UUID("c4a8f1e2-6d3b-4e5f-8a9c-2b1d0e3f4a5b")

# Writes of users and groups.


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
        # Memberships that other programs wrote have the group id alone.
        Membership.delete(user=user, group=group).where(Membership.f.group.exists()),
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
    """Add a user to a group by a link; fails if the link has expired or was deleted.

    Its time is in its key, so `now` is compared with that: a stored time may have any offset.
    """
    unexpired = JoinLink.f.group.exists() & (now < link.expires)
    check = JoinLink.check(unexpired, group=link.group, time=link.time)
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


@table.pattern("SetCategories", example={"names": ("Dairy", "Fruit")})
def set_categories(names: Sequence[str]) -> Put[Categories]:
    """Replace all food categories."""
    return Categories(categories=[Category(name=name) for name in names]).put()
