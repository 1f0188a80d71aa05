"""Requests as immutable values: their base classes, and the requests made from other requests.

A request describes what to do with a table. It is independent of the store, the principal and
the time at which it runs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, Self, TypeVar

from keyfold.model._calls import ApiCall, Calls
from keyfold.model._keys import TableLike
from keyfold.model._pickling import Reduced, check_function

V_co = TypeVar("V_co", covariant=True)
W = TypeVar("W")


class Request(ABC, Generic[V_co]):
    """A request to a table, for `store.run`; its type parameter is the type of the result."""

    __slots__ = ()

    @property
    @abstractmethod
    def tables(self) -> tuple[TableLike, ...]:
        """The tables that the request reads or writes."""

    @abstractmethod
    def to_dynamodb(self, *, now: datetime | None = None) -> Any:
        """Return the body of the DynamoDB API call that the request makes at the time `now`.

        For a request that makes several calls, return those known before the first response.
        `now` defaults to the current time.
        """

    @abstractmethod
    def calls(self, now: datetime) -> Calls:
        """Return the API calls that the request is known to make at the time `now`.

        Calls that depend on a response are not among them: further pages, and the next step of a
        chain. A write of unique values is sent with their guard items, in a transaction.
        """

    def __copy__(self) -> Self:
        """Return the request itself, which is immutable."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return the request itself, which is immutable."""
        return self

    def map(self, make: Callable[[V_co, datetime], W]) -> Mapped[W]:
        """Return a request whose result is `make(result, now)`.

        `now` is the time at which the request ran.
        """
        return Mapped(self, make)


class SingleRequest(Request[V_co]):
    """A request that makes a single DynamoDB API call."""

    __slots__ = ()

    operation: str
    table: TableLike

    @property
    def tables(self) -> tuple[TableLike, ...]:
        return (self.table,)

    @abstractmethod
    def to_dynamodb(self, *, now: datetime | None = None) -> dict[str, Any]:
        """Return the body of the DynamoDB API call that the request makes at the time `now`."""

    def calls(self, now: datetime) -> Calls:
        """Return the one call that the request makes."""
        return (ApiCall(self.operation, self.to_dynamodb(now=now)),)


class SingleResult(Request[V_co | None], Generic[V_co]):
    """A request for one item; its result is None if there is none."""

    __slots__ = ()

    def then(self, make: Callable[[V_co], Request[W]]) -> Chain[W | None]:
        """Return a chain that runs this request, then the one that `make` returns for its result.

        The chain returns None if this request finds nothing.
        """
        return Chain(self, make)

    def lookup_then(self, make: Callable[[V_co], Request[W]]) -> Chain[W | None]:
        """Return a chain like that of `then`, in which this request is a lookup.

        Principals may run it even if their role does not allow the lookup itself. If it does not
        allow the next request either, the chain returns None.
        """
        return Chain(self, make, is_lookup=True)


class DerivedRequest(Request[V_co]):
    """A request made from another one, whose calls it makes first."""

    __slots__ = ()

    @property
    @abstractmethod
    def source(self) -> Request[Any]:
        """The request that this one is made from."""

    @property
    def tables(self) -> tuple[TableLike, ...]:
        return self.source.tables

    def to_dynamodb(self, *, now: datetime | None = None) -> Any:
        """Return the body of the first call; further calls may depend on its response."""
        return self.source.to_dynamodb(now=now)

    def calls(self, now: datetime) -> Calls:
        """Return the calls of the source."""
        return self.source.calls(now)


@dataclass(frozen=True, slots=True)
class Chain(DerivedRequest[V_co]):
    """A request followed by one made from its result; returns None if the first finds nothing.

    Its requests are calls of their own, so a chain of several writes is not atomic: if a later one
    fails, the earlier ones stay.
    """

    first: Request[Any]
    make: Callable[[Any], Request[Any]]
    # Whether the first request runs with full rights, whatever the principal's role.
    is_lookup: bool = False

    @property
    def source(self) -> Request[Any]:
        """The first request; the next depends on its result."""
        return self.first

    def calls(self, now: datetime) -> Calls:
        """Return the calls of the first request; a lookup is on the store's own authority."""
        calls = self.first.calls(now)
        return tuple(call.on_own_authority() for call in calls) if self.is_lookup else calls

    def __reduce__(self) -> Reduced:
        """Pickle a chain whose function can be imported; raises NotPicklable for others."""
        check_function(self, self.make)
        return type(self), (self.first, self.make, self.is_lookup)

    def __repr__(self) -> str:
        return f"<chain from {self.first!r}>"


@dataclass(frozen=True, slots=True)
class Mapped(DerivedRequest[V_co]):
    """A request whose result is passed through a function, with the time at which it ran."""

    request: Request[Any]
    make: Callable[[Any, datetime], Any]

    @property
    def source(self) -> Request[Any]:
        """The request whose result is passed on."""
        return self.request

    def __reduce__(self) -> Reduced:
        """Pickle a request whose function can be imported; raises NotPicklable for others."""
        check_function(self, self.make)
        return type(self), (self.request, self.make)

    def __repr__(self) -> str:
        return f"<mapped {self.request!r}>"


def resolve_now(now: datetime | None) -> datetime:
    """Return `now`, or the current time if it is None."""
    return datetime.now(UTC) if now is None else now
