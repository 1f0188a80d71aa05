"""Backfills: stored items are updated to match the current declaration."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from keyfold.errors import (
    ConditionalCheckFailedException,
    TransactionCanceledException,
    Unavailable,
)
from keyfold.model import Table
from keyfold.model._schemas import ItemMismatch
from keyfold.store._guard_actions import GuardAction, find_guard_actions, unique_values_in
from keyfold.store._guarded_writes import plan_guarded_write
from keyfold.store._item_patches import ItemPatch, find_patch
from keyfold.store._own_items import is_own_item
from keyfold.store._unique_audit import UniqueAudit, UniqueReport
from keyfold.store._unique_marker import guard_names, plan_complete_names
from keyfold.transfer._calls import MeteredCaller
from keyfold.transfer._checkpoints import BatchOutcome, Checkpoint, locked
from keyfold.transfer._entities import Reject
from keyfold.transfer._job import run_segments
from keyfold.transfer._progress import ProgressMeter
from keyfold.transfer._renewals import ItemMove, describe_taken, find_move
from keyfold.transfer._sources import SourceBatch
from keyfold.transfer._transfers import Options, TableLocation, open_source
from keyfold.values import Item, normalise_item, restore_binaries

# How often to retry an item that is changed between its read and its update.
_MAX_READS = 20
_EXAMPLES = 3
_LOOKED_AT, _CHANGED = "looked at", "changed"


@dataclass(frozen=True, slots=True)
class BackfillSummary:
    """The result of a backfill or of a dry run.

    `looked_at` and `changed` count items by entity: all that were read, and those that were out
    of date. `rejects` counts items that match no entity; they were not changed. `examples` has a
    few patches of each entity. `unique` is the result for unique fields whose guards were not
    complete: if several items have one value, it lists them, and nothing was changed.
    """

    table: str
    is_dry: bool
    looked_at: dict[str, int]
    changed: dict[str, int]
    rejects: int
    rejects_file: str | None
    examples: tuple[ItemPatch | ItemMove, ...]
    seconds: float
    read_units: float
    write_units: float
    is_resumed: bool
    unique: UniqueReport | None = None

    @property
    def is_good(self) -> bool:
        """Whether every item matches its entity's declaration, or would after a real run."""
        return self.rejects == 0 and not self.has_duplicates

    @property
    def has_duplicates(self) -> bool:
        """Whether several items have one value of a field that is unique."""
        return self.unique is not None and "duplicate" in self.unique.found

    def to_json(self) -> dict[str, Any]:
        """Return the summary as a JSON object."""
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
            "guards": None if self.unique is None else self.unique.to_json(),
            "ok": self.is_good,
        }


def backfill_table(
    location: TableLocation, declared: Table, options: Options, *, is_dry: bool = False
) -> BackfillSummary:
    """Update the attributes that the declaration would store in another form.

    These are index keys, type attributes, computed fields, defaults, renamed attributes, and those
    that `Entity.upgrade` changes. Only they are written, on the condition that the attributes they
    derive from are unchanged; an item that is changed concurrently is read and checked again. An
    item whose primary key `upgrade` changes is moved, in a transaction; it is rejected if another
    item has its new key.
    Before that, the guards of unique fields that do not have them yet are made; if several items
    have one value, nothing is changed. A dry run writes nothing, not even the rejects file. Raises
    TableMissing, CheckpointUnusable, FileTaken.
    """
    declared.check()
    reader = MeteredCaller(location.executor, options.environment, options.read_rate)
    writer = MeteredCaller(location.executor, options.environment, options.write_rate)
    path = None if is_dry else options.checkpoint
    with locked(path):
        source = open_source(reader, location, options)
        checkpoint = Checkpoint(
            path,
            {"command": "backfill", "declared": declared.name, **source.describe()},
            rejects=None if is_dry else options.rejects,
            started_at=options.environment.clock(),
        )
        monotonic = options.environment.monotonic
        meter = ProgressMeter(monotonic, readers=[reader], writers=[writer], watch=options.watch)
        unique = _complete_guards(location.table, declared, reader, writer, is_dry=is_dry)
        work = _Backfill(location.table, declared, reader, writer, is_dry=is_dry)
        state, earlier = checkpoint.state, checkpoint.state.items
        if not checkpoint.is_resumed:
            # Saved before the first reject: from here on, the rejects file is this job's.
            checkpoint.enter("moving")

        def report() -> None:
            expected = source.expected_items
            meter.report(state, items=state.items, earlier=earlier, expected=expected)

        if is_dry or unique is None or unique.is_good:
            threads = options.segments
            run_segments(source, checkpoint, work.handle, threads=threads, on_batch=report)
        checkpoint.remove()
    return BackfillSummary(
        table=location.table,
        is_dry=is_dry,
        looked_at=_counts(state.counts, _LOOKED_AT),
        changed=_counts(state.counts, _CHANGED),
        rejects=state.rejects,
        rejects_file=str(options.rejects) if state.rejects and not is_dry else None,
        examples=tuple(patch for each in work.examples.values() for patch in each),
        seconds=meter.seconds,
        read_units=meter.read_units,
        write_units=meter.write_units,
        is_resumed=checkpoint.is_resumed,
        unique=unique,
    )


