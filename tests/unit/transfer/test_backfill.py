"""Bringing items up to date with declarations that have changed."""

from __future__ import annotations

import json
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, computed_field

from keyfold import Entity, Index, Key, Table, attr, part
from keyfold.engine import Engine
from keyfold.errors import Unavailable
from keyfold.model._schemas import ItemMismatch
from keyfold.store import Executor, Store, StoreSettings
from keyfold.store._guards import is_guard
from keyfold.store._item_patches import find_patch
from keyfold.transfer import BackfillSummary, backfill_table
from tests.unit.transfer.shop import Failing, location, options, put_all, read_all

by_city = Index("ByCity", key=Key("city_pk", "city_sk"))
by_state = Index("ByState", key=Key("state_pk"))
table = Table("Shop", key=Key("pk", "sk"), indexes=[by_city, by_state], type_attribute="type")


class Order(
    Entity,
    table=table,
    key=("USER#{user}", "ORDER#{number:04}"),
    indexes={by_city: ("CITY#{city}", "ORDER#{number:04}")},
    kind="order",
):
    user: str = part()
    number: int = part()
    city: str | None = None
    total: Decimal
    state: str = "open"

    @computed_field
    @property
    def cents(self) -> int:
        return int(self.total * 100)


class Visit(
    Entity,
    table=table,
    key=("VISIT#{page}", "{number:04}"),
    indexes={by_state: "STATE#{state}"},
    kind="visit",
):
    page: str = part()
    number: int = part()
    state: str = "seen"


NONE: set[str] = set()


def old_order(number: int, **more: Any) -> dict[str, Any]:
    """Return an order as it was stored before indexes, types and states were declared."""
    return {
        "pk": {"S": "USER#ada"},
        "sk": {"S": f"ORDER#{number:04}"},
        "city": {"S": "Oslo"},
        "total": {"N": "2.5"},
        **more,
    }


def new_order(number: int, **more: Any) -> dict[str, Any]:
    order = Order(user="ada", number=number, city="Oslo", total=Decimal("2.5"))
    return Order.keyfold_schema().encode(order) | more


def open_shop(items: list[dict[str, Any]]) -> Engine:
    engine = Engine.open(":memory:", upkeep_seconds=None)
    engine.execute("CreateTable", table.to_dynamodb())
    put_all(engine, items)
    return engine


def backfill(
    executor: Executor, folder: Path, *, is_dry: bool = False, **more: Any
) -> BackfillSummary:
    given = options(folder, **more)
    return backfill_table(location(executor), table, given, is_dry=is_dry)


def change_of(item: dict[str, Any]) -> tuple[set[str], set[str]]:
    """Return the attribute names that a backfill would set and remove."""
    _, change = find_patch(table, item)
    return (set(), set()) if change is None else (set(change.sets), set(change.removes))


def test_an_item_that_is_as_declared_is_left_alone() -> None:
    assert find_patch(table, new_order(1)) == ("Order", None)


def test_an_old_item_gets_newly_declared_attributes() -> None:
    assert change_of(old_order(1)) == ({"city_pk", "city_sk", "type", "state", "cents"}, set())


@pytest.mark.parametrize(
    ("stored", "sets", "removes"),
    [
        ({"city_pk": {"S": "TOWN#Oslo"}}, {"city_pk"}, NONE),
        ({"city_sk": {"S": "1"}}, {"city_sk"}, NONE),
        ({"cents": {"N": "1"}}, {"cents"}, NONE),
        ({"state_pk": {"S": "STATE#open"}}, NONE, {"state_pk"}),
        ({"type": {"S": "Bestellung"}}, {"type"}, NONE),
        ({"unknown": {"S": "attribute"}}, NONE, NONE),
        ({"total": {"S": "2.5"}}, {"total"}, NONE),
    ],
)
def test_attributes_that_differ_from_the_declaration_are_found(
    stored: dict[str, Any], sets: set[str], removes: set[str]
) -> None:
    assert change_of(new_order(1, **stored)) == (sets, removes)


def test_a_number_is_the_same_however_it_was_written(tmp_path: Path) -> None:
    with open_shop([new_order(1, total={"N": "2.50"})]) as engine:
        assert backfill(engine, tmp_path).changed == {}


