"""Looking at a folder before and after, byte for byte."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file of a folder that lasts, with what is in it."""
    # SQLite makes -shm anew whenever it opens a log: it is no part of what is kept.
    kept = (file for file in folder.iterdir() if file.is_file() and not file.match("*-shm"))
    return {file.name: file.read_bytes() for file in kept}


@contextmanager
def left_as_it_was(folder: Path) -> Generator[None]:
    """Check that nothing in the folder changes."""
    before = contents(folder)
    yield
    assert contents(folder) == before
