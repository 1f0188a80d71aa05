"""Calls of DynamoDB's API, as requests make them, and on whose authority they are made."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple


class Authority(NamedTuple):
    """What the store does on its own authority in a call, or in one member of a transaction.

    The store of a principal asks the role about everything else.
    """

    # The whole call: it looks something up, or was checked earlier, together with others.
    is_whole: bool = False
    # Replacing an existing item: only an expired one can be replaced, and it counts as absent.
    replaces_expired: bool = False
    # Writing guards of unique values, by their names. The role is asked whether it may take and
    # release values of these names instead.
    guards: frozenset[str] = frozenset()


CALLER = Authority()
"""The store does nothing on its own authority: the role is asked about everything."""

STORE = (Authority(is_whole=True),)
"""The authority of a call that is the store's own."""


class ApiCall(NamedTuple):
    """One call of DynamoDB's API; `attempt` counts from 1."""

    operation: str
    request: dict[str, Any]
    attempt: int = 1
    # One for each member of a transaction, or one for the call; empty if all are the caller's.
    authority: tuple[Authority, ...] = ()
    # For a call of a batch: by item, the positions in the batch of the requests for it.
    positions: Mapping[Hashable, list[int]] = {}
    # Whether it looks for an item on behalf of a principal, among items that may be others'.
    is_lookup: bool = False

    def on_own_authority(self) -> ApiCall:
        """Return the call as one that the store makes on its own authority."""
        return self._replace(authority=STORE)


Calls = tuple[ApiCall, ...]
