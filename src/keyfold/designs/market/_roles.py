"""Who may do what in the market: what the document says of its shards, as roles."""

from __future__ import annotations

from keyfold import ALL, EVERYTHING, READ, WRITE, Right, Role
from keyfold.designs.market._items import (
    OrderNumber,
    billing,
    orders,
    products,
    profiles,
    rewards,
    table,
)

# "The profile shard can have read/write access pattern, whereas the Orders or Rewards shards can be
# read-only for the user": their own, that is. Bills are not among them.
customer = table.add_role(
    Role(
        "customer",
        tenant="user",
        can={profiles: READ | WRITE, orders: READ, rewards: READ},
    )
)

# What users sell is theirs to change, and everybody's to see.
seller = table.add_role(Role("seller", tenant="user", can={products: ALL}))
visitor = table.add_role(Role("visitor", can={products: READ}))

# The process behind the shards that their users may not write to: it places orders out of carts,
# which it empties, and makes the bills and rewards that follow from them.
fulfilment = table.add_role(
    Role(
        "fulfilment",
        can={
            profiles: READ | Right.UPDATE,
            orders: ALL,
            rewards: ALL,
            # Nobody but this process can tell a bill that is made from one that replaces an expired
            # leftover, so to make one takes the right to update, too.
            billing: READ | Right.CREATE | Right.UPDATE,
            products: READ,
            OrderNumber: ALL,
        },
    )
)

# Those who help users see what these see, and more; how something was paid is not for them.
support = table.add_role(
    Role("support", can={EVERYTHING: READ}, hidden={billing: ["card", "holder"]})
)
