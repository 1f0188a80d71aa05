"""The job: from a source to a target, segment by segment, side by side."""

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

Handle = Callable[[str, SourceBatch], BatchOutcome]


@dataclass(frozen=True, slots=True)
class Summary:
    """How a job has ended.

    `items` and `rejects` count those of the runs that it went on from; `seconds` and the
    capacity units are those of the last one. `comparisons` is empty if nobody compared.
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

    @property
    def is_good(self) -> bool:
        """Whether every item was taken, and is where it should be."""
        return self.rejects == 0 and not any(each.is_wrong for each in self.comparisons)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "table": self.table,
            "items": self.items,
            "entities": self.entities,
            "bytes": self.size_bytes,
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
    handle: Handle,
    *,
    threads: int,
    on_batch: Callable[[], None],
) -> None:
    """Handle every batch that is left; the first failure stops all segments after their batch."""
    stopped = threading.Event()
    shown = threading.Lock()
    state = checkpoint.state

    def run(segment: str) -> None:
        for batch in source.read(segment, state.positions.get(segment)):
            if stopped.is_set():
                return
            outcome = handle(segment, batch)
            checkpoint.record(segment, batch.position, outcome, is_last=batch.is_last)
            with shown:
                on_batch()

    left = [segment for segment in source.segments if segment not in state.done]
    with ThreadPoolExecutor(max(1, min(threads, len(left))), "keyfold-segment") as pool:
        running = [pool.submit(run, segment) for segment in left]
        try:
            finished, _ = wait(running, return_when=FIRST_EXCEPTION)
        except BaseException:
            # Ctrl-C: what was read is finished, and the checkpoint is that of the last batch.
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
class Move:
    """A job that takes items from a source to a target."""

    source: ItemSource
    target: Target
    classifier: Classifier
    checkpoint: Checkpoint
    meter: ProgressMeter
    threads: int
    is_merged: bool
    verifies: bool
    keeps: bool = False
    # Items of other entities are left where they are.
    only: str | None = None

    def run(self) -> tuple[EntityComparison, ...]:
        """Do what is left of the job, and return how source and target compare in the end."""
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
            if not self.keeps:
                checkpoint.remove()
        finally:
            self.target.close()
        return comparisons

    def _move(self) -> None:
        checkpoint, source = self.checkpoint, self.source
        if not checkpoint.is_resumed:
            self.target.check_free()
            # Kept before anything is written: what is found there later is this job's.
            checkpoint.enter("moving")
        self.target.begin(checkpoint.state.lengths)
        state, earlier = checkpoint.state, checkpoint.state.items

        def show() -> None:
            self.meter.show(
                state, items=state.items, earlier=earlier, expected=source.expected_items
            )

        run_segments(source, checkpoint, self._handle, threads=self.threads, on_batch=show)

    def _handle(self, segment: str, batch: SourceBatch) -> BatchOutcome:
        accepted: list[ClassifiedItem] = []
        rejects = list(batch.rejects)
        for item in batch.items:
            try:
                entity = self.classifier.name_entity(item)
            except ItemMismatch as error:
                rejects.append(Reject(str(error), item))
                continue
            if self.only is None or entity == self.only:
                accepted.append(ClassifiedItem(entity, item))
        written = self.target.write(segment, accepted)
        tallies = Tallies()
        for each in written.taken:
            self.classifier.count(tallies, each.entity, each.item)
        return BatchOutcome(
            items=len(written.taken),
            size_bytes=batch.size_bytes,
            tallies=tallies,
            lengths=written.lengths,
            rejects=[*rejects, *written.rejects],
        )

    def _verify(self) -> tuple[EntityComparison, ...]:
        self.meter.begin("verifying")
        source, state = self.target.read_back(), self.checkpoint.state
        held = Tallies()
        lock, stopped = threading.Lock(), threading.Event()
        count = 0

        def look(segment: str) -> None:
            nonlocal count
            for batch in source.read(segment, None):
                if stopped.is_set():
                    return
                found = Tallies()
                for item in batch.items:
                    self.classifier.count_held(found, item)
                with lock:
                    held.merge(found)
                    count += len(batch.items)
                    self.meter.show(state, items=count, expected=state.items)

        with ThreadPoolExecutor(self.threads, "keyfold-verify") as pool:
            looking = [pool.submit(look, segment) for segment in source.segments]
            try:
                for each in looking:
                    each.result()
            except BaseException:
                stopped.set()
                raise
        return tuple(compare(state.tallies, held, is_merged=self.is_merged))
