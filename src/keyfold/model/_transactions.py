"""Transactions: several requests that succeed or fail as a whole."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Self, TypeVar

from keyfold.api import MEMBERS
from keyfold.errors import TransactionInvalid
from keyfold.model._calls import CALLER, ApiCall, Calls
from keyfold.model._deferred_writes import DeferredWrite, resolve_write
from keyfold.model._keys import TableLike, identify
from keyfold.model._reads import Get
from keyfold.model._requests import Chain, Request
from keyfold.model._writes import Write

W = TypeVar("W")

MAX_ACTIONS = 100
MAX_TOKEN_LENGTH = 36

# The member of a transaction that does what an operation does.
_MEMBERS = {member.action: name for name, member in MEMBERS.items()}


@dataclass(frozen=True, slots=True)
class Transaction(Request[list[Any]]):
    """An atomic group of writes and condition checks, or of reads from a single point in time.

    Running it returns a list with a result for each request: the entity that was read or put, and
    None for updates, deletes and checks, for which DynamoDB returns nothing in a transaction.
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
        """Make the transaction idempotent: run again with the same token, it has no further effect.

        DynamoDB remembers a token for ten minutes.
        """
        return replace(self, token=_check_token(token))

    def then(self, make: Callable[[list[Any]], Request[W]]) -> Chain[W]:
        """Return a chain that runs this, then the request that `make` returns for its results.

        The chain as a whole is not atomic.
        """
        return Chain(self, make)

    def resolve(self, now: datetime) -> Transaction:
        """Return the transaction as it runs at `now`, with its writes completed."""
        if not any(isinstance(each, DeferredWrite) for each in self.requests):
            return self
        requests = [
            each if isinstance(each, Get) else resolve_write(each, now) for each in self.requests
        ]
        return replace(self, requests=tuple(requests))

    def calls(self, now: datetime) -> Calls:
        """Return the TransactGetItems or TransactWriteItems call, without guard items."""
        authority = tuple(
            each.authority if isinstance(each, Write) else CALLER for each in self.requests
        )
        if all(each is CALLER for each in authority):
            authority = ()
        operation = "TransactGetItems" if self.is_read else "TransactWriteItems"
        return (ApiCall(operation, self.to_dynamodb(now=now), authority=authority),)

    def to_dynamodb(self, *, now: datetime | None = None) -> dict[str, Any]:
        """Return the body of the TransactGetItems or TransactWriteItems call.

        Guard items of unique fields, some of which the store has to look up, are not included.
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
    """Return a request as a member of TransactItems."""
    return as_member(request.operation, request.to_dynamodb(now=now))


def as_member(operation: str, body: dict[str, Any]) -> dict[str, Any]:
    """Return the body of a call as a member of TransactItems."""
    for single in ("ReturnValues", "ConsistentRead"):
        body.pop(single, None)
    if operation == "UpdateItem" and "UpdateExpression" not in body:
        # An update without changes. In a transaction, DynamoDB does not accept it as one.
        operation = "ConditionCheck"
    return {_MEMBERS.get(operation, operation): body}


def transaction(*requests: Write[Any] | Get[Any], token: str | None = None) -> Transaction:
    """Combine gets, or writes and checks, into a transaction that succeeds or fails as a whole.

    With a `token`, it is idempotent: see `Transaction.idempotent`. Raises TransactionInvalid for
    more than 100 requests, for a mix of reads and writes, and for two requests on one item.
    """
    for each in requests:
        if not isinstance(each, Write | Get):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not check types
            raise TransactionInvalid(
                "not every request can be part of one",
                f"It takes gets, or writes and checks; got {each!r:.80}.",
            )
    if not requests:
        raise TransactionInvalid("it has no requests", "Give at least one.")
    if len(requests) > MAX_ACTIONS:
        raise TransactionInvalid(
            f"it has {len(requests)} requests, and DynamoDB takes {MAX_ACTIONS}",
            "Split it, or use batch() if the requests may take effect independently.",
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
                "two of its requests are for the same item",
                f"Merge {each!r:.80} and the one before it into one request.",
            )
        seen.add(identity)
    return Transaction(tuple(requests), None if token is None else _check_token(token))


def _check_token(token: str) -> str:
    if not isinstance(token, str) or not 1 <= len(token) <= MAX_TOKEN_LENGTH:  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not check types
        raise TransactionInvalid(
            "its token is not usable",
            f"Pass a str of 1 to {MAX_TOKEN_LENGTH} characters, not {token!r:.80}.",
        )
    return token
