"""Loads and copies reject items whose index keys or computed fields contradict their fields."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from keyfold import Entity, Index, Key, Table, attr, computed_field, part
from keyfold.engine import Engine
from keyfold.transfer import Summary, TableLocation, copy_table, dump_table, load_table
from keyfold.values import Item
from tests.unit.transfer.shop import options

by_city = Index("ByCity", key=Key("city_pk"))
depot = Table("Depot", key=Key("pk"), indexes=[by_city], type_attribute="kind")


class Box(
    Entity,
    table=depot,
    key="BOX#{id}",
    kind=("Box", "Crate"),
    indexes={by_city: "CITY#{city}"},
):
    id: str = part()
    city: str | None = attr(was="town", default=None)
    size: int = 1
    state: str = "open"

    @computed_field(depends=("size",))
    def weight(self) -> int:
        return self.size * 2

    @classmethod
    def upgrade(cls, stored: dict[str, Any]) -> dict[str, Any]:
        if isinstance(stored.get("state"), int):
            stored["state"], stored["size"] = "done", 9
        return stored


GOOD: Item = {
    "pk": {"S": "BOX#1"},
    "kind": {"S": "Box"},
    "city": {"S": "Oslo"},
    "size": {"N": "3"},
    "state": {"S": "open"},
    "weight": {"N": "6"},
    "city_pk": {"S": "CITY#Oslo"},
}


def without(*names: str) -> Item:
    return {name: GOOD[name] for name in GOOD if name not in names}


def make_table(engine: Engine, items: Iterable[Item] = ()) -> TableLocation:
    engine.execute("CreateTable", depot.to_dynamodb())
    for item in items:
        engine.execute("PutItem", {"TableName": "Depot", "Item": item})
    return TableLocation(engine, "depot.db", "Depot")


def load(tmp_path: Path, item: Item, *, as_is: bool = False) -> tuple[Summary, list[Item]]:
    file = tmp_path / "items.jsonl"
    file.write_text(json.dumps({"Item": item}))
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        goal = make_table(engine)
        summary = load_table(file, goal, options(tmp_path), declared=depot, as_is=as_is)
        return summary, engine.execute("Scan", {"TableName": "Depot"})["Items"]


def reasons(summary: Summary) -> list[str]:
    lines = Path(str(summary.rejects_file)).read_text().splitlines()
    return [json.loads(line)["reason"] for line in lines]


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (
            {**GOOD, "city_pk": {"S": "CITY#Rome"}},
            "it has city_pk='CITY#Rome', but its fields say city_pk='CITY#Oslo'",
        ),
        (without("city"), "it has city_pk='CITY#Oslo', but its fields say none"),
        ({**GOOD, "weight": {"N": "7"}}, "it has weight=7, but its fields say weight=6"),
        ({**GOOD, "weight": {"S": "6"}}, "it has weight='6', but its fields say weight=6"),
    ],
)
def test_a_contradiction_is_rejected(tmp_path: Path, item: Item, reason: str) -> None:
    summary, found = load(tmp_path, item)
    assert (summary.items, summary.rejects, summary.is_good) == (0, 1, False)
    assert reasons(summary) == [reason]
    assert found == []


@pytest.mark.parametrize(
    ("item", "current"),
    [
        (GOOD, GOOD),
        (without("weight"), GOOD),
        (without("city_pk"), GOOD),
        (without("kind", "weight", "city_pk"), GOOD),
        ({**GOOD, "kind": {"S": "Crate"}}, GOOD),
        ({**GOOD, "other_pk": {"S": "x"}}, {**GOOD, "other_pk": {"S": "x"}}),
        ({**without("city"), "town": {"S": "Oslo"}}, GOOD),
        (
            {**GOOD, "state": {"N": "1"}, "other": {"S": "kept"}},
            {
                **GOOD,
                "state": {"S": "done"},
                "size": {"N": "9"},
                "weight": {"N": "18"},
                "other": {"S": "kept"},
            },
        ),
    ],
)
@pytest.mark.parametrize("as_is", [False, True])
def test_an_item_that_is_only_older_is_brought_up_to_date(
    tmp_path: Path, item: Item, current: Item, as_is: bool
) -> None:
    summary, found = load(tmp_path, item, as_is=as_is)
    assert (summary.items, summary.rejects) == (1, 0)
    assert found == [item if as_is else current]
    assert summary.renewed == (not as_is and item != current)


def test_numbers_may_be_written_in_another_way(tmp_path: Path) -> None:
    summary, found = load(tmp_path, {**GOOD, "weight": {"N": "6.00"}})
    assert (summary.rejects, found) == (0, [GOOD])


def test_a_copy_rejects_what_a_dump_keeps(tmp_path: Path) -> None:
    wrong = {**GOOD, "city_pk": {"S": "CITY#Rome"}}
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        source = make_table(engine, [wrong, {**GOOD, "pk": {"S": "BOX#2"}}])
        dumped = dump_table(source, tmp_path / "d.jsonl", options(tmp_path), declared=depot)
        assert (dumped.items, dumped.rejects) == (2, 0)
        with Engine.open(":memory:", upkeep_seconds=None) as other:
            copied = copy_table(source, make_table(other), options(tmp_path), declared=depot)
            assert (copied.items, copied.rejects) == (1, 1)
            assert "city_pk='CITY#Rome'" in reasons(copied)[0]
        with Engine.open(":memory:", upkeep_seconds=None) as other:
            copied = copy_table(
                source, make_table(other), options(tmp_path, rejects=tmp_path / "other.jsonl")
            )
            assert (copied.items, copied.rejects) == (2, 0)
