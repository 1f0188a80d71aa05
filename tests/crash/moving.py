"""One job of moving data, which says after each batch how far it is, and waits; to be killed.

    python -m tests.crash.moving copy|dump|load|backfill FOLDER

Its files are those that the command line would take for the same job.
"""

from __future__ import annotations

import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

from keyfold import Entity, Index, Key, Table, part
from keyfold.connect import open_executor
from keyfold.engine import Engine
from keyfold.transfer import (
    Options,
    Progress,
    TableLocation,
    backfill_table,
    copy_table,
    dump_table,
    load_table,
)

by_city = Index("ByCity", key=Key("city_pk", "city_sk"))
table = Table("Moving", key=Key("pk", "sk"), indexes=[by_city])
ITEMS = 600


class Order(
    Entity,
    table=table,
    key=("USER#{user}", "ORDER#{number:05}"),
    indexes={by_city: ("CITY#{city}", "ORDER#{number:05}")},
):
    user: str = part()
    number: int = part()
    city: str
    total: Decimal
    state: str = "open"
    body: str = ""


def make_item(number: int) -> dict[str, Any]:
    """Return an order as it should be."""
    order = Order(
        user=f"u{number % 40}",
        number=number,
        city=f"c{number % 9}",
        total=Decimal(number) / 8,
        body="x" * (number % 50),
    )
    return Order.keyfold_schema().encode(order)


def make_bad(number: int) -> dict[str, Any]:
    """Return an item that fits no entity."""
    return {"pk": {"S": f"WHAT#{number}"}, "sk": {"S": "?"}}


def fill(path: Path, *, is_stale: bool) -> None:
    """Make a database with orders, stale ones maybe, and a few items that are none."""
    with Engine.open(path, durability="process") as engine:
        engine.execute("CreateTable", table.to_dynamodb())
        items = [make_item(number) for number in range(ITEMS)]
        if is_stale:
            kept = {"pk", "sk", "city", "total", "body"}
            items = [{name: item[name] for name in item if name in kept} for item in items]
        items += [make_bad(number) for number in range(10)]
        for place in range(0, len(items), 25):
            writes = [{"PutRequest": {"Item": item}} for item in items[place : place + 25]]
            engine.execute("BatchWriteItem", {"RequestItems": {"Moving": writes}})


def tell(progress: Progress) -> None:
    """Say that one more batch is done, and wait to be told to go on."""
    print(progress.phase, progress.items, flush=True)
    sys.stdin.readline()


def run_copy(folder: Path) -> None:
    """Copy `source.db` to `target.db`."""
    source, target = str(folder / "source.db"), str(folder / "target.db")
    options = make_options(Path(f"{target}.copy-Moving"), ".checkpoint", creates=True)
    with (
        open_executor(source, keeps_expired=True) as read,
        open_executor(target, may_make=True, keeps_expired=True) as written,
    ):
        origin, goal = (
            TableLocation(read, source, "Moving"),
            TableLocation(written, target, "Moving"),
        )
        copy_table(origin, goal, options, declared=table)


def run_dump(folder: Path) -> None:
    """Dump `source.db` to `items.jsonl.gz`."""
    source, file = str(folder / "source.db"), folder / "items.jsonl.gz"
    with open_executor(source, keeps_expired=True) as read:
        options = make_options(file, ".checkpoint")
        dump_table(TableLocation(read, source, "Moving"), file, options, declared=table)


def run_load(folder: Path) -> None:
    """Load `items.jsonl.gz` into `target.db`."""
    target, file = str(folder / "target.db"), folder / "items.jsonl.gz"
    with open_executor(target, may_make=True, keeps_expired=True) as written:
        options = make_options(file, ".checkpoint", creates=True)
        load_table(file, TableLocation(written, target, "Moving"), options, declared=table)


def run_backfill(folder: Path) -> None:
    """Backfill `source.db`."""
    source = str(folder / "source.db")
    with open_executor(source, keeps_expired=True) as database:
        options = make_options(Path(f"{source}.backfill-Moving"), ".checkpoint")
        backfill_table(TableLocation(database, source, "Moving"), table, options)


def make_options(base: Path, checkpoint: str, **more: Any) -> Options:
    """Return options with small batches, so that there are many moments to be killed at."""
    return Options(
        rejects=base.with_name(f"{base.name}.rejected.jsonl"),
        checkpoint=base.with_name(f"{base.name}{checkpoint}"),
        page_items=10,
        watch=tell,
        **more,
    )


JOBS = {"copy": run_copy, "dump": run_dump, "load": run_load, "backfill": run_backfill}

if __name__ == "__main__":
    JOBS[sys.argv[1]](Path(sys.argv[2]))
