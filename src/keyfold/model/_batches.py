"""Any number of gets, puts and deletions, each by itself, in as few calls as they fit into."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any, Generic, Literal, TypeVar, overload

from keyfold.errors import BatchInvalid
from keyfold.model._keys import TableLike, identify
from keyfold.model._requests import Get, Request, moment_of
from keyfold.model._writes import Delete, Put

V = TypeVar("V")

MOST_KEYS = 100
MOST_WRITES = 25

_Member = Get[Any] | Put[Any] | Delete[Any]
# A request with its place in the batch.
_Placed = tuple[int, _Member]


@dataclass(frozen=True, slots=True)
class BatchCall:
    """One call of a batch; `places` are those in the batch of each item that it concerns."""

    operation: Literal["BatchGetItem", "BatchWriteItem"]
    request: dict[str, Any]
    places: dict[Hashable, list[int]]


@dataclass(frozen=True, slots=True)
class Batch(Request[list[V]], Generic[V]):
    """Any number of gets, puts and deletions; each takes effect by itself.

    Running it gives a list in the order asked for: what was read, what was written, None for
    deletions and for what is not there.
    """

    requests: tuple[_Member, ...]

    @property
    def tables(self) -> tuple[TableLike, ...]:
        return tuple(dict.fromkeys(each.table for each in self.requests))

    def split(self, now: datetime) -> Iterator[BatchCall]:
        """Yield the calls that carry it out, in their order."""
        placed: list[_Placed] = list(enumerate(self.requests))
        for is_read, group in groupby(placed, lambda each: isinstance(each[1], Get)):
            members = list(group)
            yield from _split_reads(members, now) if is_read else _split_writes(members, now)

    def to_dynamodb(self, *, now: datetime | None = None) -> list[dict[str, Any]]:
        """Return the BatchGetItem and BatchWriteItem requests, in the order of the calls."""
        return [call.request for call in self.split(moment_of(now))]

    def __repr__(self) -> str:
        return f"<batch of {len(self.requests)}: {', '.join(map(repr, self.requests)):.300}>"


@overload
def batch(requests: Iterable[Get[V]]) -> Batch[V | None]: ...
@overload
def batch(requests: Iterable[Put[V]]) -> Batch[V]: ...
@overload
def batch(requests: Iterable[Delete[Any]]) -> Batch[None]: ...
@overload
def batch(requests: Iterable[Get[Any] | Put[Any] | Delete[Any]]) -> Batch[Any]: ...
def batch(requests: Iterable[Get[Any] | Put[Any] | Delete[Any]]) -> Batch[Any]:
    """Join requests that need not take effect together."""
    members = tuple(requests)
    for each in members:
        match each:
            case Get():
                continue
            case Put(schema=schema) | Delete(schema=schema):
                if schema.unique:
                    raise BatchInvalid(
                        f"{schema.name} has unique fields, whose guards a batch would leave behind",
                        "Use create() and delete(), or a transaction.",
                    )
                if each.condition() is not None:
                    raise BatchInvalid(
                        f"{each!r:.200} has a condition, which batches do not take",
                        "Run it alone, or in a transaction.",
                    )
            case _:
                raise BatchInvalid(
                    f"{each!r:.80} cannot be part of one", "It takes gets, puts and deletions."
                )
    return Batch(members)


def _split_reads(members: list[_Placed], now: datetime) -> Iterator[BatchCall]:
    # Requests of one table that want the same of their items share its part of the call.
    groups: dict[str, tuple[dict[str, Any], list[_Placed]]] = {}
    for place, request in members:
        asked = request.to_dynamodb(now=now)
        asked.pop("Key")
        groups.setdefault(repr(asked), (asked, []))[1].append((place, request))
    for asked, group in groups.values():
        table = asked.pop("TableName")
        places: dict[Hashable, list[int]] = {}
        keys: dict[Hashable, Any] = {}
        for place, request in group:
            assert isinstance(request, Get)  # of which the group is
            identity = identify(table, request.key)
            places.setdefault(identity, []).append(place)
            keys[identity] = request.key
        wanted = list(keys)
        for first in range(0, len(wanted), MOST_KEYS):
            chunk = wanted[first : first + MOST_KEYS]
            body = {table: {**asked, "Keys": [keys[each] for each in chunk]}}
            own = {each: places[each] for each in chunk}
            yield BatchCall("BatchGetItem", {"RequestItems": body}, own)


def _split_writes(members: list[_Placed], now: datetime) -> Iterator[BatchCall]:
    body: dict[str, list[dict[str, Any]]] = {}
    places: dict[Hashable, list[int]] = {}
    for place, request in members:
        assert isinstance(request, Put | Delete)  # or it would be a read
        identity = identify(request.table.name, request.item_key)
        # A second write of one item waits for the next call.
        if identity in places or len(places) == MOST_WRITES:
            yield BatchCall("BatchWriteItem", {"RequestItems": body}, places)
            body, places = {}, {}
        places[identity] = [place]
        if isinstance(request, Put):
            write = {"PutRequest": {"Item": request.resolve_item(now)}}
        else:
            write = {"DeleteRequest": {"Key": request.key}}
        body.setdefault(request.table.name, []).append(write)
    yield BatchCall("BatchWriteItem", {"RequestItems": body}, places)
