"""Users and their addresses: patterns that create, change and delete them."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from keyfold import Delete, Put, Transaction, Update, transaction
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


@table.pattern("Delete a user")
def delete_user(user: str) -> Chain[list[None] | None]:
    """Delete a user with addresses and carts, in one transaction; None if there is no such user.

    The user's place in an account is deleted, too. Orders, rewards and bills stay.
    """
    return UserProfile.get(user=user).consistent().then(_delete_profile)


def _delete_profile(profile: UserProfile) -> Transaction:
    user, account = profile.user.user, profile.user.account
    membership = (
        []
        if account is None
        else [
            AccountMember.delete(account=account, user=user),
            Account.update(account=account).add(Account.f.users, -1),
        ]
    )
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
