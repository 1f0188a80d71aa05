"""How much work one request may make, and which requests an event loop must not run.

Work is counted in bytes of stored JSON, times one more than the operands of the condition that is
evaluated for them. A page of a Query or Scan ends early once it has made `PAGE_WORK`, with a
LastEvaluatedKey, as DynamoDB's pages end at 1 MB.

An event loop runs a read with an `InlineRendering`. The read raises NeedsThread, before it has
decoded or counted anything, if it turns out to be more work than other connections should wait for.
"""

from __future__ import annotations

from collections.abc import Sequence

# About two seconds. 100 operands take a page of 2 MB of JSON, whose items have 1 MB.
PAGE_WORK = 1 << 28
# Only items of less than 16 bytes fit this often into the 1 MB of a page.
PAGE_ROWS = 1 << 16

# About a millisecond each.
INLINE_BYTES = 1 << 17
INLINE_ROWS = 512
INLINE_WORK = 1 << 20
# A write decodes the stored item, and encodes the new one, which costs as much as this many operands.
DECODE_WEIGHT = 16


class NeedsThread(Exception):
    """The read is too much work for an event loop; nothing was done."""


def check_inline(values: Sequence[bytes], weight: int = 0) -> None:
    """Raise NeedsThread if an event loop must not process these stored items.

    `weight` is the number of operands of the condition that is evaluated for them.
    """
    size = sum(map(len, values))
    if len(values) > INLINE_ROWS or size > INLINE_BYTES or size * weight > INLINE_WORK:
        raise NeedsThread
