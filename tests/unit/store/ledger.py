"""A table with a stream to follow, and a record of the changes that a handler got."""

from __future__ import annotations

from keyfold.model import Change, Entity, Expiry, Key, Table, part

ledger = Table("Ledger", key=Key("pk", "sk"), ttl="ttl", stream="new and old")


class Account(Entity, table=ledger, key=("A#{name}", "ACCOUNT")):
    name: str = part()
    balance: int = 0
    ttl: Expiry | None = None


class Entry(Entity, table=ledger, key=("A#{name}", "E#{number:06}")):
    name: str = part()
    number: int = part()
    amount: int = 0


class Receipt(Entity, table=ledger, key=("R#{name}", "E#{number:06}")):
    name: str = part()
    number: int = part()


class Seen(list[tuple[str, int | None, int | None]]):
    """The account changes that a handler got, in order: (name, old balance, new balance)."""

    def note(self, change: Change[Account]) -> None:
        account = change.entity
        assert account is not None
        old, new = change.old, change.new
        self.append((account.name, old and old.balance, None if new is None else new.balance))

    def of(self, name: str) -> list[int | None]:
        return [new for each, _, new in self if each == name]
