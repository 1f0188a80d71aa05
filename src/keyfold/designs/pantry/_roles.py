"""Roles of the pantry: what users, members of groups and those who use a container may do.

A key of the pantry is an id alone. So a role can say "your own", and no more: no rule by keys can
say that a container belongs to a group, or that two users have a group in common. The application
looks that up, and then makes a principal with the ids that it found.

Whoever may write a user's or a group's partition could make themselves a member there, because
memberships and the entries of containers are in these partitions. So nobody but the service may.
"""

from __future__ import annotations

from keyfold import ALL, EVERYTHING, READ, Right, Role
from keyfold.designs.pantry._items import Categories, containers, groups, people, table

# Users see their own data, and the groups that they belong to.
user = table.add_role(Role("user", tenant="user", can={people: READ, Categories: READ}))

# Members see their group, with the ids of its users and of its containers, and its links.
member = table.add_role(Role("member", tenant="group", can={groups: READ, Categories: READ}))

# Whoever uses a container sees its food and changes it. They may create, too, because IAM cannot
# tell an update from a put.
keeper = table.add_role(
    Role(
        "keeper",
        tenant="container",
        can={containers: READ | Right.CREATE | Right.UPDATE, Categories: READ},
    )
)

# The process that changes groups and who belongs to them, after it has checked who asks.
service = table.add_role(Role("service", can={EVERYTHING: ALL}))
