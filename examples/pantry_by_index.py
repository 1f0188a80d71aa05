"""The pantry with its containers in the partitions of their groups, to compare with the design.

The design's document rejects this: an index would be needed to find a container by its id, and "using GSI
for writing operations result in twice the cost". `keyfold cost pantry --compare pantry_by_index:by_copy`
says what it costs; docs/how-to/price-a-design.md has the numbers.

Patterns and entities have the names of those in the pantry, so that they are used as often.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from keyfold import Entity, Index, Key, Request, Table, attr, batch, part, transaction
from keyfold.designs import pantry
from keyfold.designs.pantry import Food, FoodChange


def declare(name: str, *, copies_containers: bool) -> Table:
    """Return a pantry whose containers are found by an index.

    The index has copies of the containers, or only their keys, by which the table is read.
    """
    by_group = Index("UserGroupIndex", key=Key("GroupID", "UserID"))
    by_link_expiry = Index("JoinLinkIndex", key=Key("GroupID", "LinkExpiredDatetime"))
    projected = "all" if copies_containers else "keys"
    by_container = Index("ContainerIndex", key=Key("ContainerID"), project=projected)
    table = Table(name, key=Key("PK", "SK"), indexes=[by_group, by_link_expiry, by_container])

    # As in the pantry.

    class User(pantry.User, table=table, key=("{user}", "USER")):
        pass

    class Membership(pantry.Membership, table=table, key=("{user}", "Group#{group}")):
        pass

    class Group(pantry.Group, table=table, key=("{group}", "Group")):
        pass

    class JoinLink(pantry.JoinLink, table=table, key=("{group}", "ShareLink#{time}")):
        pass

    class Categories(pantry.Categories, table=table, key=("Category", "Category")):
        pass

    # This is different: in the pantry, a group has only the ids of its containers.

    class Container(Entity, table=table, key=("{group}", "Container#{container}")):
        group: UUID = part()
        container: UUID = attr("ContainerID")
        name: str = attr("ContainerName")
        foods: dict[UUID, Food] = attr("Foods", default_factory=dict[UUID, Food])

    table.expect(Container, per_partition=3)

    @table.pattern("ListOfContainers")
    def list_of_containers(group: UUID) -> Request[Any]:
        return Container.query(group=group)

    @table.pattern("GetContainer")
    def get_container(container: UUID) -> Request[Any]:
        if copies_containers:
            return Container.query(by_container, container=container).first()
        found = Container.query(by_container, container=container).refs().first()
        return found.lookup_then(
            lambda ref: table.get(PK=ref.key["PK"]["S"], SK=ref.key["SK"]["S"])
        )

    @table.pattern("AddContainer", example=_example_of("AddContainer"))
    def add_container(group: UUID, container: UUID, name: str) -> Request[Any]:
        return transaction(
            Container(group=group, container=container, name=name).create(),
            Group.check(Group.f.name.exists(), group=group),
        )

    # The caller knows the group. Otherwise, each of these would read the index first.

    @table.pattern("AddFood", example=_example_of("AddFood"))
    def add_food(group: UUID, container: UUID, food: Food) -> Request[Any]:
        place = Container.f.foods[str(food.id)]
        update = Container.update(group=group, container=container)
        return update.set(place, food).where(place.not_exists())

    @table.pattern("ChangeFood")
    def change_food(group: UUID, container: UUID, food: UUID, change: FoodChange) -> Request[Any]:
        place = Container.f.foods[str(food)]
        update = Container.update(group=group, container=container)
        return update.set(place.quantity, change.quantity).where(place.exists())

    @table.pattern("RemoveFood")
    def remove_food(group: UUID, container: UUID, food: UUID) -> Request[Any]:
        update = Container.update(group=group, container=container)
        return update.remove(Container.f.foods[str(food)])

    # The rest is as in the pantry, too.

    @table.pattern("GetUser")
    def get_user(user: UUID) -> Request[Any]:
        return User.get(user=user)

    @table.pattern("ListOfUsersGroup")
    def list_of_users_group(user: UUID) -> Request[Any]:
        return Membership.query(user=user)

    @table.pattern("GetGroup")
    def get_group(group: UUID) -> Request[Any]:
        return Group.get(group=group)

    @table.pattern("ListOfUsres")
    def list_of_users(group: UUID) -> Request[Any]:
        members = Membership.query(by_group, group=group)
        return members.then(
            lambda page: batch([User.get(user=each.user).consistent() for each in page])
        )

    @table.pattern("ListOfExpiredJoinLinks")
    def list_of_expired_join_links() -> Request[Any]:
        return JoinLink.scan(by_link_expiry).matching(lambda link, now: link.expires <= now)

    @table.pattern("GetCategories")
    def get_categories() -> Request[Any]:
        return Categories.get()

    @table.pattern("CreateGroup", example=_example_of("CreateGroup"))
    def create_group(group: UUID, name: str, founder: UUID) -> Request[Any]:
        return transaction(
            Group(group=group, name=name, users=frozenset({founder})).create(),
            Membership(user=founder, group=group).create(),
            User.check(User.f.name.exists(), user=founder),
        )

    @table.pattern("JoinByLink", example=_example_of("JoinByLink"))
    def join_by_link(link: pantry.JoinLink, user: UUID) -> Request[Any]:
        return transaction(
            JoinLink.check(JoinLink.f.group.exists(), group=link.group, time=link.time),
            Membership(user=user, group=link.group).create(),
            Group.update(group=link.group).add(Group.f.users, {user}),
            User.check(User.f.name.exists(), user=user),
        )

    @table.examples
    def make_examples() -> list[Entity]:
        kinds = (User, Membership, Group, JoinLink, Categories)
        given = pantry.table.example_entities()
        made: list[Entity] = [
            kind.model_validate(each.model_dump(by_alias=False), by_name=True)
            for each in given
            for kind in kinds
            if kind.__name__ == type(each).__name__
        ]
        [home] = (each.group for each in given if isinstance(each, pantry.Group))
        for each in given:
            if isinstance(each, pantry.Container):
                kept = {"container": each.container, "name": each.name, "foods": each.foods}
                made.append(Container.model_validate({"group": home, **kept}, by_name=True))
        return made

    return table


def _example_of(pattern: str) -> Mapping[str, Any]:
    return pantry.table.patterns[pattern].example


by_copy = declare("PantryByCopy", copies_containers=True)
by_keys = declare("PantryByKeys", copies_containers=False)
