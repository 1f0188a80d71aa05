"""`keyfold serve` without group commit: one commit for each write.

python -m benchmarks._wire_single serve FILE --port PORT
"""

from __future__ import annotations

from keyfold.cli import main
from keyfold.wire.server import _scheduler

if __name__ == "__main__":
    # Groups of one write, so that no two share a commit.
    _scheduler._MAX_GROUP = 1  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the purpose of this module
    main()
