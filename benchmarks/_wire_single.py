"""`keyfold serve`, with a commit of its own for each write.

python -m benchmarks._wire_single serve FILE --port PORT
"""

from __future__ import annotations

from keyfold.cli import main
from keyfold.wire.server import _scheduler

if __name__ == "__main__":
    # One write at a time is taken from those that wait, so none shares its commit.
    _scheduler._MOST_SHARED = 1  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - what this is for
    main()
