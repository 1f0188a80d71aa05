"""One run of `apply`, which says after each thing that it tells how far it is, and waits; to be killed.

    python -m tests.crash.applying URL

It makes the table `before` of a database into `after`, as the command would.
"""

from __future__ import annotations

import sys
from typing import Any

from keyfold import Entity, Expiry, Index, Key, Provisioned, Table, attr
from keyfold.connect import open_executor
from keyfold.deploy import Event, apply
from keyfold.store import Executor

NAME = "Applied"
# Several batches of what fills an index, so that one can be killed in the middle of that.
ITEMS = 2_000

by_year = Index("ByYear", key=Key("year"))
by_label = Index("ByLabel", key=Key("label", "year"), project="keys")
by_title = Index("ByTitle", key=Key("title"))

before = Table(
    NAME,
    key=Key("pk"),
    indexes=[by_year],
    billing=Provisioned(5, 5),
    tags={"stage": "test", "gone": "soon"},
)
after = Table(
    NAME,
    key=Key("pk"),
    indexes=[by_label, by_title],
    ttl="until",
    stream="new and old",
    billing="on demand",
    deletion_protection=True,
    tags={"stage": "live", "team": "songs"},
)


class OldSong(Entity, table=before, key="SONG#{title}"):
    title: str
    year: str


class Song(Entity, table=after, key="SONG#{title}"):
    title: str
    label: str
    year: str
    until: Expiry | None = attr("until", default=None)


def make_item(number: int) -> dict[str, Any]:
    """Return one of the items that are there all the time."""
    texts = {
        "pk": f"SONG#{number}",
        "title": str(number),
        "label": f"l{number % 7}",
        "year": str(1950 + number % 50),
    }
    return {name: {"S": text} for name, text in texts.items()}


def fill(database: Executor) -> None:
    """Make the table as it was, with items in it."""
    database.execute("CreateTable", before.to_dynamodb())
    for place in range(0, ITEMS, 25):
        writes = [{"PutRequest": {"Item": make_item(n)}} for n in range(place, place + 25)]
        database.execute("BatchWriteItem", {"RequestItems": {NAME: writes}})


def report(event: Event) -> None:
    """Say what is going on, and wait to be told to go on."""
    print(event.kind, event.text, flush=True)
    sys.stdin.readline()


def main(url: str) -> None:
    """Apply, as the command does."""
    with open_executor(url, may_make=True) as database:
        apply(database, [after], allow_removal=True, on_event=report)
    print("ended", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