def test_an_item_that_left_an_index_loses_its_key() -> None:
    item = new_order(1)
    del item["city"]
    assert change_of(item) == (set(), {"city_pk"})


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ({"pk": {"S": "X"}, "sk": {"S": "Y"}}, "its key matches no entity of the table"),
        (old_order(1, total={"S": "much"}), "total: Input should be a valid decimal"),
        (
            {"pk": {"S": "X"}, "sk": {"S": "Y"}, "type": {"S": "planet"}},
            "no entity has type 'planet'; its key matches none",
        ),
        (new_order(1) | {"sk": {"S": "ORDER#1"}}, "sk does not match"),
    ],
)
def test_an_item_that_matches_no_entity_is_rejected_with_a_reason(
    item: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ItemMismatch) as invalid:
        find_patch(table, item)
    assert str(invalid.value).startswith(reason)


def test_a_primary_key_is_never_changed() -> None:
    held = Table("Held", key=Key("pk"), type_attribute="type")

    class Thing(Entity, table=held, key="THING#{name}"):
        name: str

    with pytest.raises(ItemMismatch, match="a key cannot be changed in place"):
        find_patch(
            held, {"pk": {"S": "THING#a"}, "name": {"S": "b"}, "type": {"S": Thing.__name__}}
        )


def test_stale_items_are_rewritten_and_others_are_not(tmp_path: Path) -> None:
    with open_shop([old_order(1), new_order(2), new_order(3, extra={"S": "kept"})]) as engine:
        before = read_all(engine)
        summary = backfill(engine, tmp_path)
        after = read_all(engine)
        found = engine.execute(
            "Query",
            {
                "TableName": "Shop",
                "IndexName": "ByCity",
                "KeyConditionExpression": "city_pk = :city",
                "ExpressionAttributeValues": {":city": {"S": "CITY#Oslo"}},
            },
        )
        assert backfill(engine, tmp_path).changed == {}
        assert engine.verify() == []
    assert (summary.looked_at, summary.changed) == ({"Order": 3}, {"Order": 1})
    assert summary.is_good
    assert found["Count"] == 3
    assert after["USER#ada ORDER#0001"] == new_order(1)
    assert after["USER#ada ORDER#0003"] == before["USER#ada ORDER#0003"]
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_changes_nothing_and_shows_examples(tmp_path: Path) -> None:
    strange = {"pk": {"S": "X"}, "sk": {"S": "Y"}}
    with open_shop([*(old_order(number) for number in range(9)), strange]) as engine:
        before = read_all(engine)
        summary = backfill(engine, tmp_path, is_dry=True)
        assert read_all(engine) == before
    assert (summary.looked_at, summary.changed) == ({"Order": 9}, {"Order": 9})
    assert (summary.rejects, summary.rejects_file, summary.is_good) == (1, None, False)
    assert summary.write_units == 0.0
    assert len(summary.examples) == 3
    assert summary.examples[0].to_json()["sets"]["city_pk"] == {"S": "CITY#Oslo"}
    assert list(tmp_path.iterdir()) == []


def test_items_that_match_no_entity_are_reported_and_left_alone(tmp_path: Path) -> None:
    strange = {"pk": {"S": "X"}, "sk": {"S": "Y"}}
    with open_shop([old_order(1), strange]) as engine:
        summary = backfill(engine, tmp_path)
        assert read_all(engine)["X Y"] == strange
    assert (summary.rejects, summary.is_good) == (1, False)
    [line] = (tmp_path / "job.rejected.jsonl").read_text().splitlines()
    assert json.loads(line)["Item"] == strange


class Interfering:
    """Makes another writer's request right before an update."""

    def __init__(self, engine: Engine, request: dict[str, Any], operation: str, times: int) -> None:
        self._engine, self._request, self._operation = engine, request, operation
        self._left = times
        self.updates = 0

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        if operation == "UpdateItem":
            self.updates += 1
            if self._left:
                self._left -= 1
                self._engine.execute(self._operation, self._request)
        return self._engine.execute(operation, request)


KEY = {"pk": {"S": "USER#ada"}, "sk": {"S": "ORDER#0001"}}


