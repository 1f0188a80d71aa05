"""Where items go: a table, or files that appear whole or not at all."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol

from keyfold.errors import ServiceError, TargetNotEmpty, Unavailable
from keyfold.model._keys import identify
from keyfold.store._plans import MOST_ATTEMPTS
from keyfold.transfer._calls import Caller, describe_table
from keyfold.transfer._entities import Reject
from keyfold.transfer._sources import ItemSource, TableSource
from keyfold.values import Item, normalise_item, restore_binaries

_MOST_WRITES = 25


@dataclass(frozen=True, slots=True)
class ClassifiedItem:
    """An item, and the entity that it is of."""

    entity: str
    item: Item


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a batch: what was taken, what was not, and how long the parts are now."""

    taken: Sequence[ClassifiedItem]
    rejects: Sequence[Reject] = ()
    lengths: Mapping[str, int] = field(default_factory=dict[str, int])


class Target(Protocol):
    """Something that items can be written to."""

    def describe(self) -> dict[str, Any]:
        """Return what tells this target from another, as JSON has it."""
        ...

    def check_free(self) -> None:
        """Refuse, by an error, what is there already."""
        ...

    def begin(self, lengths: Mapping[str, int]) -> None:
        """Begin, or go on where a checkpoint says: what was written after it is taken back."""
        ...

    def write(self, segment: str, items: Sequence[ClassifiedItem]) -> Written:
        """Write a batch of one segment."""
        ...

    def finish(self, *, is_repeated: bool) -> None:
        """Make what was written whole; `is_repeated` if an earlier run had begun to."""
        ...

    def read_back(self) -> ItemSource:
        """Return what is there now, to be compared."""
        ...

    def close(self) -> None:
        """Give back what is open; a job that was stopped can be resumed."""
        ...

    def clean_up(self) -> None:
        """Remove what only a job that goes on would need."""
        ...


class TableTarget:
    """A table, written in batches side by side; `checker` reads what is there."""

    def __init__(
        self,
        caller: Caller,
        checker: Caller,
        url: str,
        name: str,
        *,
        segments: int,
        is_merged: bool,
    ) -> None:
        schema = describe_table(checker, url, name)["KeySchema"]
        self._caller, self._checker = caller, checker
        self._url, self._name = url, name
        self._segments, self._is_merged = segments, is_merged
        self._key = [each["AttributeName"] for each in schema]
        # A chunk is written at once, so within a rate it has no more than that can pay for.
        self._chunk = _MOST_WRITES if caller.rate is None else max(1, int(caller.rate))
        self._chunk = min(self._chunk, _MOST_WRITES)
        self._threads = ThreadPoolExecutor(segments, "keyfold-write")

    def describe(self) -> dict[str, Any]:
        """Return what tells this target from another."""
        return {"target": self._url, "to_table": self._name}

    def check_free(self) -> None:
        """Refuse a table that holds items, unless it is to be merged into."""
        if self._is_merged:
            return
        request = {"TableName": self._name, "ConsistentRead": True, "Limit": 1}
        if self._checker.call("Scan", request)["Items"]:
            raise TargetNotEmpty(self._url, self._name)

    def begin(self, lengths: Mapping[str, int]) -> None:
        """Do nothing: an item that is written once more is the same item."""

    def write(self, segment: str, items: Sequence[ClassifiedItem]) -> Written:  # noqa: ARG002 - one signature
        """Write a batch; what the service does not take comes back with its words."""
        taken: list[ClassifiedItem] = []
        rejects: list[Reject] = []
        for different in _split_by_key(items, self._name, self._key):
            chunks = [
                different[place : place + self._chunk]
                for place in range(0, len(different), self._chunk)
            ]
            for written in self._threads.map(self._write_chunk, chunks):
                taken += written.taken
                rejects += written.rejects
        return Written(taken, rejects)

    def _write_chunk(self, items: Sequence[ClassifiedItem]) -> Written:
        wanted: list[Any] = [
            {"PutRequest": {"Item": restore_binaries(each.item)}} for each in items
        ]
        try:
            self._write_all(wanted)
        except ServiceError as error:
            if error.type != "ValidationException":
                raise
            # One of them is at fault: those that are not need not suffer for it.
            return self._write_singly(items)
        return Written(items)

    def _write_all(self, wanted: list[Any]) -> None:
        idle = calls = 0
        while True:
            request = {"RequestItems": {self._name: wanted}, "ReturnConsumedCapacity": "TOTAL"}
            response = self._caller.call("BatchWriteItem", request)
            calls += 1
            left: list[Any] = response.get("UnprocessedItems", {}).get(self._name, [])
            if not left:
                return
            idle = idle + 1 if len(left) >= len(wanted) else 1
            if idle == MOST_ATTEMPTS:
                raise Unavailable("BatchWriteItem", calls, f"{len(left)} of its members are left")
            wanted = left
            self._caller.pause(idle)

    def _write_singly(self, items: Sequence[ClassifiedItem]) -> Written:
        taken: list[ClassifiedItem] = []
        rejects: list[Reject] = []
        for each in items:
            request = {
                "TableName": self._name,
                "Item": restore_binaries(each.item),
                "ReturnConsumedCapacity": "TOTAL",
            }
            try:
                self._caller.call("PutItem", request)
            except ServiceError as error:
                if error.type != "ValidationException":
                    raise
                rejects.append(Reject(error.message, each.item))
            else:
                taken.append(each)
        return Written(taken, rejects)

    def finish(self, *, is_repeated: bool) -> None:
        """Do nothing more: each batch was there when it was written."""

    def read_back(self) -> ItemSource:
        """Return the table, to be scanned."""
        return TableSource(self._checker, self._url, self._name, segments=self._segments)

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown()

    def clean_up(self) -> None:
        """Remove nothing: there is nothing but the table."""


def _split_by_key(
    items: Sequence[ClassifiedItem], table: str, key: Sequence[str]
) -> Iterator[list[ClassifiedItem]]:
    """Split items so that no two of one key are together, since no batch may have them."""
    group: list[ClassifiedItem] = []
    seen: set[Hashable] = set()
    for each in items:
        found = {name: each.item[name] for name in key if name in each.item}
        identity = identify(table, normalise_item(found)[0])
        if identity in seen:
            yield group
            group, seen = [], set()
        group.append(each)
        seen.add(identity)
    if group:
        yield group
