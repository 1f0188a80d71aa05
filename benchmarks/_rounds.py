"""Measurements in rounds: contestants take turns, and a figure is a median with its spread."""

from __future__ import annotations

import gc
import resource
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median, quantiles
from time import perf_counter_ns
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")

_ENOUGH_ROUNDS = 20

# Only Linux counts per thread.
_THREAD: int = getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)


@dataclass(frozen=True, slots=True)
class Figure:
    """A quantity measured in rounds."""

    rounds: Sequence[float]

    @property
    def median(self) -> float:
        """The median of all rounds."""
        return median(self.rounds)

    @property
    def quartiles(self) -> tuple[float, float]:
        """The bounds of the middle half of all rounds."""
        if len(self.rounds) == 1:
            return self.rounds[0], self.rounds[0]
        low, _, high = quantiles(self.rounds, n=4, method="inclusive")
        return low, high


class Target(NamedTuple):
    """The most that a figure may be, or with `is_least` the least that it must be."""

    limit: float
    is_least: bool = False

    def is_met(self, figure: Figure) -> bool:
        """Return whether the median meets the target."""
        found = figure.median
        return found >= self.limit if self.is_least else found <= self.limit


class Round(NamedTuple):
    """What was measured in one round, by contestant.

    A round is calm if no contestant was interrupted: a busy machine takes the processor away now
    and then, and from the slower contestant more often.
    """

    measured: dict[str, Any]
    is_calm: bool


@dataclass(slots=True)
class Row:
    """The measurements of one case, which its labels identify.

    The first contestant of `compared` is divided by the second.
    """

    labels: dict[str, str | int]
    compared: tuple[str, str] = ("", "")
    target: Target | None = None
    unit: str = "us"
    rounds: list[Round] = field(default_factory=list[Round])

    def measure(
        self, number: int, contestants: Mapping[str, Callable[[Stopwatch], float]]
    ) -> dict[str, float]:
        """Measure all contestants once, in another order in each round, and return the figures."""
        stopwatch = Stopwatch()
        measured = {name: contestants[name](stopwatch) for name in rotate([*contestants], number)}
        self.rounds.append(Round(measured, stopwatch.is_calm))
        return measured

    def add(self, measured: Mapping[str, Any]) -> None:
        """Add a round that was measured elsewhere."""
        self.rounds.append(Round(dict(measured), is_calm=True))

    @property
    def contestants(self) -> list[str]:
        """The names of all contestants that were measured."""
        return list(dict.fromkeys(name for each in self.rounds for name in each.measured))

    def figure(self, name: str, read: Callable[[Any], float] = float) -> Figure | None:
        """Return the figure of a contestant; None if it was not measured."""
        found = [read(each[name]) for each in self._rounds_of(name)]
        return Figure(found) if found else None

    def ratio(
        self, compared: tuple[str, str] | None = None, read: Callable[[Any], float] = float
    ) -> Figure | None:
        """Return the ratio of two contestants, from round to round; None if one is missing."""
        one, other = compared or self.compared
        pairs = [(read(each[one]), read(each[other])) for each in self._rounds_of(one, other)]
        # A figure from which another is subtracted may not be positive on a busy machine.
        ratios = [first / second for first, second in pairs if second > 0]
        return Figure(ratios) if ratios else None

    def _rounds_of(self, *names: str) -> list[dict[str, Any]]:
        """Return the calm rounds of these contestants, or all if too few are calm."""
        found = [each for each in self.rounds if each.measured.keys() >= {*names}]
        calm = [each for each in found if each.is_calm]
        return [each.measured for each in (calm if len(calm) >= _ENOUGH_ROUNDS else found)]


class Stopwatch:
    """Times calls, and notes whether the system interrupted one of them."""

    def __init__(self) -> None:
        self.is_calm = True

    def time_run(self, run: Callable[[], object], calls: int) -> float:
        """Return the microseconds of a call, for a function that makes several in a row."""
        switches = _count_switches()
        start = perf_counter_ns()
        run()
        taken = perf_counter_ns() - start
        self.is_calm = self.is_calm and _count_switches() == switches
        return taken / 1_000 / calls

    def time_calls(self, call: Callable[[Any], object], given: Sequence[Any], warm: int) -> float:
        """Return the median microseconds of a call; the first `warm` calls are not counted."""
        taken: list[int] = []
        switches = _count_switches()
        for each in given:
            start = perf_counter_ns()
            call(each)
            taken.append(perf_counter_ns() - start)
        self.is_calm = self.is_calm and _count_switches() == switches
        return median(taken[warm:]) / 1_000


def take_rounds(rounds: int) -> Iterator[int]:
    """Yield the numbers of rounds; garbage is collected between them only.

    A collection during a round would hit a contestant at random, and one right before a measurement
    would empty the processor's caches.
    """
    gc.disable()
    try:
        for number in range(rounds):
            gc.collect()
            yield number
    finally:
        gc.enable()


def rotate(contestants: Sequence[T], number: int) -> list[T]:
    """Return the contestants in the order of a round, so that each is first in turn."""
    turn = number % len(contestants)
    return [*contestants[turn:], *contestants[:turn]]


def _count_switches() -> int:
    """Return the number of involuntary context switches of this thread."""
    return resource.getrusage(_THREAD).ru_nivcsw
