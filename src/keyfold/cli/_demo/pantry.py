"""Households that share fridges and shelves, with links to join by, half of them expired."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from uuid import UUID

from keyfold.cli._demo.world import Draws, World
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
from keyfold.errors import AlreadyExists, ConditionFailed, TransactionFailed
from keyfold.model import Entity

_USERS, _GROUPS = 80, 24
_FIRST = ("Ada", "Bo", "Chidi", "Dana", "Eve", "Femi", "Gita", "Hugo", "Ines", "Jun")
_LAST = ("Abe", "Brandt", "Costa", "Diaz", "Endo", "Fox", "Gray", "Holm")
_STREETS = ("Mill Lane", "Harbour Road", "Linden Street", "Station Square")
_PLACES = ("Fridge", "Freezer", "Cupboard", "Cellar")
_FOODS = {
    "Milk": ("l", "Dairy"), "Butter": ("g", "Dairy"), "Rice": ("kg", "Grain"),
    "Oats": ("kg", "Grain"), "Apples": (None, "Fruit"), "Pears": (None, "Fruit"),
    "Peas": ("g", "Vegetables"), "Leeks": (None, "Vegetables"), "Salmon": ("g", "Fish"),
}  # fmt: skip
_KINDS = ("Dairy", "Fish", "Fruit", "Grain", "Vegetables")
_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)


def make_world(draws: Draws) -> World:
    """Return the items, and what the patterns must return of them."""
    world = World(pantry.table, draws.now)
    users = [_make_user(draws, number) for number in range(_USERS)]
    world.load(users)
    for _ in range(_GROUPS):
        world.load(_make_group(draws, [user.user for user in users]))
    world.load([Categories(categories=[Category(name=name) for name in _KINDS])])
    home = world.find(Group)[0].group
    _expect_reads(world, home)
    _expect_members(world, draws, home)
    _expect_foods(world, draws, home)
    return world


def _make_user(draws: Draws, number: int) -> User:
    first, last = draws.random.choice(_FIRST), draws.random.choice(_LAST)
    email = f"{first}.{last}{number}@example.com".lower()
    return User(user=draws.uuid(), name=f"{first} {last}", email=email)


def _make_group(draws: Draws, users: list[UUID]) -> Iterator[Entity]:
    group = draws.uuid()
    members = draws.random.sample(users, draws.random.randint(3, 7))
    name = f"{draws.random.randint(1, 90)} {draws.random.choice(_STREETS)}"
    yield Group(group=group, name=name, users=frozenset(members))
    for user in members:
        yield Membership(user=user, group=group)
    for place in draws.random.sample(_PLACES, draws.random.randint(2, 4)):
        container = draws.uuid()
        foods = [_make_food(draws) for _ in range(draws.random.randint(2, 6))]
        yield GroupContainer(group=group, container=container)
        yield Container(container=container, name=place, foods={each.id: each for each in foods})
    for hours in draws.random.sample(range(1, 24 * 14), 4):
        yield JoinLink(group=group, expires=draws.now - hours * _HOUR)
    for hours in draws.random.sample(range(1, 24 * 7), 4):
        yield JoinLink(group=group, expires=draws.now + hours * _HOUR)


def _make_food(draws: Draws) -> Food:
    name = draws.random.choice(tuple(_FOODS))
    unit, category = _FOODS[name]
    return Food(
        id=draws.uuid(),
        name=name,
        unit=unit,
        quantity=Decimal(draws.random.randint(1, 20)) / 4,
        category=category,
        expiry=draws.ahead(14 * _DAY),
        created=draws.ago(7 * _DAY),
    )


def _expect_reads(world: World, home: UUID) -> None:
    group = next(each for each in world.find(Group) if each.group == home)
    users = {user.user: user for user in world.find(User)}
    somebody = min(group.users)
    groups = [each for each in world.find(Membership) if each.user == somebody]
    kept = [each for each in world.find(GroupContainer) if each.group == home]
    boxes = {each.container: each for each in world.find(Container)}
    links = [each for each in world.find(JoinLink) if each.expires <= world.now]
    world.expect(pantry.get_user, users[somebody], user=somebody)
    world.expect(pantry.list_of_users_group, groups, user=somebody)
    world.expect(pantry.get_group, group, group=home)
    world.expect(pantry.list_of_containers, kept, group=home)
    # UUIDs are in the same order as their texts.
    members = [users[user] for user in sorted(group.users)]
    world.expect(pantry.list_of_users, members, group=home)
    first = kept[0].container
    world.expect(pantry.get_container, boxes[first], container=first)
    world.expect_in_any_order(pantry.list_of_expired_join_links, links)
    own = [each for each in links if each.group == home]
    world.expect(pantry.list_of_expired_join_links_of_group, own, group=home)


def _expect_members(world: World, draws: Draws, home: UUID) -> None:
    ada = User(user=draws.uuid(), name="Ada Newman", email="ada.newman@example.com")
    world.expect(pantry.create_user, ada, user=ada)
    world.expect(pantry.create_user, AlreadyExists, user=ada)
    world.put(ada)
    group = Group(group=draws.uuid(), name="Allotment", users=frozenset({ada.user}))
    founded = [group, Membership(user=ada.user, group=group.group)]
    world.expect(
        pantry.create_group, [*founded, None], group=group.group, name=group.name, founder=ada.user
    )
    world.put(*founded)
    joined = Membership(user=ada.user, group=home)
    with_ada = next(each for each in world.find(Group) if each.group == home)
    with_ada = with_ada.model_copy(update={"users": with_ada.users | {ada.user}})
    without = with_ada.model_copy(update={"users": with_ada.users - {ada.user}})
    world.expect(pantry.add_member, [joined, None, None], group=home, user=ada.user)
    world.expect(pantry.add_member, TransactionFailed, group=home, user=ada.user)
    world.expect(pantry.get_group, with_ada, group=home)
    world.expect(pantry.remove_member, [None, None], group=home, user=ada.user)
    world.expect(pantry.get_group, without, group=home)
    link = JoinLink(group=home, expires=world.now + _DAY)
    world.expect(pantry.create_join_link, [link, None], link=link)
    world.put(link)
    late = next(each for each in world.find(JoinLink) if each.expires <= world.now)
    world.expect(pantry.join_by_link, [None, joined, None, None], link=link, user=ada.user)
    world.expect(pantry.join_by_link, TransactionFailed, link=late, user=ada.user)
    world.put(joined, with_ada)
    world.expect(pantry.delete_join_link, late, link=late)
    world.expect(pantry.delete_join_link, None, link=late)
    world.drop(late)


def _expect_foods(world: World, draws: Draws, home: UUID) -> None:
    box = Container(container=draws.uuid(), name="Shelf")
    kept = GroupContainer(group=home, container=box.container)
    world.expect(
        pantry.add_container, [box, kept, None], group=home, container=box.container, name=box.name
    )
    world.put(box, kept)
    milk = _make_food(draws).model_copy(update={"name": "Milk", "unit": "l", "category": "Dairy"})
    with_milk = box.model_copy(update={"foods": {milk.id: milk}})
    world.expect(pantry.add_food, with_milk, container=box.container, food=milk)
    world.expect(pantry.add_food, ConditionFailed, container=box.container, food=milk)
    change = FoodChange(quantity=Decimal("0.5"), expiry=None)
    opened = milk.model_copy(update={"quantity": Decimal("0.5"), "expiry": None})
    changed = box.model_copy(update={"foods": {milk.id: opened}})
    world.expect(pantry.change_food, changed, container=box.container, food=milk.id, change=change)
    world.expect(pantry.remove_food, box, container=box.container, food=milk.id)
    kinds = [*_KINDS, "Spices"]
    before = world.find(Categories)[0]
    after = Categories(categories=[Category(name=name) for name in kinds])
    world.expect(pantry.get_categories, before)
    world.expect(pantry.set_categories, after, names=kinds)
    world.put(after)
