"""Roles of the market: the access rules of the design document, by shard."""

from __future__ import annotations

from keyfold import ALL, EVERYTHING, READ, WRITE, Right, Role
from keyfold.designs.market._items import (
    Account,
    AccountMember,
    Bill,
    Cart,
    Order,
    Payment,
    Product,
    Reward,
    User,
    accounts,
    billing,
    by_id,
    by_key,
    orders,
    products,
    profiles,
    rewards,
    table,
)

# Every role may look items up, and finds those that it may read.
_LOOKUPS = (by_id, by_key)

# `unique` says whose business ids a role may give and take away: nobody takes another's.

# "The profile shard can have read/write access pattern, whereas the Orders or Rewards shards can be
# read-only for the user". The role is limited to the user's own shards, and excludes bills. Users
# do not choose their own business id.
customer = table.add_role(
    Role(
        "customer",
        tenant="user",
        can={profiles: READ | WRITE, orders: READ, rewards: READ},
        lookups=_LOOKUPS,
        unique=[Cart],
        is_end_user=True,
    )
)

# Users may change their own products, and everybody may see them.
seller = table.add_role(
    Role(
        "seller",
        tenant="user",
        can={products: ALL},
        lookups=_LOOKUPS,
        unique=[Product],
        is_end_user=True,
    )
)
visitor = table.add_role(Role("visitor", can={products: READ}, lookups=_LOOKUPS, is_end_user=True))

# The process that the identity provider calls when somebody signs up: it creates users with their
# business ids, and groups them in accounts.
registration = table.add_role(
    Role(
        "registration",
        can={profiles: ALL, accounts: ALL},
        lookups=_LOOKUPS,
        unique=[User, Cart, Account, AccountMember],
    )
)

# The process that writes to the shards that users may not write to: it places orders from carts,
# at the prices of products, empties the carts, and creates the bills, payments and rewards.
fulfilment = table.add_role(
    Role(
        "fulfilment",
        can={
            profiles: READ | Right.UPDATE,
            orders: ALL,
            rewards: ALL,
            # A create may overwrite an expired bill that is still stored, and a policy cannot tell
            # that from an update. So creating a bill needs the right to update, too.
            billing: READ | Right.CREATE | Right.UPDATE,
            products: READ,
        },
        lookups=_LOOKUPS,
        unique=[Order, Reward, Bill, Payment],
    )
)

# Support staff may read everything except the details of payments.
support = table.add_role(
    Role(
        "support",
        can={EVERYTHING: READ},
        hidden={billing: ["card", "holder"]},
        lookups=_LOOKUPS,
    )
)
