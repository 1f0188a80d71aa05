"""How much larger than what was sent a decompressed request may be: for both sides of the wire."""

from __future__ import annotations

# A request may be decompressed to this size, whatever was sent, and beyond it to this many times what
# was sent. Requests that compress better consist of one value over and over.
FREE_BYTES = 1 << 20
MAX_RATIO = 32


def find_most_decoded(sent_bytes: int) -> int:
    """Return how many bytes a compressed request of a size may have when it is decompressed.

    >>> find_most_decoded(100), find_most_decoded(50_000)
    (1048576, 1600000)
    """
    return max(FREE_BYTES, MAX_RATIO * sent_bytes)
