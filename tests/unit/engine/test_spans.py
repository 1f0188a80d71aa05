"""Spans that continue after a start key."""

from __future__ import annotations

import pytest

from keyfold.engine.items.spans import resume_span
from keyfold.engine.storage import Span


@pytest.mark.parametrize(
    ("entry", "reverse", "is_after"),
    [
        (b"b", False, True),
        (b"c", False, True),
        # Nothing is left, since the place is beyond the other bound.
        (b"x", False, True),
        (b"c", True, True),
        (b"a", True, True),
        # A forged token may name an entry before the first: it must not widen the range.
        (b"a", False, False),
        (b"d", True, False),
        (b"x", True, False),
    ],
)
def test_an_index_is_never_read_outside_the_range(
    entry: bytes,
    reverse: bool,
    is_after: bool,
) -> None:
    span = resume_span(b"b", b"d", reverse=reverse, column="i0", entry=entry, row_key=b"k")
    assert span == Span(b"b", b"d", reverse, "i0", (entry, b"k") if is_after else None)
