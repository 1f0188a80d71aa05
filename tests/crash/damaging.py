"""Opens copies of a file with damage in them, one after another, and says how each went.

    python -m tests.crash.damaging FILE SEED COUNT

In a process of its own: damage must not end the interpreter. Prints a line for each copy:
"whole" if nothing was noticed, "refused" if it met an error of ours, "reported" if
verify() found it. Anything else is a bug.
"""

from __future__ import annotations

import random
import resource
import sys
from pathlib import Path

from keyfold.engine import Engine
from keyfold.errors import KeyfoldError, ServiceError
from tests.crash.workload import NOW, TABLE, add_index_request, make_item
from tests.unit.engine.stream_reading import read_stream

MOST_MEMORY_BYTES = 2 << 30


def damage(content: bytes, chance: random.Random) -> bytes:
    """Return `content` with some of its bytes changed."""
    changed = bytearray(content)
    match chance.randrange(5):
        case 0:
            for _ in range(chance.choice([1, 1, 1, 5, 50])):
                changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
        case 1:
            start = chance.randrange(len(changed))
            length = chance.choice([4, 64, 1_000])
            changed[start : start + length] = chance.randbytes(min(length, len(changed) - start))
        case 2:
            # A page of zeros, as some disks give back after a crash.
            start = chance.randrange(len(changed) // 4_096) * 4_096
            changed[start : start + 4_096] = bytes(4_096)
        case 3:
            pages = len(changed) // 4_096
            one, other = chance.randrange(pages) * 4_096, chance.randrange(pages) * 4_096
            changed[one : one + 4_096] = content[other : other + 4_096]
        case _:
            # The beginning of a page says how to read the rest.
            start = chance.randrange(len(changed) // 4_096) * 4_096
            changed[start + chance.randrange(12)] = chance.randrange(256)
    return bytes(changed)


def use(path: Path) -> str:
    """Open a file and do a bit of everything with it."""
    try:
        with Engine.open(path, clock=lambda: NOW, upkeep_seconds=None) as engine:
            problems = engine.verify()
            said = "reported" if problems else "whole"
            try:
                work(engine)
            except ServiceError:
                # A table or an index that is not what it was. It must have been reported.
                return said if problems else "unnoticed"
            return said
    except KeyfoldError as error:
        return f"refused {error.code}"


def work(engine: Engine) -> None:
    """Read everything, and write a bit."""
    for name in engine.execute("ListTables", {})["TableNames"]:
        engine.execute("DescribeTable", {"TableName": name})
    engine.execute("Scan", {"TableName": TABLE})
    engine.execute("Scan", {"TableName": TABLE, "IndexName": "by-a"})
    for stream in engine.execute("ListStreams", {})["Streams"]:
        for _ in read_stream(engine, stream["StreamArn"]):
            pass
    engine.execute("PutItem", {"TableName": TABLE, "Item": make_item("new")})
    engine.execute("UpdateTable", add_index_request("c"))
    engine.run_upkeep()


def main() -> None:
    path, seed, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    # Damage that makes the engine read without end must not exhaust the machine's memory.
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY_BYTES, MOST_MEMORY_BYTES))
    content = path.read_bytes()
    chance = random.Random(seed)
    for number in range(count):
        copy = path.with_name(f"damaged-{number}.db")
        copy.write_bytes(damage(content, chance))
        print(number, use(copy), flush=True)
        copy.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
