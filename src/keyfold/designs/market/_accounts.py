"""Accounts, which are groups of users: patterns that create and change them, and list their users.

A user is in one account at most. That an account has a user is stored twice: with the user, and with
the account. Both are written in one transaction, with the number of users. The user may change the
first, so only the second decides.
"""

from __future__ import annotations

from keyfold import Delete, Put, Query, Transaction, Update, transaction
from keyfold.designs.market._items import Account, AccountId, AccountMember, User, table

_EXAMPLE_ACCOUNT = Account(
    account=AccountId("A#01JZ10H7X367VB2NF4YQ973DHW"), id="corner", name="Corner shop"
)


@table.pattern("Create an account", example={"account": _EXAMPLE_ACCOUNT})
def create_account(account: Account) -> Put[Account]:
    """Create an account without users; fails if it exists, or if its business id is taken."""
    return account.model_copy(update={"users": 0}).create()


@table.pattern("Rename an account")
def rename_account(account: AccountId, name: str) -> Update[Account]:
    """Change the name of an account; fails if there is no such account."""
    return Account.update(account=account).set(Account.f.name, name)


@table.pattern("Delete an account")
def delete_account(account: AccountId) -> Delete[Account]:
    """Delete an account; fails with ConditionFailed as long as it has users."""
    is_empty = Account.f.users.eq(0) | Account.f.users.not_exists()
    return Account.delete(account=account).where(is_empty)


@table.pattern("Add a user to an account")
def join_account(user: str, account: AccountId) -> Transaction:
    """Add a user to an account; fails if either does not exist, or the user is in an account."""
    return transaction(
        User.update(user=user).set(User.f.account, account),
        AccountMember(account=account, user=user).create(),
        Account.update(account=account).add(Account.f.users, 1),
    )


@table.pattern("Remove a user from an account")
def leave_account(user: str, account: AccountId) -> Transaction:
    """Remove a user from an account; fails if the user is not in it."""
    return transaction(
        User.update(user=user).remove(User.f.account),
        AccountMember.delete(account=account, user=user).where(AccountMember.f.user.exists()),
        Account.update(account=account).add(Account.f.users, -1),
    )


@table.pattern("List users of an account")
def users_of_account(account: AccountId) -> Query[AccountMember]:
    """Query the users of an account, by their ids."""
    return AccountMember.query(account=account)
