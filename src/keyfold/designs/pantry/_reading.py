"""Read access patterns of the pantry."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from keyfold import Get, Page, Query, Request, Scan, batch, now
from keyfold.designs.pantry._items import (
    Categories,
    Container,
    Group,
    GroupContainer,
    JoinLink,
    Membership,
    User,
    by_group,
    by_link_expiry,
    table,
)
from keyfold.requests import Chain

# An offset from UTC has less than a day, and a text of fewer digits may sort after a later time.
_ANY_OFFSET = timedelta(days=2)

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
    """Get the users that belong to a group; None for each user that was deleted.

    Their ids come from the index, which may lag behind a write: who was just added may be missing,
    and who was just removed may be listed still. The users themselves are read consistently.
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
    query by. The index is sparse and contains only links, so no other items are read. It may lag
    behind a write: a link that was just deleted may be listed still. Links whose time cannot be
    read are in the page's `invalid`, all of them.
    """
    return JoinLink.scan(by_link_expiry).matching(has_expired)


def has_expired(link: JoinLink, now: datetime) -> bool:
    """Return whether a link has expired at a time."""
    return link.expires <= now


# The same for one group, which reads few links besides those that it returns.


@table.pattern("ListOfExpiredJoinLinksOfGroup")
def list_of_expired_join_links_of_group(group: UUID) -> Query[JoinLink]:
    """Query the expired links of one group, in the order in which their times are written.

    Times are stored as text, and may have any offset from UTC: the local time in a text is less
    than a day from its time in UTC. So the range ends two days from now, and what has not expired
    is left out after it is read. The index may lag behind a write: a link that was just deleted may
    be listed still.
    """
    links = JoinLink.query(by_link_expiry, group=group).until(now + _ANY_OFFSET)
    return links.matching(has_expired)


@table.pattern("GetCategories")
def get_categories() -> Get[Categories]:
    """Get all food categories."""
    return Categories.get()
