"""Writes into a small disk until it is full, makes room, and goes on.

    python -m tests.crash.filling FOLDER DURABILITY

FOLDER is a file system of a few megabytes. Prints "whole" when nothing that was
acknowledged is missing.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import cast

from keyfold.engine import Durability, Engine
from keyfold.errors import FileFailed
from tests.crash.workload import NOW, TABLE, create_table, make_item, read_all


def fill(engine: Engine, prefix: str) -> list[str]:
    """Write until there is no room; return what was acknowledged."""
    done: list[str] = []
    try:
        for number in range(100_000):
            name = f"{prefix}-{number}"
            engine.execute("PutItem", {"TableName": TABLE, "Item": make_item(name)})
            done.append(name)
    except FileFailed as error:
        if "the disk is full. Nothing was written." not in str(error):
            raise
    return done


def main() -> None:
    folder, durability = Path(sys.argv[1]), cast(Durability, sys.argv[2])
    ballast = folder / "ballast"
    ballast.write_bytes(bytes(1_500_000))
    path = folder / "ledger.db"
    engine = Engine.open(path, durability=durability, clock=lambda: NOW, upkeep_seconds=None)
    create_table(engine)
    done = fill(engine, "one")
    assert len(done) > 10
    assert engine.verify() == []
    # Full, it still reads; a second failure is like the first.
    assert set(done) <= read_all(engine).keys()
    done += fill(engine, "two")
    ballast.unlink()
    more = fill(engine, "three")
    assert len(more) > 10
    assert engine.verify() == []
    engine.close()
    with Engine.open(path, clock=lambda: NOW, upkeep_seconds=None) as engine:
        assert engine.verify() == []
        assert set(done + more) <= read_all(engine).keys()
    print("whole")


if __name__ == "__main__":
    main()
