"""Batches: any number of independent gets, puts and deletes, in as few API calls as possible."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any, Generic, TypeVar, overload

from keyfold.errors import BatchInvalid
from keyfold.model._calls import ApiCall, Calls
from keyfold.model._keys import TableLike, identify
from keyfold.model._reads import Get
from keyfold.model._requests import Chain, Request, resolve_now
from keyfold.model._writes import Delete, Put

V = TypeVar("V")
W = TypeVar("W")

MAX_KEYS = 100
MAX_WRITES = 25

_Member = Get[Any] | Put[Any] | Delete[Any]
# A request with its position in the batch.
_Positioned = tuple[int, _Member]


@dataclass(frozen=True, slots=True)
class Batch(Request[list[V]], Generic[V]):
    """Any number of gets, puts and deletes, each of which takes effect independently.

    Running it returns a list in the order of the requests: the entities that were read or
    written, None for deletes and for entities that do not exist.
    """

    requests: tuple[_Member, ...]

    @property
    def tables(self) -> tuple[TableLike, ...]:
        return tuple(dict.fromkeys(each.table for each in self.requests))

    def calls(self, now: datetime) -> Calls:
        """Return the API calls of the batch in the order in which to make them."""
        return tuple(self._split(now))

    def _split(self, now: datetime) -> Iterator[ApiCall]:
        positioned: list[_Positioned] = list(enumerate(self.requests))
        for is_read, group in groupby(positioned, lambda each: isinstance(each[1], Get)):
            members = list(group)
            yield from _split_reads(members, now) if is_read else _split_writes(members, now)

    def then(self, make: Callable[[list[V]], Request[W]]) -> Chain[W]:
        """Return a chain that runs this batch, then the request that `make` returns for its results."""
        return Chain(self, make)

    def to_dynamodb(self, *, now: datetime | None = None) -> list[dict[str, Any]]:
        """Return the bodies of the BatchGetItem and BatchWriteItem calls, in order."""
        return [call.request for call in self.calls(resolve_now(now))]

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
    """Combine gets, puts and deletes that may take effect independently.

    Raises BatchInvalid for requests that have conditions, for writes of entities with unique
    fields, and for deletes of entities whose keys other entities can have.
    """
    members = tuple(requests)
    for each in members:
        match each:
            case Get():
                continue
            case Put(schema=schema) | Delete(schema=schema):
                if schema.unique:
                    raise BatchInvalid(
                        f"{schema.name} has unique fields, whose guard items a batch cannot write",
                        "Run each write alone, or in a transaction.",
                    )
                if isinstance(each, Delete) and each.other_entities() is not None:
                    raise BatchInvalid(
                        f"other entities can have the key of a {schema.name}, so its deletes have "
                        "a condition, which batches do not take",
                        "Run each delete alone, or in a transaction.",
                    )
                if each.condition() is not None:
                    raise BatchInvalid(
                        f"{each!r:.200} has a condition, which batches do not take",
                        "Run it alone, or in a transaction.",
                    )
            case _:
                raise BatchInvalid(
                    f"{each!r:.80} cannot be part of one", "It takes gets, puts and deletes."
                )
    return Batch(members)


def _split_reads(members: list[_Positioned], now: datetime) -> Iterator[ApiCall]:
    # A call has one set of parameters per table, so requests with the same ones go together.
    groups: dict[str, tuple[dict[str, Any], list[_Positioned]]] = {}
    for position, request in members:
        parameters = request.to_dynamodb(now=now)
        parameters.pop("Key")
        groups.setdefault(repr(parameters), (parameters, []))[1].append((position, request))
    for parameters, group in groups.values():
        table = parameters.pop("TableName")
        positions: dict[Hashable, list[int]] = {}
        keys: dict[Hashable, Any] = {}
        for position, request in group:
            assert isinstance(request, Get)  # a group of reads
            identity = identify(table, request.key)
            positions.setdefault(identity, []).append(position)
            keys[identity] = request.key
        wanted = list(keys)
        for first in range(0, len(wanted), MAX_KEYS):
            chunk = wanted[first : first + MAX_KEYS]
            body = {table: {**parameters, "Keys": [keys[each] for each in chunk]}}
            chunk_positions = {each: positions[each] for each in chunk}
            yield ApiCall("BatchGetItem", {"RequestItems": body}, positions=chunk_positions)


def _split_writes(members: list[_Positioned], now: datetime) -> Iterator[ApiCall]:
    body: dict[str, list[dict[str, Any]]] = {}
    positions: dict[Hashable, list[int]] = {}
    for position, request in members:
        assert isinstance(request, Put | Delete)  # a group of writes
        identity = identify(request.table.name, request.item_key)
        # BatchWriteItem rejects two writes of one item: the second goes into the next call.
        if identity in positions or len(positions) == MAX_WRITES:
            yield ApiCall("BatchWriteItem", {"RequestItems": body}, positions=positions)
            body, positions = {}, {}
        positions[identity] = [position]
        if isinstance(request, Put):
            write = {"PutRequest": {"Item": request.resolve_item(now)}}
        else:
            write = {"DeleteRequest": {"Key": request.key}}
        body.setdefault(request.table.name, []).append(write)
    yield ApiCall("BatchWriteItem", {"RequestItems": body}, positions=positions)
