"""What a run of the program leaves behind, and how a test starts one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Outcome:
    """The exit code, and what was printed."""

    code: int | str | None
    out: str
    err: str


class Run(Protocol):
    """Run `keyfold` with the given arguments."""

    def __call__(self, *arguments: object) -> Outcome: ...
