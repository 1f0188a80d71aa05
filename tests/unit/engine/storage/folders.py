"""Checks that the files of a folder do not change."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


def contents(folder: Path) -> dict[str, bytes]:
    """Return the contents of every persistent file in a folder."""
    # SQLite recreates -shm whenever it opens a log; it holds no data.
    kept = (file for file in folder.iterdir() if file.is_file() and not file.match("*-shm"))
    return {file.name: file.read_bytes() for file in kept}


@contextmanager
def unchanged(folder: Path) -> Generator[None]:
    """Check that the block changes nothing in the folder."""
    before = contents(folder)
    yield
    assert contents(folder) == before