def _complete_guards(
    table: str, declared: Table, reader: MeteredCaller, writer: MeteredCaller, *, is_dry: bool
) -> UniqueReport | None:
    """Make the guards of unique fields that do not have them yet; return the result."""
    if not declared.has_guards:
        return None
    audit = UniqueAudit(reader.plan, declared, table, now=reader.now)
    complete = reader.run(plan_complete_names(reader.plan, declared, table))
    missing = guard_names(declared) - complete
    if not missing:
        return None
    plan = audit.check(missing) if is_dry else audit.complete(missing)
    return reader.run_with(writer, plan)


def _counts(counts: dict[str, int], kind: str) -> dict[str, int]:
    start = f"{kind} "
    found = {name.removeprefix(start): counts[name] for name in counts if name.startswith(start)}
    return dict(sorted(found.items()))


class _Backfill:
    """Handles the batches of a backfill."""

    def __init__(
        self,
        table: str,
        declared: Table,
        reader: MeteredCaller,
        writer: MeteredCaller,
        *,
        is_dry: bool,
    ) -> None:
        self._table, self._declared = table, declared
        self._reader, self._writer, self._is_dry = reader, writer, is_dry
        self._lock = threading.Lock()
        self.examples: dict[str, list[ItemPatch | ItemMove]] = {}

    def handle(self, segment: str, batch: SourceBatch) -> BatchOutcome:  # noqa: ARG002 - one signature
        """Update the items of a batch that are out of date."""
        counts: dict[str, int] = {}
        rejects: list[Reject] = []
        for item in batch.items:
            try:
                found = self._update_item(item)
            except ItemMismatch as error:
                rejects.append(Reject(str(error), item))
                continue
            if found is not None:
                entity, was_changed = found
                for kind in (_LOOKED_AT, _CHANGED)[: 1 + was_changed]:
                    name = f"{kind} {entity}"
                    counts[name] = counts.get(name, 0) + 1
        return BatchOutcome(len(batch.items), batch.size_bytes, rejects=rejects, counts=counts)

    def _update_item(self, item: Item) -> tuple[str, bool] | None:
        """Update one item; return its entity and whether it was out of date.

        Returns None for one of Keyfold's own items, and for one that was deleted.
        """
        for _ in range(_MAX_READS):
            if is_own_item(self._declared, item):
                return None
            move = find_move(self._declared, item)
            entity, patch = (move.entity, move) if move else find_patch(self._declared, item)
            if patch is None:
                return entity, False
            self._keep_example(patch)
            if self._is_dry:
                return entity, True
            if self._move(patch) if isinstance(patch, ItemMove) else self._write(item, patch):
                return entity, True
            # The item was changed or deleted since it was read: derive the patch again.
            read_again = self._read(patch.key)
            if read_again is None:
                return None
            item = read_again
        raise Unavailable("UpdateItem", _MAX_READS, "other writers keep changing the item")

    def _move(self, move: ItemMove) -> bool:
        """Put an item under its new key and delete the old one; return False if it has changed.

        Raises ItemMismatch if another item has the new key.
        """
        try:
            self._writer.call("TransactWriteItems", move.to_request(self._table))
        except TransactionCanceledException as error:
            put, delete = (each["Code"] for each in error.fields["CancellationReasons"])
            if put == "ConditionalCheckFailed" and delete == "None":
                raise ItemMismatch(describe_taken(move)) from None
            if "ConditionalCheckFailed" not in (put, delete):
                raise
            return False
        return True

    def _write(self, item: Item, patch: ItemPatch) -> bool:
        """Apply a patch, with the guards that it moves; return False if the item has changed.

        Raises ItemMismatch if another item has a unique value that the patch would set.
        """
        request = patch.to_request(self._table)
        now = self._writer.now()
        guards = self._find_guards(item, patch, now)
        if not guards:
            try:
                self._writer.call("UpdateItem", request)
            except ConditionalCheckFailedException:
                return False
            return True
        del request["ReturnConsumedCapacity"]
        caller = self._writer
        plan = plan_guarded_write(caller.plan, self._table, {"Update": request}, guards, now)
        outcome = caller.run(plan)
        if outcome.taken is not None:
            raise ItemMismatch(f"another item has the same {outcome.taken}")
        return outcome.is_done

    def _find_guards(self, item: Item, patch: ItemPatch, now: datetime) -> list[GuardAction]:
        schema = self._declared.entities[patch.entity]
        if not schema.unique:
            return []
        patched = {name: item[name] for name in item if name not in patch.removes} | patch.sets
        old, new = (
            unique_values_in(schema, restore_binaries(each), now) for each in (item, patched)
        )
        return list(find_guard_actions(schema, patch.key, old, new))

    def _read(self, key: Item) -> Item | None:
        request = {
            "TableName": self._table,
            "Key": restore_binaries(key),
            "ConsistentRead": True,
            "ReturnConsumedCapacity": "TOTAL",
        }
        found = self._reader.call("GetItem", request).get("Item")
        return None if found is None else normalise_item(found)[0]

    def _keep_example(self, patch: ItemPatch | ItemMove) -> None:
        with self._lock:
            kept = self.examples.setdefault(patch.entity, [])
            if len(kept) < _EXAMPLES and patch not in kept:
                kept.append(patch)
