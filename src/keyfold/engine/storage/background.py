"""A storage as threads use it beside an event loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from keyfold.engine.storage.protocol import (
    Durability,
    Page,
    Row,
    RowSet,
    Span,
    Storage,
    StorageReader,
)

T = TypeVar("T")


class BackgroundStorage:
    """A storage whose reads are all long ones: neither its writes nor the event loop wait for them.

    A thread reads row by row, and may have to wait for the interpreter after each. Meanwhile, the
    connection that the loop reads by, and all commits use, is free for them.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.durability: Durability = storage.durability
        self.put, self.write = storage.put, storage.write
        self.hold_snapshot, self.shared_commit = storage.hold_snapshot, storage.shared_commit
        self.hold_view, self.release_view = storage.hold_view, storage.release_view
        self.use_clock, self.without_waiting = storage.use_clock, storage.without_waiting
        self.close = storage.close

    def get(self, rows: RowSet, key: bytes) -> Row | None:
        return self._storage.read(lambda reader: reader.get(rows, key), is_long=True)

    def read_span(self, rows: RowSet, span: Span, *, limit: int, max_bytes: int) -> Page:
        return self._storage.read(
            lambda reader: reader.read_span(rows, span, limit=limit, max_bytes=max_bytes),
            is_long=True,
        )

    def read_values(
        self,
        rows: RowSet,  # noqa: ARG002 - a storage's signature
        span: Span,  # noqa: ARG002
        *,
        limit: int,  # noqa: ARG002
        max_bytes: int,  # noqa: ARG002
    ) -> list[bytes] | None:
        """Return None: pages that are short are not read in the background."""
        return None

    def read(self, work: Callable[[StorageReader], T], *, is_long: bool = True) -> T:  # noqa: ARG002 - all are
        return self._storage.read(work, is_long=True)
