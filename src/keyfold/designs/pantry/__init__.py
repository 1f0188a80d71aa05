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

from keyfold.designs.pantry._examples import make_examples
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
    by_group,
    by_link_expiry,
    containers,
    groups,
    people,
    table,
)
from keyfold.designs.pantry._reading import (
    get_categories,
    get_container,
    get_group,
    get_user,
    list_of_containers,
    list_of_expired_join_links,
    list_of_expired_join_links_of_group,
    list_of_users,
    list_of_users_group,
)
from keyfold.designs.pantry._roles import keeper, member, service, user
from keyfold.designs.pantry._writing import (
    add_container,
    add_food,
    add_member,
    change_food,
    create_group,
    create_join_link,
    create_user,
    delete_join_link,
    join_by_link,
    remove_food,
    remove_member,
    set_categories,
)

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
    "containers",
    "create_group",
    "create_join_link",
    "create_user",
    "delete_join_link",
    "get_categories",
    "get_container",
    "get_group",
    "get_user",
    "groups",
    "join_by_link",
    "keeper",
    "list_of_containers",
    "list_of_expired_join_links",
    "list_of_expired_join_links_of_group",
    "list_of_users",
    "list_of_users_group",
    "make_examples",
    "member",
    "people",
    "remove_food",
    "remove_member",
    "service",
    "set_categories",
    "table",
    "user",
]
