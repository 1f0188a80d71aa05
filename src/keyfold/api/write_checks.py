"""What decides whether an item may be written: the seam between an engine and a declaration.

The engine calls a `WriteCheck` without knowing what it checks; whoever makes one needs no engine.
"""

from __future__ import annotations

from typing import Protocol

from keyfold.values import Item


class ProposedWrite(Protocol):
    """The write of one item that is about to be carried out, inside its transaction.

    Items are normalised, with binaries as base64 text.
    """

    @property
    def before(self) -> Item | None:
        """The item as it is stored; None if there is none."""
        ...

    @property
    def after(self) -> Item | None:
        """The item as it would be stored; None for a delete."""
        ...

    @property
    def is_put(self) -> bool:
        """Whether the write gives the whole item, and does not depend on the stored one."""
        ...

    def find(self, key: Item) -> Item | None:
        """Return an item of the same table as it would be after the whole transaction.

        That is the item that the transaction writes, or else the stored one; None if there is none.
        """
        ...


class WriteCheck(Protocol):
    """Decides which writes of one table are carried out.

    The deletion of expired items, restores and index backfills are not checked.
    """

    def __call__(self, write: ProposedWrite, /) -> str | None:
        """Return the message of the ValidationException for a write to refuse; None to accept it."""
        ...
