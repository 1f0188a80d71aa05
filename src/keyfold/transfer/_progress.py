"""How far a job is, for those who watch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from keyfold.transfer._calls import Caller
from keyfold.transfer._checkpoints import State

Phase = Literal["moving", "verifying"]


@dataclass(frozen=True, slots=True)
class Progress:
    """One look at a job.

    Items and bytes count those of earlier runs that it goes on from; the speed and the capacity
    units are this run's. `expected_items` and `seconds_left` are None where nobody can tell.
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


Watch = Callable[[Progress], None]


def ignore(progress: Progress) -> None:
    """Watch nothing."""


class ProgressMeter:
    """Makes the looks at a job."""

    def __init__(
        self,
        clock: Callable[[], float],
        *,
        readers: Sequence[Caller],
        writers: Sequence[Caller],
        watch: Watch,
    ) -> None:
        self._clock, self._watch = clock, watch
        self._readers, self._writers = readers, writers
        self._started_at = self._phase_started_at = clock()
        self._phase: Phase = "moving"

    def begin(self, phase: Phase) -> None:
        """Measure the speed of another phase from now on."""
        self._phase, self._phase_started_at = phase, self._clock()

    @property
    def seconds(self) -> float:
        """How long the job has been running."""
        return self._clock() - self._started_at

    @property
    def read_units(self) -> float:
        """The capacity that reading has taken."""
        return sum(each.units for each in self._readers)

    @property
    def write_units(self) -> float:
        """The capacity that writing has taken."""
        return sum(each.units for each in self._writers)

    def show(
        self, state: State, *, items: int, earlier: int = 0, expected: int | None = None
    ) -> None:
        """Show a job with so many items behind it, some of them from earlier runs."""
        seconds = self._clock() - self._phase_started_at
        speed = (items - earlier) / seconds if seconds > 0 else 0.0
        left = None
        # A table's count of its items is hours old: it may be too small.
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
