"""Transfer jobs: items go from a source to a target, with segments in parallel."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from keyfold.model._schemas import ItemMismatch
from keyfold.transfer._checkpoints import BatchOutcome, Checkpoint
from keyfold.transfer._entities import Classifier, Reject
from keyfold.transfer._progress import ProgressMeter
from keyfold.transfer._sources import ItemSource, SourceBatch
from keyfold.transfer._tallies import EntityComparison, Tallies, compare
from keyfold.transfer._targets import ClassifiedItem, Target
from keyfold.values import Item

# The count of items that were brought up to date, in a checkpoint.
RENEWED = "renewed"

BatchHandler = Callable[[str, SourceBatch], BatchOutcome]


@dataclass(frozen=True, slots=True)
class Summary:
    """The result of a job.

    `items` and `rejects` include those of the interrupted runs that the job resumed; `seconds`
    and the capacity units are those of the last run. `comparisons` is empty if source and target
    were not compared. `renewed` counts the items that were not in the form of their declaration,
    and were brought into it.
    """

    table: str
    items: int
    size_bytes: int
    rejects: int
    rejects_file: str | None
    seconds: float
    read_units: float
    write_units: float
    is_resumed: bool
    comparisons: tuple[EntityComparison, ...]
    entities: dict[str, int]
    renewed: int = 0

    @property
    def is_good(self) -> bool:
        """Whether no item was rejected and no comparison failed."""
        return self.rejects == 0 and not any(each.is_wrong for each in self.comparisons)

    def to_json(self) -> dict[str, Any]:
        """Return the summary as a JSON object."""
        return {
            "table": self.table,
            "items": self.items,
            "entities": self.entities,
            "bytes": self.size_bytes,
            "renewed": self.renewed,
            "rejected": self.rejects,
            "rejects_file": self.rejects_file,
            "seconds": round(self.seconds, 3),
            "read_units": self.read_units,
            "write_units": self.write_units,
            "resumed": self.is_resumed,
            "verified": {each.entity: each.to_json() for each in self.comparisons} or None,
            "ok": self.is_good,
        }


def run_segments(
    source: ItemSource,
    checkpoint: Checkpoint,
    handle: BatchHandler,
    *,
    threads: int,
    on_batch: Callable[[], None],
) -> None:
    """Handle every remaining batch; a failure stops every segment after its current batch."""
    stopped = threading.Event()
    report_lock = threading.Lock()
    state = checkpoint.state

    def run(segment: str) -> None:
        for batch in source.read(segment, state.positions.get(segment)):
            if stopped.is_set():
                return
            outcome = handle(segment, batch)
            checkpoint.record(segment, batch.position, outcome, is_last=batch.is_last)
            with report_lock:
                on_batch()

    left = [segment for segment in source.segments if segment not in state.done]
    with ThreadPoolExecutor(max(1, min(threads, len(left))), "keyfold-segment") as pool:
        running = [pool.submit(run, segment) for segment in left]
        try:
            finished, _ = wait(running, return_when=FIRST_EXCEPTION)
        except BaseException:
            # Ctrl-C: batches already read are finished, so the checkpoint ends after a whole batch.
            stopped.set()
            raise
        if any(each.exception() for each in finished):
            stopped.set()
            for each in running:
                each.cancel()
    for each in running:
        if not each.cancelled():
            each.result()


@dataclass(frozen=True, slots=True)
class TransferJob:
    """A job that transfers items from a source to a target."""

    source: ItemSource
    target: Target
    classifier: Classifier
    checkpoint: Checkpoint
    meter: ProgressMeter
    threads: int
    is_merged: bool
    verifies: bool
    keeps_checkpoint: bool = False
    # Transfer the items of this entity only.
    only: str | None = None

    def run(self) -> tuple[EntityComparison, ...]:
        """Run the job from its checkpoint, and return the comparison of source and target."""
        checkpoint, state = self.checkpoint, self.checkpoint.state
        try:
            if state.phase == "moving":
                self._move()
                checkpoint.enter("joining")
                self.target.finish(is_repeated=False)
                checkpoint.enter("whole")
            elif state.phase == "joining":
                self.target.finish(is_repeated=True)
                checkpoint.enter("whole")
            comparisons = self._verify() if self.verifies else ()
            self.target.clean_up()
            if not self.keeps_checkpoint:
                checkpoint.remove()
        finally:
            self.target.close()
        return comparisons

    def _move(self) -> None:
        checkpoint, source = self.checkpoint, self.source
        if not checkpoint.is_resumed:
            self.target.check_free()
            # Saved before anything is written: from here on, items in the target are this job's.
            checkpoint.enter("moving")
        self.target.begin(checkpoint.state.lengths)
        state, earlier = checkpoint.state, checkpoint.state.items

        def report() -> None:
            self.meter.report(
                state, items=state.items, earlier=earlier, expected=source.expected_items
            )

        run_segments(source, checkpoint, self._handle, threads=self.threads, on_batch=report)

    def _handle(self, segment: str, batch: SourceBatch) -> BatchOutcome:
        classified: list[ClassifiedItem] = []
        rejects = list(batch.rejects)
        changed = 0
        for item in batch.items:
            if self._is_left_out(item):
                continue
            try:
                entity, renewed = self.classifier.classify(item)
            except ItemMismatch as error:
                rejects.append(Reject(str(error), item))
                continue
            if self.only is None or entity == self.only:
                classified.append(ClassifiedItem(entity, renewed))
                changed += renewed is not item
        written = self.target.write(segment, classified)
        tallies = Tallies()
        for each in written.accepted:
            self.classifier.count(tallies, each.entity, each.item)
        return BatchOutcome(
            items=len(written.accepted),
            size_bytes=batch.size_bytes,
            tallies=tallies,
            lengths=written.lengths,
            rejects=[*rejects, *written.rejects],
            counts={RENEWED: changed} if changed else {},
        )

    def _is_left_out(self, item: Item) -> bool:
        """Return whether an item is not transferred: one of Keyfold's own that the target cannot use."""
        return self.classifier.is_request_record(item) or (
            not self.target.keeps_guards and self.classifier.is_guard(item)
        )

    def _verify(self) -> tuple[EntityComparison, ...]:
        self.meter.begin("verifying")
        source, state = self.target.read_back(), self.checkpoint.state
        held = Tallies()
        lock, stopped = threading.Lock(), threading.Event()
        count = 0

        def count_segment(segment: str) -> None:
            nonlocal count
            for batch in source.read(segment, None):
                if stopped.is_set():
                    return
                found = Tallies()
                for item in batch.items:
                    if not self._is_left_out(item):
                        self.classifier.count_held(found, item)
                with lock:
                    held.merge(found)
                    count += len(batch.items)
                    self.meter.report(state, items=count, expected=state.items)

        with ThreadPoolExecutor(self.threads, "keyfold-verify") as pool:
            futures = [pool.submit(count_segment, segment) for segment in source.segments]
            try:
                for each in futures:
                    each.result()
            except BaseException:
                stopped.set()
                raise
        return tuple(compare(state.tallies, held, is_merged=self.is_merged))
