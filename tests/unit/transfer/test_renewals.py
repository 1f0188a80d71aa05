"""Loads write items as their entities store them now, and reject keys that contradict fields."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from keyfold import Entity, Index, Key, Table, attr, part
from keyfold.engine import Engine
from keyfold.model._schemas import ItemMismatch
from keyfold.transfer import TableLocation, backfill_table, copy_table, load_table
from keyfold.transfer._renewals import renew_item
from keyfold.values import Item
from tests.unit.transfer.shop import location, options

by_group = Index("ByGroup", key=Key("GroupID", "UserID"))
clubs = Table("Shop", key=Key("pk", "sk"), indexes=[by_group])


class Membership(Entity, table=clubs, key=("{user}", "Group#{group}")):
    user: UUID = attr("UserID")
    group: UUID = attr("GroupID")
    tags: set[str] = attr(default_factory=set[str])
    photo: bytes | None = None


class Meeting(Entity, table=clubs, key=("{club}", "M#{time}")):
    """Its key has a time that older programs wrote with a space."""

    club: str = part()
    time: str = part()
    at: datetime
    room: str | None = None

    @classmethod
    def upgrade(cls, stored: dict[str, Any]) -> dict[str, Any]:
        return {**stored, "sk": stored["sk"].replace(" ", "T")}


ADA, HOME = UUID("aaaaaaaa-0000-4000-8000-000000000001"), UUID(int=2)
KEY: Item = {"pk": {"S": str(ADA)}, "sk": {"S": f"Group#{HOME}"}}
WHOLE: Item = {**KEY, "UserID": {"S": str(ADA)}, "GroupID": {"S": str(HOME)}}


def current(item: Item) -> Item:
    return renew_item(clubs, item)[1]


def test_an_item_that_is_up_to_date_is_the_same_object() -> None:
    assert current(WHOLE) is WHOLE
    tagged = {**WHOLE, "tags": {"SS": ["a", "b"]}, "photo": {"B": "AP8="}, "more": {"N": "1"}}
    assert current(tagged) is tagged


def test_attributes_that_the_key_has_are_added() -> None:
    assert current(KEY) == WHOLE
    assert current({**KEY, "GroupID": {"S": str(HOME)}}) == WHOLE


def test_values_get_their_declared_types() -> None:
    found = current({**WHOLE, "tags": {"L": [{"S": "b"}, {"S": "a"}, {"S": "b"}]}})
    assert set(found["tags"]["SS"]) == {"a", "b"}


def test_an_upgrade_may_give_another_key() -> None:
    at = datetime(2026, 1, 2, tzinfo=UTC)
    new = Meeting(club="c", time="2026-01-02T03:04", at=at).put().to_dynamodb()["Item"]
    assert current({**new, "sk": {"S": "M#2026-01-02 03:04"}}) == new
    assert current(new) is new


class InterferingBeforeMove:
    """Adds an attribute to an item, as another program might, right before it is first moved."""

    def __init__(self, engine: Engine, key: Item) -> None:
        self._engine, self._key, self._is_done = engine, key, False

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        if operation == "TransactWriteItems" and not self._is_done:
            self._is_done = True
            added = {":r": {"S": "Hall"}}
            body = {"UpdateExpression": "SET room = :r", "ExpressionAttributeValues": added}
            self._engine.execute("UpdateItem", {"TableName": "Shop", "Key": self._key, **body})
        return self._engine.execute(operation, request)


def test_what_is_added_before_an_item_is_moved_is_not_lost(tmp_path: Path) -> None:
    new = Meeting(club="c", time="2026-01-02T03:04", at=datetime(2026, 1, 2, tzinfo=UTC))
    item = {**new.put().to_dynamodb()["Item"], "sk": {"S": "M#2026-01-02 03:04"}}
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        engine.execute("CreateTable", clubs.to_dynamodb())
        engine.execute("PutItem", {"TableName": "Shop", "Item": item})
        key = {name: item[name] for name in ("pk", "sk")}
        busy = TableLocation(InterferingBeforeMove(engine, key), "memory", "Shop")
        summary = backfill_table(busy, clubs, options(tmp_path))
        assert summary.changed == {"Meeting": 1}
        [moved] = engine.execute("Scan", {"TableName": "Shop"})["Items"]
    assert moved == {**new.put().to_dynamodb()["Item"], "room": {"S": "Hall"}}


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (
            {**WHOLE, "UserID": {"S": str(HOME)}},
            f"it has pk='{ADA}', but its fields say pk='{HOME}'",
        ),
        ({**WHOLE, "UserID": {"S": "x"}}, "user: Input should be a valid UUID"),
        ({"pk": {"S": "c"}, "sk": {"S": "M#1"}}, "at: Field required"),
    ],
)
def test_a_key_that_contradicts_a_field_is_rejected(
    tmp_path: Path, item: Item, reason: str
) -> None:
    with pytest.raises(ItemMismatch) as refused:
        current(item)
    assert reason in str(refused.value)
    file = tmp_path / "items.jsonl"
    file.write_text(json.dumps(item))
    for as_is in (False, True):
        with Engine.open(":memory:", upkeep_seconds=None) as engine:
            given = options(tmp_path, creates=True, rejects=tmp_path / f"{as_is}.jsonl")
            summary = load_table(file, location(engine), given, declared=clubs, as_is=as_is)
        assert summary.rejects == 1
        assert reason in json.loads((tmp_path / f"{as_is}.jsonl").read_text())["reason"]


def test_a_copy_rejects_contradictions_and_changes_nothing(tmp_path: Path) -> None:
    wrong = {**WHOLE, "sk": {"S": f"Group#{ADA}"}}
    engines = [Engine.open(":memory:", upkeep_seconds=None) for _ in range(2)]
    source, target = (TableLocation(each, f"{i}.db", "Shop") for i, each in enumerate(engines))
    for each in engines:
        each.execute("CreateTable", clubs.to_dynamodb())
    for item in (KEY, wrong):
        engines[0].execute("PutItem", {"TableName": "Shop", "Item": item})
    summary = copy_table(source, target, options(tmp_path), declared=clubs)
    assert (summary.items, summary.rejects, summary.renewed) == (1, 1, 0)
    assert engines[1].execute("Scan", {"TableName": "Shop"})["Items"] == [KEY]
    for each in engines:
        each.close()
