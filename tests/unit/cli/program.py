"""The outcome of a run of the program, and the type of the `run` fixture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Outcome:
    """The exit code and the output of a run."""

    code: int | str | None
    out: str
    err: str


class Run(Protocol):
    """Run `keyfold` with the given arguments."""

    def __call__(self, *arguments: object) -> Outcome: ...
