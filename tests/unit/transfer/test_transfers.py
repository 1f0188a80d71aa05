"""Copying, dumping and loading, on embedded engines."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from keyfold.engine import Engine
from keyfold.errors import (
    CheckpointUnusable,
    FileTaken,
    OptionInvalid,
    SourceUnreadable,
    TableMissing,
    TargetNotEmpty,
)
from keyfold.testing import FaultProfile, dynamodb
from keyfold.transfer import (
    Form,
    Progress,
    copy_table,
    dump_table,
    load_table,
)
from tests.unit.transfer.shop import (
    NOW,
    Failing,
    Time,
    location,
    make_orders,
    make_products,
    open_shop,
    options,
    put_all,
    read_all,
    shop,
)

ITEMS = [*make_orders(60), *make_products(15)]
BAD = {"pk": {"S": "USER#x"}, "sk": {"S": "ORDER#0001"}, "total": {"S": "much"}}
STRANGE = {"pk": {"S": "PLANET#x"}, "sk": {"S": "1"}}


def test_a_copy_holds_the_same_items(tmp_path: Path) -> None:
    with open_shop(items=ITEMS) as source, open_shop() as target:
        summary = copy_table(
            location(source), location(target, "b.db"), options(tmp_path), declared=shop
        )
        assert read_all(target) == read_all(source)
    assert summary.is_good
    assert summary.entities == {"Order": 60, "Product": 15}
    assert [each.fact for each in summary.comparisons] == ["", ""]
    assert summary.read_units > 0
    assert summary.write_units >= 75
    assert list(tmp_path.iterdir()) == []


def test_without_a_declaration_every_item_is_copied(tmp_path: Path) -> None:
    with open_shop(items=[*ITEMS, BAD, STRANGE]) as source, open_shop() as target:
        summary = copy_table(location(source), location(target, "b.db"), options(tmp_path))
        assert read_all(target) == read_all(source)
    assert (summary.is_good, summary.entities) == (True, {"items": 77})


def test_invalid_items_are_rejected_with_a_reason(tmp_path: Path) -> None:
    with open_shop(items=[*ITEMS, BAD, STRANGE]) as source, open_shop() as target:
        summary = copy_table(
            location(source), location(target, "b.db"), options(tmp_path), declared=shop
        )
        assert len(read_all(target)) == 75
    assert not summary.is_good
    assert summary.rejects == 2
    assert summary.rejects_file == str(tmp_path / "job.rejected.jsonl")
    lines = (tmp_path / "job.rejected.jsonl").read_text().splitlines()
    rejected = {line["Item"]["pk"]["S"]: line for line in map(json.loads, lines)}
    assert rejected["PLANET#x"]["reason"] == "its key matches no entity of the table"
    assert rejected["USER#x"]["reason"].startswith("total: Input should be a valid decimal")
    assert rejected["USER#x"]["Item"] == BAD


def test_a_missing_target_is_created_like_the_source(tmp_path: Path) -> None:
    with open_shop(items=ITEMS) as source, Engine.open(":memory:", upkeep_seconds=None) as target:
        goal = location(target, "b.db", "Other")
        with pytest.raises(TableMissing):
            copy_table(location(source), goal, options(tmp_path))
        copy_table(location(source), goal, options(tmp_path, creates=True))
        assert read_all(target, "Other") == read_all(source)
        made = target.execute("DescribeTable", {"TableName": "Other"})["Table"]
        [index] = made["GlobalSecondaryIndexes"]
        assert index["IndexName"] == "ByCity"
        described = target.execute("DescribeTimeToLive", {"TableName": "Other"})
        assert described["TimeToLiveDescription"]["AttributeName"] == "ttl"


def test_a_missing_target_is_created_as_declared(tmp_path: Path) -> None:
    with open_shop(items=ITEMS) as source, Engine.open(":memory:", upkeep_seconds=None) as target:
        # The state after a run that was killed before it enabled expiry.
        target.execute("CreateTable", shop.to_dynamodb())
        goal = location(target, "b.db")
        copy_table(location(source), goal, options(tmp_path, creates=True), declared=shop)
        described = target.execute("DescribeTimeToLive", {"TableName": "Shop"})
        assert described["TimeToLiveDescription"]["AttributeName"] == "ttl"


def test_a_target_with_items_is_refused(tmp_path: Path) -> None:
    with open_shop(items=ITEMS) as source, open_shop(items=[STRANGE]) as target:
        with pytest.raises(TargetNotEmpty, match=r"'Shop' of b\.db: it already holds items"):
            copy_table(location(source), location(target, "b.db"), options(tmp_path))
        assert len(read_all(target)) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_merge_reports_what_it_could_not_verify(tmp_path: Path) -> None:
    with open_shop(items=ITEMS) as source, open_shop(items=make_orders(70)[65:]) as target:
        merging = options(tmp_path, merges=True)
        summary = copy_table(location(source), location(target, "b.db"), merging, declared=shop)
        assert len(read_all(target)) == 80
    facts = {each.entity: each.fact for each in summary.comparisons}
    assert summary.is_good
    assert "so the checksums cannot be compared" in facts["Order"]
    assert facts["Product"] == ""


def test_concurrent_writes_to_the_target_are_noticed(tmp_path: Path) -> None:
    class MeddlingExecutor:
        def __init__(self, engine: Engine) -> None:
            self.engine = engine

        def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
            answer = self.engine.execute(operation, request)
            if operation == "BatchWriteItem":
                put_all(self.engine, [ITEMS[0] | {"note": {"S": "meddled"}}])
            return answer

    with open_shop(items=ITEMS) as source, open_shop() as target:
        goal = location(MeddlingExecutor(target), "b.db")
        summary = copy_table(location(source), goal, options(tmp_path, segments=1), declared=shop)
    assert not summary.is_good
    assert [each.entity for each in summary.comparisons if each.is_wrong] == ["Order"]


def test_a_failed_copy_resumes_where_it_stopped(tmp_path: Path) -> None:
    with open_shop(items=ITEMS) as source, open_shop() as target:
        failing = Failing(target, "BatchWriteItem", after=2)
        with pytest.raises(OSError, match="the line is dead"):
            copy_table(
                location(source), location(failing, "b.db"), options(tmp_path), declared=shop
            )
        assert 0 < len(read_all(target)) < 75
        assert (tmp_path / "job.checkpoint").exists()
        failing.left = 1_000
        summary = copy_table(
            location(source), location(failing, "b.db"), options(tmp_path), declared=shop
        )
        assert read_all(target) == read_all(source)
    assert summary.is_resumed
    assert summary.is_good
    assert summary.items == 75
    assert list(tmp_path.iterdir()) == []


def test_a_resumed_copy_reads_nothing_twice(tmp_path: Path) -> None:
    class CountingExecutor:
        def __init__(self, engine: Engine) -> None:
            self.engine = engine
            self.scanned = 0

        def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
            answer = self.engine.execute(operation, request)
            self.scanned += len(answer.get("Items", ()))
            return answer

    slow = options(tmp_path, segments=1, page_items=10, verifies=False)
    with open_shop(items=make_orders(100)) as source, open_shop() as target:
        counting = CountingExecutor(source)
        failing = Failing(target, "BatchWriteItem", after=3)
        with pytest.raises(OSError, match="the line is dead"):
            copy_table(location(counting), location(failing), slow)
        before = len(read_all(target))
        counting.scanned, failing.left = 0, 1_000
        copy_table(location(counting), location(failing), slow)
        assert counting.scanned == 100 - before
        assert before > 0


def test_a_finished_job_with_a_checkpoint_is_only_verified_again(tmp_path: Path) -> None:
    keeping = options(tmp_path, keeps_checkpoint=True)
    with open_shop(items=ITEMS) as source, open_shop() as target:
        copy_table(location(source), location(target, "b.db"), keeping)
        summary = copy_table(location(source), location(target, "b.db"), keeping)
    assert (summary.is_resumed, summary.items, summary.is_good) == (True, 75, True)
    assert summary.read_units > 0.0
    assert summary.write_units == 0.0


def test_a_checkpoint_of_another_copy_is_refused(tmp_path: Path) -> None:
    with open_shop(items=ITEMS) as source, open_shop() as target:
        failing = Failing(target, "BatchWriteItem", after=1)
        with pytest.raises(OSError, match="dead"):
            copy_table(location(source), location(failing, "b.db"), options(tmp_path))
        with pytest.raises(CheckpointUnusable, match=r"its target is 'b\.db', not 'c\.db'"):
            copy_table(location(source), location(target, "c.db"), options(tmp_path))
        with pytest.raises(CheckpointUnusable, match="its segments is 4, not 2"):
            copy_table(location(source), location(target, "b.db"), options(tmp_path, segments=2))


def test_throttled_and_unprocessed_items_are_retried(tmp_path: Path) -> None:
    time = Time()
    faults = FaultProfile(throttling=0.2, unprocessed=0.3, seed=5)
    with open_shop(items=ITEMS) as source, dynamodb() as service:
        service.engine.execute("CreateTable", shop.to_dynamodb())
        with service.under(faults):
            summary = copy_table(
                location(source), location(service, "aws"), options(tmp_path, time)
            )
        assert read_all(service) == read_all(source)
    assert summary.is_good
    assert time.slept


def test_rates_are_kept(tmp_path: Path) -> None:
    time = Time()
    limited = options(tmp_path, time, write_rate=10.0, segments=1, verifies=False)
    with open_shop(items=make_products(100)) as source, open_shop() as target:
        summary = copy_table(location(source), location(target), limited)
    assert summary.write_units == 100.0
    # The bucket starts full, and nothing waits after the last call.
    assert time.seconds == 8.0


def test_progress_reports_items_bytes_and_rates(tmp_path: Path) -> None:
    seen: list[Progress] = []
    watching = options(tmp_path, Time(tick=0.5), segments=1, watch=seen.append)
    with open_shop(items=ITEMS) as source, open_shop() as target:
        copy_table(location(source), location(target), watching)
    moving = [each for each in seen if each.phase == "moving"]
    assert moving[-1].items == 75
    assert moving[-1].size_bytes > 75 * 20
    assert moving[-1].items_per_second > 0
    assert moving[-1].write_units >= 75
    assert seen[-1].phase == "verifying"
    assert (seen[-1].items, seen[-1].expected_items, seen[-1].seconds_left) == (75, 75, 0.0)


def test_expired_items_are_copied_and_may_be_missing_later(tmp_path: Path) -> None:
    old = ITEMS[0] | {"ttl": {"N": str(int(NOW) - 5)}}

    class SweepingExecutor:
        """Deletes expired items before each read."""

        def __init__(self, engine: Engine) -> None:
            self.engine = engine

        def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
            if operation == "Scan" and "Segment" in request:
                key = {name: old[name] for name in ("pk", "sk")}
                self.engine.execute("DeleteItem", {"TableName": "Shop", "Key": key})
            return self.engine.execute(operation, request)

    with open_shop(items=[old, *ITEMS[1:]]) as source, open_shop() as target:
        goal = location(SweepingExecutor(target), "b.db")
        summary = copy_table(location(source), goal, options(tmp_path), declared=shop)
    facts = {each.entity: each.fact for each in summary.comparisons}
    assert summary.is_good
    assert facts["Order"].startswith("1 had expired at the start, of which 0 remain")


def test_options_out_of_range_are_refused(tmp_path: Path) -> None:
    wrongs: list[dict[str, Any]] = [{"segments": 0}, {"read_rate": 0.0}, {"write_rate": -1.0}]
    for wrong in wrongs:
        with pytest.raises(OptionInvalid):
            options(tmp_path, **wrong)


# Files.

FORMS: list[tuple[Form, str]] = [
    ("lines", "items.jsonl"),
    ("lines", "items.jsonl.gz"),
    ("export", "folder"),
    ("csv", "folder"),
]


@pytest.mark.parametrize(("form", "name"), FORMS)
@pytest.mark.parametrize("items", [ITEMS, []], ids=["items", "nothing"])
def test_a_dump_can_be_loaded(
    tmp_path: Path, form: Form, name: str, items: list[dict[str, Any]]
) -> None:
    file = tmp_path / name
    with open_shop(items=items) as source, Engine.open(":memory:", upkeep_seconds=None) as target:
        dumped = dump_table(location(source), file, options(tmp_path), form=form, declared=shop)
        assert [each.name for each in tmp_path.iterdir()] == [name]
        making = options(tmp_path, creates=True)
        loaded = load_table(file, location(target), making, declared=shop)
        assert read_all(target) == read_all(source)
    assert dumped.is_good
    assert loaded.is_good
    assert dumped.items == loaded.items == len(items)
    assert dumped.entities == loaded.entities


def test_lines_are_as_dynamodb_exports_them(tmp_path: Path) -> None:
    file = tmp_path / "items.jsonl"
    with open_shop(items=make_products(1)) as source:
        dump_table(location(source), file, options(tmp_path))
    assert json.loads(file.read_text()) == {
        "Item": {
            "pk": {"S": "PRODUCT#p0"},
            "sk": {"S": "PRODUCT"},
            "name": {"S": "thing 0"},
            "is_sold": {"BOOL": False},
        }
    }


@pytest.mark.parametrize(("form", "name"), FORMS)
def test_a_failed_dump_resumes_and_creates_the_file_only_at_the_end(
    tmp_path: Path, form: Form, name: str
) -> None:
    file = tmp_path / name
    slow: dict[str, Any] = {"segments": 2, "page_items": 8}
    with open_shop(items=ITEMS) as source, open_shop() as target:
        failing = Failing(source, "Scan", after=4)
        with pytest.raises(OSError, match="dead"):
            dump_table(location(failing), file, options(tmp_path, **slow), form=form, declared=shop)
        assert not file.exists()
        parts = [each for each in (tmp_path / f"{name}.parts").iterdir() if each.is_file()]
        for part in parts:
            # The state after a process was killed between writing lines and recording them.
            part.write_bytes(part.read_bytes() + b"half a li")
        failing.left = 1_000
        summary = dump_table(
            location(failing), file, options(tmp_path, **slow), form=form, declared=shop
        )
        assert summary.is_resumed
        assert summary.is_good
        assert [each.name for each in tmp_path.iterdir()] == [name]
        load_table(file, location(target), options(tmp_path), declared=shop)
        assert read_all(target) == read_all(source)


def test_an_export_of_the_engine_can_be_loaded(tmp_path: Path) -> None:
    (tmp_path / "buckets" / "orders").mkdir(parents=True)
    opened = Engine.open(":memory:", upkeep_seconds=None, buckets=tmp_path / "buckets")
    with opened as source, open_shop() as target:
        source.execute("CreateTable", shop.to_dynamodb())
        put_all(source, ITEMS)
        recovery = {"PointInTimeRecoveryEnabled": True}
        source.execute(
            "UpdateContinuousBackups",
            {"TableName": "Shop", "PointInTimeRecoverySpecification": recovery},
        )
        arn = source.execute("DescribeTable", {"TableName": "Shop"})["Table"]["TableArn"]
        source.execute("ExportTableToPointInTime", {"TableArn": arn, "S3Bucket": "orders"})
        source.run_upkeep()
        folder = tmp_path / "buckets" / "orders"
        summary = load_table(folder, location(target), options(tmp_path), declared=shop)
        assert read_all(target) == read_all(source)
    assert (summary.is_good, summary.items) == (True, 75)


def test_the_engine_can_import_a_dump(tmp_path: Path) -> None:
    (tmp_path / "buckets" / "orders").mkdir(parents=True)
    opened = Engine.open(":memory:", upkeep_seconds=None, buckets=tmp_path / "buckets")
    with open_shop(items=ITEMS) as source, opened as target:
        folder = tmp_path / "buckets" / "orders" / "shop"
        dump_table(location(source), folder, options(tmp_path), form="export")
        target.execute(
            "ImportTable",
            {
                "S3BucketSource": {"S3Bucket": "orders", "S3KeyPrefix": "shop/data/"},
                "InputFormat": "DYNAMODB_JSON",
                "InputCompressionType": "GZIP",
                "TableCreationParameters": shop.to_dynamodb(),
            },
        )
        target.run_upkeep()
        assert read_all(target) == read_all(source)


def test_an_existing_file_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "items.jsonl"
    file.write_text("precious")
    with open_shop(items=ITEMS) as source, pytest.raises(FileTaken, match="it already exists"):
        dump_table(location(source), file, options(tmp_path))
    assert file.read_text() == "precious"
    assert [each.name for each in tmp_path.iterdir()] == ["items.jsonl"]


def test_a_failed_load_resumes_where_it_stopped(tmp_path: Path) -> None:
    file = tmp_path / "items.jsonl.gz"
    many = make_orders(1_200)
    with open_shop(items=many) as source, open_shop() as target:
        dump_table(location(source), file, options(tmp_path))
        failing = Failing(target, "BatchWriteItem", after=30)
        with pytest.raises(OSError, match="dead"):
            load_table(file, location(failing), options(tmp_path), declared=shop)
        failing.left = 1_000
        summary = load_table(file, location(failing), options(tmp_path), declared=shop)
        assert read_all(target) == read_all(source)
    assert (summary.is_resumed, summary.is_good, summary.items) == (True, True, 1_200)


def test_a_load_is_not_resumed_if_its_file_has_changed(tmp_path: Path) -> None:
    file = tmp_path / "items.jsonl"
    with open_shop(items=make_orders(600)) as source, open_shop() as target:
        dump_table(location(source), file, options(tmp_path))
        failing = Failing(target, "BatchWriteItem", after=22)
        with pytest.raises(OSError, match="dead"):
            load_table(file, location(failing), options(tmp_path))
        file.write_bytes(file.read_bytes()[:1_000])
        with pytest.raises(CheckpointUnusable, match="its file sizes is"):
            load_table(file, location(target), options(tmp_path))


def test_invalid_lines_and_items_are_rejected(tmp_path: Path) -> None:
    file = tmp_path / "items.jsonl"
    long_key = {"pk": {"S": "USER#" + "u" * 3_000}, "sk": {"S": "ORDER#0001"}, "total": {"N": "1"}}
    lines = [
        {"Item": {"pk": {"S": "USER#a"}, "sk": {"S": "ORDER#0001"}, "total": {"N": "1"}}},
        {"Item": BAD},
        {"Item": long_key},
        {"Item": {"pk": {"S": "USER#b"}, "total": {"N": "1"}}},
    ]
    file.write_text("\n".join([*map(json.dumps, lines), "oops"]))
    with open_shop() as target:
        summary = load_table(file, location(target), options(tmp_path), declared=shop)
        assert list(read_all(target)) == ["USER#a ORDER#0001"]
    assert (summary.items, summary.rejects, summary.is_good) == (1, 4, False)
    rejected = [
        json.loads(each) for each in Path(str(summary.rejects_file)).read_text().splitlines()
    ]
    reasons = {each.get("line") or each["Item"]["pk"]["S"][:6]: each["reason"] for each in rejected}
    assert reasons["oops"] == "line 5: it is not JSON: Expecting value at 'oops'"
    assert "its key matches no entity of the table" in [each["reason"] for each in rejected]
    assert any("Size of hashkey has exceeded" in each["reason"] for each in rejected)


def test_rejected_items_can_be_loaded_after_they_are_fixed(tmp_path: Path) -> None:
    fixed = {"pk": {"S": "USER#a"}, "sk": {"S": "ORDER#0001"}, "total": {"N": "1"}}
    file = tmp_path / "items.rejected.jsonl"
    file.write_text(json.dumps({"reason": "total: too much", "Item": fixed}))
    with open_shop() as target:
        assert load_table(file, location(target), options(tmp_path), declared=shop).is_good
        assert list(read_all(target)) == ["USER#a ORDER#0001"]


def test_two_lines_with_the_same_key_are_noticed(tmp_path: Path) -> None:
    file = tmp_path / "items.jsonl"
    [item] = make_products(1)
    again = item | {"name": {"S": "other"}}
    file.write_text(json.dumps(item) + "\n" + json.dumps(again))
    with open_shop() as target:
        summary = load_table(file, location(target), options(tmp_path), declared=shop)
        assert read_all(target)["PRODUCT#p0 PRODUCT"]["name"] == {"S": "other"}
    assert not summary.is_good
    [found] = summary.comparisons
    assert found.fact.startswith("the target holds 1; items with the same key replace each other")


def test_without_a_declaration_no_table_is_created(tmp_path: Path) -> None:
    file = tmp_path / "items.jsonl"
    file.write_text("")
    with open_shop() as target:
        goal = location(target, "b.db", "Other")
        with pytest.raises(TableMissing, match="create it from its declaration"):
            load_table(file, goal, options(tmp_path, creates=True))


def test_one_entity_can_be_dumped_alone(tmp_path: Path) -> None:
    file = tmp_path / "products.csv"
    given = options(tmp_path)
    with open_shop(items=ITEMS) as source:
        summary = dump_table(
            location(source), file, given, form="csv", declared=shop, entity="Product"
        )
        lines = tmp_path / "products.jsonl.gz"
        dump_table(location(source), lines, given, declared=shop, entity="Product")
    assert summary.entities == {"Product": 15}
    rows = file.read_text().splitlines()
    assert rows[0] == "code,name,is_sold,*"
    assert "p3,thing 3,false," in rows
    assert len(gzip.decompress(lines.read_bytes()).splitlines()) == 15


def test_handwritten_csv_is_loaded(tmp_path: Path) -> None:
    file = tmp_path / "Order.csv"
    file.write_text("number,user,total,note\n1,ada,1.50,hello\n2,bob,2,\n3,bob,much,x\n4,bob\n")
    with open_shop() as target:
        summary = load_table(file, location(target), options(tmp_path), declared=shop)
        found = read_all(target)
    assert (summary.items, summary.rejects) == (2, 2)
    assert found["USER#ada ORDER#0001"] == {
        "pk": {"S": "USER#ada"},
        "sk": {"S": "ORDER#0001"},
        "city_sk": {"S": "ORDER#0001"},
        "total": {"N": "1.5"},
        "note": {"S": "hello"},
    }
    rejected = [
        json.loads(each) for each in Path(str(summary.rejects_file)).read_text().splitlines()
    ]
    assert [each["line"] for each in rejected] == ["3,bob,much,x", "4,bob"]
    assert rejected[0]["reason"].startswith("total: 'much' is not valid in this column")
    assert rejected[1]["reason"] == "the row has 2 cells; there are 4 columns"


@pytest.mark.parametrize(
    ("name", "content", "fact"),
    [
        ("Order.csv", "", "it is empty"),
        ("Order.csv", "user,number,price\n", "unknown column 'price'. The columns are user"),
        ("Order.csv", "user,number,user,total\n", "duplicate column user"),
        ("Order.csv", "user,total\n", "missing column number. Every item needs a value for it."),
        ("Order.csv", 'user,number,total\n"a\n', "it is not valid CSV: unexpected end of data"),
        ("orders.csv", "user,number,total\n", "so the entity of its rows is unknown"),
        ("Order.csv", b"user,number,total\n\xff\xfe,1,1\n", "it is not UTF-8"),
    ],
)
def test_invalid_csv_is_refused_with_a_reason(
    tmp_path: Path, name: str, content: str | bytes, fact: str
) -> None:
    file = tmp_path / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with open_shop() as target, pytest.raises(SourceUnreadable) as refused:
        load_table(file, location(target), options(tmp_path), declared=shop)
    assert fact in str(refused.value)


def test_a_csv_folder_may_only_have_files_of_entities(tmp_path: Path) -> None:
    (tmp_path / "Order.csv").write_text("user,number,total\n")
    (tmp_path / "Planet.csv").write_text("name\n")
    with open_shop() as target, pytest.raises(SourceUnreadable, match="no entity 'Planet'"):
        load_table(tmp_path, location(target), options(tmp_path), declared=shop)


def test_csv_needs_a_declaration_and_a_declared_entity(tmp_path: Path) -> None:
    given = options(tmp_path)
    with open_shop() as source:
        with pytest.raises(
            OptionInvalid, match="x is CSV, which needs the declaration of the table"
        ):
            dump_table(location(source), tmp_path / "x", given, form="csv")
        with pytest.raises(OptionInvalid, match="Shop has Order, Product"):
            dump_table(location(source), tmp_path / "x", given, declared=shop, entity="Planet")
        with pytest.raises(OptionInvalid, match="It needs the declaration of the table"):
            dump_table(location(source), tmp_path / "x", given, entity="Order")
    assert list(tmp_path.iterdir()) == []
