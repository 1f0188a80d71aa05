"""Targets that items are written to: the protocol, and tables; files are in `_files`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol

from keyfold.errors import ServiceError, TargetNotEmpty, WriteRefused
from keyfold.model import Table
from keyfold.model._schemas import EntitySchema
from keyfold.store._guarded_writes import find_invalid, plan_guarded_put
from keyfold.store._unique_marker import complete_names, find_marker
from keyfold.transfer._calls import MeteredCaller, describe_table
from keyfold.transfer._entities import Reject
from keyfold.transfer._sources import ItemSource, TableSource
from keyfold.values import Item, normalise_item, restore_binaries, to_json

_MAX_WRITES = 25


@dataclass(frozen=True, slots=True)
class ClassifiedItem:
    """An item and the name of its entity."""

    entity: str
    item: Item


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The result of writing a batch: the items accepted, the rejects, the part files' lengths."""

    accepted: Sequence[ClassifiedItem]
    rejects: Sequence[Reject] = ()
    lengths: Mapping[str, int] = field(default_factory=dict[str, int])


class Target(Protocol):
    """Something that items can be written to: a table, a file or a folder.

    `keeps_guards` if the guards of unique fields are written like other items. Otherwise they are
    left out, because they follow from the items.
    """

    @property
    def keeps_guards(self) -> bool:
        """Whether the guards of unique fields are written like other items."""
        ...

    def describe(self) -> dict[str, Any]:
        """Return what identifies this target, as a JSON object; checkpoints keep it."""
        ...

    def check_free(self) -> None:
        """Raise an error if the target already has content."""
        ...

    def begin(self, lengths: Mapping[str, int]) -> None:
        """Begin, or resume from a checkpoint: anything written after it is undone."""
        ...

    def write(self, segment: str, items: Sequence[ClassifiedItem]) -> WriteResult:
        """Write a batch of one segment."""
        ...

    def finish(self, *, is_repeated: bool) -> None:
        """Complete the target; `is_repeated` if an earlier run had already begun to."""
        ...

    def read_back(self) -> ItemSource:
        """Return a source that reads the target's content, for the comparison."""
        ...

    def close(self) -> None:
        """Release threads and open files; an interrupted job can still be resumed."""
        ...

    def clean_up(self) -> None:
        """Remove what only a resumed job would need."""
        ...


