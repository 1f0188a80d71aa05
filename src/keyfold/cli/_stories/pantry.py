"""A month of a pantry: a household, its fridge, and somebody who comes and goes."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from uuid import UUID

from keyfold.cli._stories.teller import Actor, Story, Teller
from keyfold.designs import pantry
from keyfold.designs.pantry import Food, FoodChange, JoinLink, User
from keyfold.errors import AccessDenied, TransactionFailed

_ADA = User(user=UUID("3f0e7c1a-5a55-4c0e-9f3a-1d2b6c7e8f90"), name="Ada", email="ada@example.com")
_BOB = User(user=UUID("9d5b3f57-6c0f-4f0b-8a68-3c1f5e2d7a41"), name="Bob", email="bob@example.com")
_HOME = UUID("7b1d2c3e-8f4a-4b6c-a5d7-0e9f8a7b6c5d")
_FRIDGE = UUID("c4a8f1e2-6d3b-4e5f-8a9c-2b1d0e3f4a5b")
_MILK = UUID("5a7c9e1b-2d4f-4683-9abc-def012345678")
_AT_HOME = ("user", "member", "keeper")
_WEEK = timedelta(weeks=1)


def _tell(story: Teller) -> None:
    service = story.actor("The service", "service")
    ids = {"group": str(_HOME), "container": str(_FRIDGE)}
    ada = story.actor("Ada", *_AT_HOME, user=str(_ADA.user), **ids)
    _tell_beginning(story, service, ada)
    link = _tell_arrival(story, service)
    at_home = story.actor("Bob, now at home", *_AT_HOME, user=str(_BOB.user), **ids)
    _tell_life(story, service, at_home)
    _tell_departure(story, service, ada, link)


def _tell_beginning(story: Teller, service: Actor, ada: Actor) -> None:
    story.step(service, "signs Ada up.", pantry.create_user, _ADA)
    story.step(service, "signs Bob up.", pantry.create_user, _BOB)
    story.step(
        service, "makes a home, with Ada in it.", pantry.create_group, _HOME, "Home", _ADA.user
    )
    story.step(service, "puts a fridge there.", pantry.add_container, _HOME, _FRIDGE, "Fridge")
    story.read(
        ada,
        "looks where she belongs.",
        "she belongs to the home",
        lambda groups: [each.group for each in groups] == [_HOME],
        pantry.list_of_users_group,
        _ADA.user,
    )
    milk = Food(
        id=_MILK,
        name="Milk",
        unit="l",
        quantity=Decimal(2),
        category="Dairy",
        expiry=story.now + _WEEK,
        created=story.now,
    )
    story.step(ada, "puts milk into the fridge.", pantry.add_food, _FRIDGE, milk)


def _tell_arrival(story: Teller, service: Actor) -> JoinLink:
    bob = story.actor("Bob", "user", user=str(_BOB.user))
    story.refused(
        bob, "looks into a fridge that is not his.", AccessDenied, pantry.get_container, _FRIDGE
    )
    link = JoinLink(group=_HOME, expires=story.now + _WEEK)
    story.step(service, "makes a link for Ada, good for a week.", pantry.create_join_link, link)
    story.later("Three days later, Bob follows the link.", timedelta(days=3))
    story.step(service, "lets him in.", pantry.join_by_link, link, _BOB.user)
    return link


def _tell_life(story: Teller, service: Actor, bob: Actor) -> None:
    users = frozenset({_ADA.user, _BOB.user})
    story.read(
        bob,
        "looks who lives there.",
        "both of them do",
        lambda group: group is not None and group.users == users,
        pantry.get_group,
        _HOME,
    )
    fridge = story.step(
        bob,
        "drinks most of the milk.",
        pantry.change_food,
        _FRIDGE,
        _MILK,
        FoodChange(quantity=Decimal("0.5")),
    )
    story.check(fridge.foods[_MILK].unit == "l", "the rest of its fields stay")
    story.read(
        service,
        "shows their names.",
        "it finds both by the index",
        lambda listed: listed == [_ADA, _BOB],
        pantry.list_of_users,
        _HOME,
    )


def _tell_departure(story: Teller, service: Actor, ada: Actor, link: JoinLink) -> None:
    story.later("Three weeks later, Bob moves out.", 3 * _WEEK)
    story.step(service, "takes him off the group.", pantry.remove_member, _HOME, _BOB.user)
    story.refused(
        service,
        "tries his old link again.",
        TransactionFailed,
        pantry.join_by_link,
        link,
        _BOB.user,
    )
    story.read(
        ada,
        "looks for links that have expired.",
        "it is the one link that there was",
        lambda expired: expired == [link],
        pantry.list_of_expired_join_links_of_group,
        _HOME,
    )
    story.step(service, "deletes the link.", pantry.delete_join_link, link)
    story.step(ada, "throws the milk away.", pantry.remove_food, _FRIDGE, _MILK)
    story.read(
        ada,
        "looks into the fridge.",
        "the fridge is empty",
        lambda fridge: fridge is not None and not fridge.foods,
        pantry.get_container,
        _FRIDGE,
    )


STORY = Story("A month of a pantry", pantry.table, _tell)
