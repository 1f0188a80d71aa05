"""Several requests at once, all or nothing."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Self

from keyfold.errors import TransactionInvalid
from keyfold.model._keys import TableLike, identify
from keyfold.model._requests import Get, Request
from keyfold.model._writes import Write

MOST_ACTIONS = 100
LONGEST_TOKEN = 36

_KINDS = {"GetItem": "Get", "PutItem": "Put", "UpdateItem": "Update", "DeleteItem": "Delete"}


@dataclass(frozen=True, slots=True)
class Transaction(Request[list[Any]]):
    """Writes and checks that take effect together, or reads of one moment.

    Running it gives a list with an answer for each: the entity that was read, or put; None for
    updates, deletions and checks, of which a transaction tells nothing.
    """

    requests: tuple[Write[Any] | Get[Any], ...]
    token: str | None = None

    @property
    def tables(self) -> tuple[TableLike, ...]:
        return tuple(dict.fromkeys(each.table for each in self.requests))

    @property
    def is_read(self) -> bool:
        """Whether it only reads."""
        return isinstance(self.requests[0], Get)

    def idempotent(self, token: str) -> Self:
        """Take effect once, however often it is run with this token within ten minutes."""
        return replace(self, token=_check_token(token))

    def to_dynamodb(self, *, now: datetime | None = None) -> dict[str, Any]:
        """Return the TransactGetItems or TransactWriteItems request.

        The guards of unique fields, some of which have to be looked up, are left out.
        """
        request: dict[str, Any] = {
            "TransactItems": [to_member(each, now) for each in self.requests]
        }
        if self.token is not None:
            request["ClientRequestToken"] = self.token
        return request

    def __repr__(self) -> str:
        return f"<transaction of {len(self.requests)}: {', '.join(map(repr, self.requests)):.300}>"


def to_member(request: Write[Any] | Get[Any], now: datetime | None) -> dict[str, Any]:
    """Return a request as a transaction takes it."""
    body = request.to_dynamodb(now=now)
    for single in ("ReturnValues", "ConsistentRead"):
        body.pop(single, None)
    return {_KINDS.get(request.operation, request.operation): body}


def transaction(*requests: Write[Any] | Get[Any], token: str | None = None) -> Transaction:
    """Join requests into one that takes effect as a whole, or not at all."""
    for each in requests:
        if not isinstance(each, Write | Get):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not check types
            raise TransactionInvalid(
                f"{each!r:.80} cannot be part of one", "It takes gets, or writes and checks."
            )
    if not requests:
        raise TransactionInvalid("it has no requests", "Give at least one.")
    if len(requests) > MOST_ACTIONS:
        raise TransactionInvalid(
            f"it has {len(requests)} requests, and DynamoDB takes {MOST_ACTIONS}",
            "Split it, or use batch() where they need not take effect together.",
        )
    reads = [isinstance(each, Get) for each in requests]
    if any(reads) and not all(reads):
        raise TransactionInvalid(
            "it mixes reads and writes", "Read first, then write under conditions."
        )
    seen: set[Hashable] = set()
    for each in requests:
        key = each.key if isinstance(each, Get) else each.item_key
        identity = identify(each.table.name, key)
        if identity in seen:
            raise TransactionInvalid(
                f"{each!r:.80} is about the same item as another of its requests",
                "Make one request of the two.",
            )
        seen.add(identity)
    return Transaction(tuple(requests), None if token is None else _check_token(token))


def _check_token(token: str) -> str:
    if not isinstance(token, str) or not 1 <= len(token) <= LONGEST_TOKEN:  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not check types
        raise TransactionInvalid(
            f"its token is {token!r:.80}", f"Give a text of up to {LONGEST_TOKEN} characters."
        )
    return token
