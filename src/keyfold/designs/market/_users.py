"""Users and their addresses: patterns that create, change and delete them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from pydantic import BaseModel, ConfigDict

from keyfold import Delete, Put, Transaction, Update, batch, transaction
from keyfold.designs.market._access_patterns import UserProfile
from keyfold.designs.market._items import (
    Account,
    AccountMember,
    Address,
    Cart,
    User,
    table,
)
from keyfold.errors import WriteRefused
from keyfold.requests import Chain


class UserChanges(BaseModel):
    """What users may change of themselves: neither their id nor their account."""

    model_config = ConfigDict(frozen=True)

    name: str | None = None
    phones: list[str] = []


_EXAMPLE_USER = User(user="rabinovich", id="rabinovich@example.com", name="Rabinovich")


@table.pattern("Create a user", example={"user": _EXAMPLE_USER})
def create_user(user: User) -> Put[User]:
    """Create a user; fails if the user exists, or if another user has the same business id.

    Raises WriteRefused for a user with an account: `join_account` adds users to accounts.
    """
    if user.account is not None:
        advice = "Create the user without one, then run join_account."
        raise WriteRefused("User", "a new user has no account yet", advice)
    return user.create()


@table.pattern("Change a user", example={"changes": UserChanges(name="Rabinovich")})
def change_user(user: str, changes: UserChanges) -> Update[User]:
    """Change the fields of a user that are set in `changes`; fails if there is no such user."""
    return User.update(user=user).set_from(changes)


@table.pattern("Change the business id of a user")
def change_user_id(user: str, id: str) -> Update[User]:  # noqa: A002 - the document's term
    """Give a user another business id; the former one is free then. Fails if the id is taken."""
    return User.update(user=user).set(User.f.id, id)


@table.pattern(
    "Delete a user",
    lint_ignore={
        "P08": "a user has a few addresses and carts, not a hundred",
        "P09": "users are hardly ever deleted; three of the calls look up unique ids",
    },
)
def delete_user(user: str) -> Chain[list[None] | None]:
    """Delete a user with addresses and carts, in one transaction; None if there is no such user.

    The user's place in an account is deleted, too. Orders, rewards and bills stay.
    """
    return UserProfile.get(user=user).consistent().then(_find_membership)


def _find_membership(profile: UserProfile) -> Transaction | Chain[list[None]]:
    user, account = profile.user.user, profile.user.account
    if account is None:
        return _delete_profile(profile, [])
    # The field is the user's to write: only the account itself says who is in it.
    member = AccountMember.get(account=account, user=user).consistent()
    return batch([member]).then(partial(_delete_profile, profile))


def _delete_profile(profile: UserProfile, members: Sequence[AccountMember | None]) -> Transaction:
    user = profile.user.user
    membership = [
        request
        for member in members
        if member is not None
        for request in (
            AccountMember.delete(account=member.account, user=user),
            Account.update(account=member.account).add(Account.f.users, -1),
        )
    ]
    return transaction(
        User.delete(user=user),
        *(Address.delete(user=user, number=each.number) for each in profile.addresses),
        *(Cart.delete(user=user, cart=each.cart) for each in profile.carts),
        *membership,
    )


_EXAMPLE_ADDRESS = Address(
    user="rabinovich", number=1, street="1 Market Street", city="Odesa", country="UA"
)


@table.pattern("Save an address", example={"address": _EXAMPLE_ADDRESS})
def save_address(address: Address) -> Put[Address]:
    """Create an address, or replace the one with the same number."""
    return address.put()


@table.pattern("Delete an address")
def delete_address(user: str, number: int) -> Delete[Address]:
    """Delete an address of a user; returns it, or None if there was none."""
    return Address.delete(user=user, number=number)
