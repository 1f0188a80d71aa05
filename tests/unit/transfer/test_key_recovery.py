"""Items that lack a field which their key has: backfilled, dumped and loaded."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

from keyfold import Entity, Index, Key, Table, attr
from keyfold.engine import Engine
from keyfold.store._item_patches import find_patch
from keyfold.transfer import backfill_table
from keyfold.transfer._cells import from_cells, to_cells
from keyfold.values import Item
from tests.unit.transfer.shop import location, options

by_group = Index("ByGroup", key=Key("GroupID", "UserID"))
clubs = Table("Shop", key=Key("pk", "sk"), indexes=[by_group])


class Membership(Entity, table=clubs, key=("{user}", "Group#{group}")):
    user: UUID = attr("UserID")
    group: UUID = attr("GroupID")


ADA, HOME = UUID(int=1), UUID(int=2)
KEY: Item = {"pk": {"S": str(ADA)}, "sk": {"S": f"Group#{HOME}"}}
BARE: Item = {**KEY, "GroupID": {"S": str(HOME)}}


def test_a_backfill_stores_what_the_key_has(tmp_path: Path) -> None:
    assert find_patch(clubs, BARE)[1] is not None
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        engine.execute("CreateTable", clubs.to_dynamodb())
        engine.execute("PutItem", {"TableName": "Shop", "Item": BARE})
        summary = backfill_table(location(engine), clubs, options(tmp_path))
        assert summary.changed == {"Membership": 1}
        found = engine.execute("Scan", {"TableName": "Shop", "IndexName": "ByGroup"})["Items"]
    assert found == [{**BARE, "UserID": {"S": str(ADA)}}]


def test_rows_of_csv_keep_the_absence() -> None:
    schema = Membership.keyfold_schema()
    cells = to_cells(schema, BARE)
    assert cells == {"user": str(ADA), "group": str(HOME), "*": '{"UserID":null}'}
    assert from_cells(schema, cells) == BARE