def test_a_concurrent_update_is_not_lost(tmp_path: Path) -> None:
    move = {
        "TableName": "Shop",
        "Key": KEY,
        "UpdateExpression": "SET city = :city",
        "ExpressionAttributeValues": {":city": {"S": "Rome"}},
    }
    with open_shop([old_order(1)]) as engine:
        busy = Interfering(engine, move, "UpdateItem", times=1)
        backfill(busy, tmp_path)
        item = read_all(engine)["USER#ada ORDER#0001"]
    assert busy.updates == 2
    assert (item["city"], item["city_pk"]) == ({"S": "Rome"}, {"S": "CITY#Rome"})


def test_a_concurrent_change_of_an_attribute_that_keys_do_not_use_needs_no_retry(
    tmp_path: Path,
) -> None:
    note = {
        "TableName": "Shop",
        "Key": KEY,
        "UpdateExpression": "SET note = :note",
        "ExpressionAttributeValues": {":note": {"S": "hello"}},
    }
    with open_shop([old_order(1)]) as engine:
        busy = Interfering(engine, note, "UpdateItem", times=1)
        backfill(busy, tmp_path)
        item = read_all(engine)["USER#ada ORDER#0001"]
    assert busy.updates == 1
    assert (item["note"], item["city_pk"]) == ({"S": "hello"}, {"S": "CITY#Oslo"})


def test_an_item_deleted_concurrently_is_not_recreated(tmp_path: Path) -> None:
    with open_shop([old_order(1)]) as engine:
        delete = {"TableName": "Shop", "Key": KEY}
        summary = backfill(Interfering(engine, delete, "DeleteItem", times=1), tmp_path)
        assert read_all(engine) == {}
    assert (summary.looked_at, summary.changed) == ({}, {})


def test_an_item_rewritten_concurrently_is_left_alone(tmp_path: Path) -> None:
    with open_shop([old_order(1)]) as engine:
        put = {"TableName": "Shop", "Item": new_order(1, total={"N": "9"}, cents={"N": "900"})}
        summary = backfill(Interfering(engine, put, "PutItem", times=1), tmp_path)
        assert read_all(engine)["USER#ada ORDER#0001"]["total"] == {"N": "9"}
    assert summary.changed == {}


def test_no_update_is_lost_with_concurrent_writers(tmp_path: Path) -> None:
    rounds, count = 15, 12

    def work(engine: Engine, worker: int) -> None:
        # Like programs that do not know the new index yet.
        for number in range(rounds * count):
            engine.execute(
                "UpdateItem",
                {
                    "TableName": "Shop",
                    "Key": {"pk": {"S": "USER#ada"}, "sk": {"S": f"ORDER#{number % count:04}"}},
                    "UpdateExpression": "ADD hits :one SET city = :city",
                    "ExpressionAttributeValues": {
                        ":one": {"N": "1"},
                        ":city": {"S": f"c{worker}.{number}"},
                    },
                },
            )

    with open_shop([old_order(number) for number in range(count)]) as engine:
        workers = [threading.Thread(target=work, args=(engine, each)) for each in range(2)]
        for each in workers:
            each.start()
        while any(each.is_alive() for each in workers):
            backfill(engine, tmp_path)
        for each in workers:
            each.join()
        backfill(engine, tmp_path)
        found = read_all(engine)
        assert engine.verify() == []
    assert {item["hits"]["N"] for item in found.values()} == {str(2 * rounds)}
    assert [find_patch(table, item)[1] for item in found.values()] == [None] * count


def test_retries_end_if_an_item_keeps_changing(tmp_path: Path) -> None:
    with open_shop([old_order(1)]) as engine:
        grow = {
            "TableName": "Shop",
            "Key": KEY,
            "UpdateExpression": "ADD #total :one",
            "ExpressionAttributeNames": {"#total": "total"},
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        }
        busy = Interfering(engine, grow, "UpdateItem", times=1_000)
        with pytest.raises(Unavailable, match="other writers keep changing the item"):
            backfill(busy, tmp_path)


