"""Where a declaration stands in its source, for tools that point at it."""

from __future__ import annotations

import sys
from typing import NamedTuple


class SourcePlace(NamedTuple):
    """A line of a source file."""

    file: str
    line: int


def find_caller() -> SourcePlace:
    """Return the place that calls the constructor which calls this function."""
    frame = sys._getframe(2)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - inspect has no cheap way
    return SourcePlace(frame.f_code.co_filename, frame.f_lineno)
