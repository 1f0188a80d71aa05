"""Progress of a job, reported to a callback."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from keyfold.transfer._calls import MeteredCaller
from keyfold.transfer._checkpoints import State

Phase = Literal["moving", "verifying"]


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a job at one time.

    Items and bytes include those of the interrupted runs that the job resumed; the speed and the
    capacity units are those of this run. `expected_items` and `seconds_left` are None if unknown.
    """

    phase: Phase
    items: int
    size_bytes: int
    rejects: int
    items_per_second: float
    expected_items: int | None
    seconds_left: float | None
    read_units: float
    write_units: float


ProgressCallback = Callable[[Progress], None]


def ignore_progress(progress: Progress) -> None:
    """Do nothing: the default progress callback."""


class ProgressMeter:
    """Measures the progress of a job, and reports it to a callback."""

    def __init__(
        self,
        monotonic: Callable[[], float],
        *,
        readers: Sequence[MeteredCaller],
        writers: Sequence[MeteredCaller],
        watch: ProgressCallback,
    ) -> None:
        self._monotonic, self._watch = monotonic, watch
        self._readers, self._writers = readers, writers
        self._started_at = self._phase_started_at = monotonic()
        self._phase: Phase = "moving"

    def begin(self, phase: Phase) -> None:
        """Begin a phase; its speed is measured from now on."""
        self._phase, self._phase_started_at = phase, self._monotonic()

    @property
    def seconds(self) -> float:
        """How long the job has been running."""
        return self._monotonic() - self._started_at

    @property
    def read_units(self) -> float:
        """The read capacity units consumed."""
        return sum(each.units for each in self._readers)

    @property
    def write_units(self) -> float:
        """The write capacity units consumed."""
        return sum(each.units for each in self._writers)

    def report(
        self, state: State, *, items: int, earlier: int = 0, expected: int | None = None
    ) -> None:
        """Report that `items` are done, `earlier` of them by runs before this one."""
        seconds = self._monotonic() - self._phase_started_at
        speed = (items - earlier) / seconds if seconds > 0 else 0.0
        left = None
        # DescribeTable's ItemCount is hours old, so it may be too small.
        if expected is not None and speed > 0 and expected >= items:
            left = (expected - items) / speed
        self._watch(
            Progress(
                phase=self._phase,
                items=items,
                size_bytes=state.size_bytes,
                rejects=state.rejects,
                items_per_second=speed,
                expected_items=expected,
                seconds_left=left,
                read_units=self.read_units,
                write_units=self.write_units,
            )
        )
