"""Households that share fridges and shelves, with join links, half of them expired."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta, timezone
from decimal import Decimal
from uuid import UUID

from keyfold.cli._demo.data_set import DataGenerator, DataSet
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


def make_data_set(generator: DataGenerator) -> DataSet:
    """Return the items, and the results that the patterns must return."""
    data = DataSet(pantry.table, generator.now)
    users = [_make_user(generator, number) for number in range(_USERS)]
    data.load(users)
    for _ in range(_GROUPS):
        data.load(_make_group(generator, [user.user for user in users]))
    data.load([Categories(categories=[Category(name=name) for name in _KINDS])])
    home = data.find(Group)[0].group
    _expect_reads(data, home)
    _expect_members(data, generator, home)
    _expect_foods(data, generator, home)
    return data


def _make_user(generator: DataGenerator, number: int) -> User:
    first, last = generator.random.choice(_FIRST), generator.random.choice(_LAST)
    email = f"{first}.{last}{number}@example.com".lower()
    return User(user=generator.uuid(), name=f"{first} {last}", email=email)


def _make_group(generator: DataGenerator, users: list[UUID]) -> Iterator[Entity]:
    group = generator.uuid()
    members = generator.random.sample(users, generator.random.randint(3, 7))
    name = f"{generator.random.randint(1, 90)} {generator.random.choice(_STREETS)}"
    yield Group(group=group, name=name, users=frozenset(members))
    for user in members:
        yield Membership(user=user, group=group)
    for place in generator.random.sample(_PLACES, generator.random.randint(2, 4)):
        container = generator.uuid()
        foods = [_make_food(generator) for _ in range(generator.random.randint(2, 6))]
        yield GroupContainer(group=group, container=container)
        yield Container(container=container, name=place, foods={each.id: each for each in foods})
    for hours in generator.random.sample(range(1, 24 * 14), 4):
        expires = generator.now - hours * _HOUR
        # Some programs write local times, with any precision.
        zone = timezone(generator.random.randint(-12, 14) * _HOUR)
        time = expires.astimezone(zone).isoformat() if generator.happens(0.3) else ""
        yield JoinLink(group=group, expires=expires, time=time)
    for hours in generator.random.sample(range(1, 24 * 7), 4):
        yield JoinLink(group=group, expires=generator.now + hours * _HOUR)


def _make_food(generator: DataGenerator) -> Food:
    name = generator.random.choice(tuple(_FOODS))
    unit, category = _FOODS[name]
    return Food(
        id=generator.uuid(),
        name=name,
        unit=unit,
        quantity=Decimal(generator.random.randint(1, 20)) / 4,
        category=category,
        expiry=generator.ahead(14 * _DAY),
        created=generator.ago(7 * _DAY),
    )


def _expect_reads(data: DataSet, home: UUID) -> None:
    group = next(each for each in data.find(Group) if each.group == home)
    users = {user.user: user for user in data.find(User)}
    member = min(group.users)
    groups = [each for each in data.find(Membership) if each.user == member]
    kept = [each for each in data.find(GroupContainer) if each.group == home]
    boxes = {each.container: each for each in data.find(Container)}
    links = [each for each in data.find(JoinLink) if each.expires <= data.now]
    data.expect(pantry.get_user, users[member], user=member)
    data.expect(pantry.list_of_users_group, groups, user=member)
    data.expect(pantry.get_group, group, group=home)
    data.expect(pantry.list_of_containers, kept, group=home)
    # UUIDs sort like their texts.
    members = [users[user] for user in sorted(group.users)]
    data.expect(pantry.list_of_users, members, group=home)
    first = kept[0].container
    data.expect(pantry.get_container, boxes[first], container=first)
    data.expect_in_any_order(pantry.list_of_expired_join_links, links)
    own = sorted((each for each in links if each.group == home), key=lambda link: link.expires)
    data.expect(pantry.list_of_expired_join_links_of_group, own, group=home)


def _expect_members(data: DataSet, generator: DataGenerator, home: UUID) -> None:
    ada = User(user=generator.uuid(), name="Ada Newman", email="ada.newman@example.com")
    data.expect(pantry.create_user, ada, user=ada)
    data.expect(pantry.create_user, AlreadyExists, user=ada)
    data.put(ada)
    group = Group(group=generator.uuid(), name="Allotment", users=frozenset({ada.user}))
    founded = [group, Membership(user=ada.user, group=group.group)]
    data.expect(
        pantry.create_group, [*founded, None], group=group.group, name=group.name, founder=ada.user
    )
    data.put(*founded)
    joined = Membership(user=ada.user, group=home)
    with_ada = next(each for each in data.find(Group) if each.group == home)
    with_ada = with_ada.model_copy(update={"users": with_ada.users | {ada.user}})
    without = with_ada.model_copy(update={"users": with_ada.users - {ada.user}})
    data.expect(pantry.add_member, [joined, None, None], group=home, user=ada.user)
    data.expect(pantry.add_member, TransactionFailed, group=home, user=ada.user)
    data.expect(pantry.get_group, with_ada, group=home)
    data.expect(pantry.remove_member, [None, None], group=home, user=ada.user)
    data.expect(pantry.get_group, without, group=home)
    link = JoinLink(group=home, expires=data.now + _DAY)
    data.expect(pantry.create_join_link, [link, None], link=link)
    data.put(link)
    late = next(each for each in data.find(JoinLink) if each.expires <= data.now)
    data.expect(pantry.join_by_link, [None, joined, None, None], link=link, user=ada.user)
    data.expect(pantry.join_by_link, TransactionFailed, link=late, user=ada.user)
    data.put(joined, with_ada)
    data.expect(pantry.delete_join_link, late, link=late)
    data.expect(pantry.delete_join_link, None, link=late)
    data.drop(late)


def _expect_foods(data: DataSet, generator: DataGenerator, home: UUID) -> None:
    box = Container(container=generator.uuid(), name="Shelf")
    kept = GroupContainer(group=home, container=box.container)
    data.expect(
        pantry.add_container, [box, kept, None], group=home, container=box.container, name=box.name
    )
    data.put(box, kept)
    milk = _make_food(generator).model_copy(
        update={"name": "Milk", "unit": "l", "category": "Dairy"}
    )
    with_milk = box.model_copy(update={"foods": {milk.id: milk}})
    data.expect(pantry.add_food, with_milk, container=box.container, food=milk)
    data.expect(pantry.add_food, ConditionFailed, container=box.container, food=milk)
    change = FoodChange(quantity=Decimal("0.5"), expiry=None)
    opened = milk.model_copy(update={"quantity": Decimal("0.5"), "expiry": None})
    changed = box.model_copy(update={"foods": {milk.id: opened}})
    data.expect(pantry.change_food, changed, container=box.container, food=milk.id, change=change)
    data.expect(pantry.remove_food, box, container=box.container, food=milk.id)
    kinds = [*_KINDS, "Spices"]
    before = data.find(Categories)[0]
    after = Categories(categories=[Category(name=name) for name in kinds])
    data.expect(pantry.get_categories, before)
    data.expect(pantry.set_categories, after, names=kinds)
    data.put(after)
