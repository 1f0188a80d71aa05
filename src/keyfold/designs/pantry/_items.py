"""The table of the pantry, and its entities, also as other programs have stored them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator

from keyfold import Entity, Index, Key, Table, attr, part
from keyfold.designs.pantry._times import read_time, write_time

by_group = Index("UserGroupIndex", key=Key("GroupID", "UserID"))
by_link_expiry = Index("JoinLinkIndex", key=Key("GroupID", "LinkExpiredDatetime"))
table = Table(
    "Pantry",
    key=Key("PK", "SK"),
    indexes=[by_group, by_link_expiry],
    lint_ignore={"P04": "what has no rate is called so seldom that it costs nothing"},
)

# The partitions of users, of groups and of containers. Their keys are ids alone, so no key says
# whose it is; rights tell them apart by the ids.
people = table.shard("{user}", name="people")
groups = table.shard("{group}", name="groups")
containers = table.shard("{container}", name="containers")

_LINK = "ShareLink#"

# Users.


class User(Entity, table=table, key=(people, "USER")):
    """A user of the pantry."""

    user: UUID = part()
    name: str = attr("UserName")
    email: str = attr("EMailAddress")


class Membership(Entity, table=table, key=(people, "Group#{group}")):
    """The membership of a user in a group; the only items in UserGroupIndex, a sparse index.

    An item without `UserID` is read by its key, but is not in the index until a backfill adds it.
    """

    user: UUID = attr("UserID")
    group: UUID = attr("GroupID")


# Groups.


class Group(
    Entity,
    table=table,
    key=(groups, "Group"),
    lint_ignore={"S01": "a group is a household, whose ids are a few hundred bytes"},
):
    """People who share containers."""

    group: UUID = part()
    name: str = attr("GroupName")
    # A set, not a list: members are removed by value, so concurrent changes do not interfere.
    users: frozenset[UUID] = attr("BelongingUsers", was="Users", default=frozenset())

    @classmethod
    def upgrade(cls, stored: dict[str, Any]) -> dict[str, Any]:
        """Return the attributes with a list of users, as the document has it, as a set."""
        users = stored.pop("BelongingUsers", None)
        if isinstance(users, list | set):
            users = _make_set(users)  # pyright: ignore[reportUnknownArgumentType] - as stored
        return stored if users in (None, set()) else {**stored, "BelongingUsers": users}


def _make_set(users: Iterable[Any]) -> Any:
    """Return ids as a set, in the form in which they are written; validation refuses other texts."""
    try:
        return {str(UUID(each)) for each in users}
    except (AttributeError, TypeError, ValueError):
        return users


class GroupContainer(Entity, table=table, key=(groups, "Container#{container}")):
    """The fact that a container belongs to a group."""

    group: UUID = part()
    container: UUID = attr("ContainerID")


class JoinLink(
    Entity,
    table=table,
    key=(groups, _LINK + "{time}"),
    lint_ignore={"S05": "the document stores a text; a job deletes the links that it lists"},
):
    """A link to join a group until it expires; the only items in JoinLinkIndex, a sparse index.

    `time` is the expiry as the key has it. Other programs may have written it with another offset
    or precision, and the key of an item cannot be changed; a new link needs none.
    """

    group: UUID = attr("GroupID")
    expires: datetime = attr("LinkExpiredDatetime")
    time: str = part(default="", validate_default=True)

    @field_validator("time")
    @classmethod
    def _check_time(cls, time: str, info: ValidationInfo) -> str:
        expires: datetime | None = info.data.get("expires")
        if expires is None:
            return time
        if not time:
            return write_time(expires)
        if read_time(time) != expires:
            raise ValueError(f"the key says {time}, but the link expires at {write_time(expires)}")
        return time

    @classmethod
    def upgrade(cls, stored: dict[str, Any]) -> dict[str, Any]:
        """Return the attributes with the expiry as links are written, in the key as well."""
        in_key = str(stored["SK"]).removeprefix(_LINK)
        try:
            expires = read_time(stored.get("LinkExpiredDatetime", in_key))
            is_same = read_time(in_key) == expires
        except (TypeError, ValueError):
            return stored  # validation refuses it
        text = write_time(expires)
        moved = {"SK": f"{_LINK}{text}"} if is_same else {}
        return {**stored, **moved, "LinkExpiredDatetime": text}


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


class Container(
    Entity,
    table=table,
    key=(containers, "Container"),
    lint_ignore={"S01": "a fridge has some hundred foods of 100 bytes, far from 400 KB"},
):
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
