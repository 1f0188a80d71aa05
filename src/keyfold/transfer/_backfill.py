"""Bringing stored items up to date with what is declared of them."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

from keyfold.errors import ConditionalCheckFailedException, Unavailable
from keyfold.model import Table
from keyfold.model._schemas import ItemMismatch
from keyfold.transfer._calls import Caller
from keyfold.transfer._changes import ItemPatch, find_change, is_of_no_entity
from keyfold.transfer._checkpoints import BatchOutcome, Checkpoint, locked
from keyfold.transfer._entities import Reject
from keyfold.transfer._job import run_segments
from keyfold.transfer._moves import Options, TableLocation, open_source
from keyfold.transfer._progress import ProgressMeter
from keyfold.transfer._sources import SourceBatch
from keyfold.values import Item, normalise_item, restore_binaries

# So often, an item is read again that was changed while it was looked at.
_MOST_LOOKS = 20
_EXAMPLES = 3
_LOOKED_AT, _CHANGED = "looked at", "changed"


@dataclass(frozen=True, slots=True)
class BackfillSummary:
    """How a backfill has ended, or would: how many items of each entity there are, and were stale.

    `rejects` were left as they are, since they fit no entity. `examples` has a few changes of
    each entity.
    """

    table: str
    is_dry: bool
    looked_at: dict[str, int]
    changed: dict[str, int]
    rejects: int
    rejects_file: str | None
    examples: tuple[ItemPatch, ...]
    seconds: float
    read_units: float
    write_units: float
    is_resumed: bool

    @property
    def is_good(self) -> bool:
        """Whether every item fits its declaration now, or would."""
        return self.rejects == 0

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "table": self.table,
            "dry_run": self.is_dry,
            "looked_at": self.looked_at,
            "changed": self.changed,
            "rejected": self.rejects,
            "rejects_file": self.rejects_file,
            "examples": [each.to_json() for each in self.examples],
            "seconds": round(self.seconds, 3),
            "read_units": self.read_units,
            "write_units": self.write_units,
            "resumed": self.is_resumed,
            "ok": self.is_good,
        }


def backfill_table(
    place: TableLocation, declared: Table, options: Options, *, is_dry: bool = False
) -> BackfillSummary:
    """Rewrite the index keys, type attributes and defaults that are not as declared.

    Only those attributes are written, and only while what they were derived from is unchanged;
    an item that somebody else changes at the same time is looked at again. A dry run writes
    nothing, no side file either. Raises TableMissing, CheckpointUnusable, FileTaken.
    """
    declared.check()
    reader = Caller(place.executor, options.surroundings, options.read_rate)
    writer = Caller(place.executor, options.surroundings, options.write_rate)
    path = None if is_dry else options.checkpoint
    with locked(path):
        source = open_source(reader, place, options)
        checkpoint = Checkpoint(
            path,
            {"command": "backfill", "declared": declared.name, **source.describe()},
            rejects=None if is_dry else options.rejects,
            started_at=options.surroundings.now(),
        )
        clock = options.surroundings.clock
        meter = ProgressMeter(clock, readers=[reader], writers=[writer], watch=options.watch)
        work = _Backfill(place.table, declared, reader, writer, is_dry=is_dry)
        state, earlier = checkpoint.state, checkpoint.state.items
        if not checkpoint.is_resumed:
            # Before the first reject: what is found in the side file later is this job's.
            checkpoint.enter("moving")

        def show() -> None:
            expected = source.expected_items
            meter.show(state, items=state.items, earlier=earlier, expected=expected)

        threads = options.segments
        run_segments(source, checkpoint, work.handle, threads=threads, on_batch=show)
        checkpoint.remove()
    return BackfillSummary(
        table=place.table,
        is_dry=is_dry,
        looked_at=_counts(state.counts, _LOOKED_AT),
        changed=_counts(state.counts, _CHANGED),
        rejects=state.rejects,
        rejects_file=str(options.rejects) if state.rejects and not is_dry else None,
        examples=tuple(change for each in work.examples.values() for change in each),
        seconds=meter.seconds,
        read_units=meter.read_units,
        write_units=meter.write_units,
        is_resumed=checkpoint.is_resumed,
    )


def _counts(counts: dict[str, int], kind: str) -> dict[str, int]:
    start = f"{kind} "
    found = {name.removeprefix(start): counts[name] for name in counts if name.startswith(start)}
    return dict(sorted(found.items()))


class _Backfill:
    """What is done with each batch."""

    def __init__(
        self, table: str, declared: Table, reader: Caller, writer: Caller, *, is_dry: bool
    ) -> None:
        self._table, self._declared = table, declared
        self._reader, self._writer, self._is_dry = reader, writer, is_dry
        self._lock = threading.Lock()
        self.examples: dict[str, list[ItemPatch]] = {}

    def handle(self, segment: str, batch: SourceBatch) -> BatchOutcome:  # noqa: ARG002 - one signature
        """Bring the items of a batch up to date."""
        counts: dict[str, int] = {}
        rejects: list[Reject] = []
        for item in batch.items:
            try:
                found = self._renew(item)
            except ItemMismatch as error:
                rejects.append(Reject(str(error), item))
                continue
            if found is not None:
                entity, was_changed = found
                for kind in (_LOOKED_AT, _CHANGED)[: 1 + was_changed]:
                    name = f"{kind} {entity}"
                    counts[name] = counts.get(name, 0) + 1
        return BatchOutcome(len(batch.items), batch.size_bytes, rejects=rejects, counts=counts)

    def _renew(self, item: Item) -> tuple[str, bool] | None:
        """Bring one item up to date; return its entity and whether it was not, None if it is none."""
        for _ in range(_MOST_LOOKS):
            if is_of_no_entity(self._declared, item):
                return None
            entity, change = find_change(self._declared, item)
            if change is None:
                return entity, False
            self._keep_example(change)
            if self._is_dry:
                return entity, True
            try:
                self._writer.call("UpdateItem", change.to_request(self._table))
            except ConditionalCheckFailedException:
                # Somebody has changed or deleted it since: what is to be done is decided anew.
                read_again = self._read(change.key)
                if read_again is None:
                    return None
                item = read_again
            else:
                return entity, True
        raise Unavailable("UpdateItem", _MOST_LOOKS, "others keep changing the item at once")

    def _read(self, key: Item) -> Item | None:
        request = {
            "TableName": self._table,
            "Key": restore_binaries(key),
            "ConsistentRead": True,
            "ReturnConsumedCapacity": "TOTAL",
        }
        found = self._reader.call("GetItem", request).get("Item")
        return None if found is None else normalise_item(found)[0]

    def _keep_example(self, change: ItemPatch) -> None:
        with self._lock:
            kept = self.examples.setdefault(change.entity, [])
            if len(kept) < _EXAMPLES and change not in kept:
                kept.append(change)
