"""Parallel segments: one that fails stops the others after their current batch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keyfold.transfer._checkpoints import BatchOutcome, Checkpoint
from keyfold.transfer._job import run_segments
from keyfold.transfer._sources import SourceBatch


class EndlessSource:
    """A source whose first segment fails at its second batch and whose others never end."""

    segments = ("0", "1", "2")
    expected_items: int | None = None

    def describe(self) -> dict[str, Any]:
        return {}

    def read(self, segment: str, position: Any) -> Iterator[SourceBatch]:
        place = position or 0
        while True:
            if segment == "0" and place == 1:
                raise OSError("torn")
            place += 1
            yield SourceBatch([{"pk": {"S": segment}}], place, 1)


def test_a_failure_stops_all_segments_and_keeps_their_progress(tmp_path: Path) -> None:
    path = tmp_path / "job"
    checkpoint = Checkpoint(path, {}, rejects=None, started_at=0.0)
    handled: list[str] = []

    def handle(segment: str, batch: SourceBatch) -> BatchOutcome:
        handled.append(segment)
        return BatchOutcome(len(batch.items), batch.size_bytes)

    with pytest.raises(OSError, match="torn"):
        run_segments(EndlessSource(), checkpoint, handle, threads=3, on_batch=lambda: None)
    kept = Checkpoint(path, {}, rejects=None, started_at=0.0).state
    assert kept.items == len(handled)
    assert kept.positions["0"] == 1
    assert kept.done == []


def test_all_segments_are_processed_even_with_fewer_threads(tmp_path: Path) -> None:
    class ManySegments(EndlessSource):
        segments = tuple(map(str, range(20)))

        def read(self, segment: str, position: Any) -> Iterator[SourceBatch]:
            yield SourceBatch([{"pk": {"S": segment}}], 1, 1, is_last=True)

    checkpoint = Checkpoint(None, {}, rejects=None, started_at=0.0)
    seen: list[int] = []
    run_segments(
        ManySegments(),
        checkpoint,
        lambda segment, batch: BatchOutcome(1, 1),
        threads=3,
        on_batch=lambda: seen.append(checkpoint.state.items),
    )
    assert sorted(checkpoint.state.done) == sorted(ManySegments.segments)
    assert seen[-1] == checkpoint.state.items == 20