class TableTarget:
    """A table, written in parallel batches; `checker` makes the calls that read it.

    With a declaration, items of entities with unique fields are written together with their
    guards, in transactions.
    """

    def __init__(
        self,
        caller: MeteredCaller,
        checker: MeteredCaller,
        url: str,
        name: str,
        *,
        segments: int,
        is_merged: bool,
        declared: Table | None,
    ) -> None:
        described = describe_table(checker, url, name)
        schema = described["KeySchema"]
        self._caller, self._checker, self._declared = caller, checker, declared
        self._marker = find_marker(described)
        self._url, self._name = url, name
        self._segments, self._is_merged = segments, is_merged
        self._key = [each["AttributeName"] for each in schema]
        # A chunk is one call; under a rate limit it has at most `rate` items, a second's worth.
        self._chunk = _MAX_WRITES if caller.rate is None else max(1, int(caller.rate))
        self._chunk = min(self._chunk, _MAX_WRITES)
        self._threads = ThreadPoolExecutor(segments, "keyfold-write")

    def describe(self) -> dict[str, Any]:
        """Return the database and the table."""
        return {"target": self._url, "to_table": self._name}

    @property
    def keeps_guards(self) -> bool:
        """Whether guards are written like other items: only where no declaration says what is one."""
        return self._declared is None

    def check_free(self) -> None:
        """Raise TargetNotEmpty if the table holds items, unless merging is allowed.

        Raises WriteRefused for a table that keeps values unique, if there is no declaration.
        """
        if self._declared is None and self._marker is not None:
            request = {"TableName": self._name, "Key": self._marker, "ConsistentRead": True}
            names = complete_names(self._checker.call("GetItem", request).get("Item"))
            if names:
                fact = f"it keeps {', '.join(sorted(names))} unique, which needs the declaration"
                raise WriteRefused(self._name, fact, "Give it with --table.")
        if self._is_merged:
            return
        request = {"TableName": self._name, "ConsistentRead": True, "Limit": 2}
        found: list[Item] = self._checker.call("Scan", request)["Items"]
        if any({name: item[name] for name in self._key} != self._marker for item in found):
            raise TargetNotEmpty(self._url, self._name)

    def begin(self, lengths: Mapping[str, int]) -> None:
        """Do nothing: writing an item again is idempotent."""

    def write(self, segment: str, items: Sequence[ClassifiedItem]) -> WriteResult:  # noqa: ARG002 - one signature
        """Write a batch; items the service refuses become rejects with its message."""
        accepted: list[ClassifiedItem] = []
        rejects: list[Reject] = []
        for different in _split_by_key(items, self._key):
            chunks = [
                different[offset : offset + self._chunk]
                for offset in range(0, len(different), self._chunk)
            ]
            for written in self._threads.map(self._write_chunk, chunks):
                accepted += written.accepted
                rejects += written.rejects
        return WriteResult(accepted, rejects)

    def _write_chunk(self, items: Sequence[ClassifiedItem]) -> WriteResult:
        plain: list[ClassifiedItem] = []
        results: list[WriteResult] = []
        for each in items:
            schema = self._find_unique(each)
            if schema is None:
                plain.append(each)
            else:
                results.append(self._write_guarded(schema, each))
        if plain:
            results.append(self._write_batch(plain))
        return WriteResult(
            [each for result in results for each in result.accepted],
            [each for result in results for each in result.rejects],
        )

    def _find_unique(self, each: ClassifiedItem) -> EntitySchema | None:
        """Return the schema of an item if it has unique fields."""
        if self._declared is None:
            return None
        schema = self._declared.entities.get(each.entity)
        return schema if schema is not None and schema.unique else None

    def _write_guarded(self, schema: EntitySchema, each: ClassifiedItem) -> WriteResult:
        caller, item = self._caller, restore_binaries(each.item)
        try:
            taken = caller.run(
                plan_guarded_put(caller.plan, schema, self._name, item, caller.now())
            )
        except ServiceError as error:
            reason = find_invalid(error)
            if reason is None:
                raise
            return WriteResult([], [Reject(reason, each.item)])
        if taken is None:
            return WriteResult([each])
        return WriteResult([], [Reject(f"another item has the same {taken}", each.item)])

    def _write_batch(self, items: Sequence[ClassifiedItem]) -> WriteResult:
        wanted: list[Any] = [
            {"PutRequest": {"Item": restore_binaries(each.item)}} for each in items
        ]
        try:
            self._caller.call_batch("BatchWriteItem", {self._name: wanted})
        except ServiceError as error:
            if error.type != "ValidationException":
                raise
            # One invalid item fails the whole batch: write singly to accept the valid ones.
            return self._write_singly(items)
        return WriteResult(items)

    def _write_singly(self, items: Sequence[ClassifiedItem]) -> WriteResult:
        accepted: list[ClassifiedItem] = []
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
                accepted.append(each)
        return WriteResult(accepted, rejects)

    def finish(self, *, is_repeated: bool) -> None:
        """Do nothing: every batch took effect when it was written."""

    def read_back(self) -> ItemSource:
        """Return a source that scans the table."""
        return TableSource(self._checker, self._url, self._name, segments=self._segments)

    def close(self) -> None:
        """Stop the writer threads."""
        self._threads.shutdown()

    def clean_up(self) -> None:
        """Do nothing: a table has no temporary files."""


def _split_by_key(
    items: Sequence[ClassifiedItem], key: Sequence[str]
) -> Iterator[list[ClassifiedItem]]:
    """Split items into groups with distinct keys: BatchWriteItem refuses duplicate keys."""
    group: list[ClassifiedItem] = []
    seen: set[bytes] = set()
    for each in items:
        key_item = {name: each.item[name] for name in key if name in each.item}
        # Any value can be hashed as JSON. The service refuses those that cannot be keys.
        identity = to_json(normalise_item(key_item)[0])
        if identity in seen:
            yield group
            group, seen = [], set()
        group.append(each)
        seen.add(identity)
    if group:
        yield group