def test_a_failed_backfill_resumes_where_it_stopped(tmp_path: Path) -> None:
    with open_shop([old_order(number) for number in range(40)]) as engine:
        failing = Failing(engine, "UpdateItem", after=25)
        with pytest.raises(OSError, match="dead"):
            backfill(failing, tmp_path, segments=1, page_items=10)
        assert (tmp_path / "job.checkpoint").exists()
        failing.left = 1_000
        summary = backfill(failing, tmp_path, segments=1, page_items=10)
        assert read_all(engine) == {
            f"USER#ada ORDER#{number:04}": new_order(number) for number in range(40)
        }
    assert summary.is_resumed
    assert summary.looked_at == {"Order": 40}
    # The items written in the unfinished batch were up to date when it was repeated.
    assert summary.changed == {"Order": 35}


class Line(BaseModel):
    sku: str
    count: int = attr(was="quantity")


club = Table("Shop", key=Key("pk"), type_attribute="type")


class Member(Entity, table=club, key="M#{id}", kind=("Member", "User"), unique="email"):
    id: str = part()
    first: str
    last: str
    email: str | None = attr(was="mail", default=None)
    line: Line | None = None

    @classmethod
    def upgrade(cls, stored: dict[str, Any]) -> dict[str, Any]:
        if "name" in stored:
            stored["first"], stored["last"] = stored.pop("name").split(" ")
        return stored


OLD_MEMBER: dict[str, Any] = {
    "pk": {"S": "M#1"},
    "type": {"S": "User"},
    "name": {"S": "Ada King"},
    "mail": {"S": "ada@x.org"},
    "line": {"M": {"sku": {"S": "a"}, "quantity": {"N": "2"}, "gift": {"BOOL": True}}},
    "unknown": {"SS": ["kept"]},
}
MEMBER: dict[str, Any] = {
    "pk": {"S": "M#1"},
    "type": {"S": "Member"},
    "first": {"S": "Ada"},
    "last": {"S": "King"},
    "email": {"S": "ada@x.org"},
    "line": {"M": {"sku": {"S": "a"}, "count": {"N": "2"}, "gift": {"BOOL": True}}},
    "unknown": {"SS": ["kept"]},
}


def open_club(items: list[dict[str, Any]]) -> Engine:
    engine = Engine.open(":memory:", upkeep_seconds=None)
    Store(engine, StoreSettings([club])).create_table(club)
    put_all(engine, items)
    return engine


def read_members(engine: Engine) -> list[dict[str, Any]]:
    """Return the items without guards, and without the marker of complete guards."""
    items: list[dict[str, Any]] = engine.execute("Scan", {"TableName": "Shop"})["Items"]
    return [item for item in items if not is_guard(club, item)]


def test_former_kinds_and_names_are_rewritten_and_upgrades_are_stored(tmp_path: Path) -> None:
    with open_club([OLD_MEMBER]) as engine:
        first = backfill_table(location(engine), club, options(tmp_path))
        again = backfill_table(location(engine), club, options(tmp_path))
        [item] = read_members(engine)
        assert engine.verify() == []
    assert (first.changed, again.changed) == ({"Member": 1}, {})
    assert item == MEMBER


@pytest.mark.parametrize("name", ["name", "mail", "line", "unknown"])
def test_an_upgrade_is_not_stored_over_a_concurrent_change(tmp_path: Path, name: str) -> None:
    value = OLD_MEMBER[name] if name == "line" else {"S": "Bo Berg"}
    change = {
        "TableName": "Shop",
        "Key": {"pk": {"S": "M#1"}},
        "UpdateExpression": "SET #name = :value" + (" REMOVE mail" if name == "line" else ""),
        "ExpressionAttributeNames": {"#name": name},
        "ExpressionAttributeValues": {":value": value},
    }
    with open_club([OLD_MEMBER]) as engine:
        busy = Interfering(engine, change, "UpdateItem", times=1)
        backfill_table(location(busy), club, options(tmp_path))
        [item] = read_members(engine)
    expected = {
        "name": {**MEMBER, "first": {"S": "Bo"}, "last": {"S": "Berg"}},
        "mail": {**MEMBER, "email": {"S": "Bo Berg"}},
        "line": {name: each for name, each in MEMBER.items() if name != "email"},
        "unknown": {**MEMBER, "unknown": {"S": "Bo Berg"}},
    }
    assert item == expected[name]
    assert busy.updates == 2
