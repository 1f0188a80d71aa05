"""Imports: load the files of a folder into a new table, and count errors."""

from __future__ import annotations

import gzip
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keyfold.engine import Engine
from keyfold.engine.bulk.import_formats import has_zstd
from keyfold.engine.bulk.import_job import BATCH_RECORDS
from keyfold.errors import FileBusy, ImportConflictException, ValidationException
from tests.unit.engine.clocks import Clock
from tests.unit.engine.test_backups import describe, items_of

PARAMETERS: dict[str, Any] = {
    "TableName": "Imported",
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "n", "AttributeType": "N"},
    ],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-n",
            "KeySchema": [{"AttributeName": "n", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    "BillingMode": "PAY_PER_REQUEST",
}


@pytest.fixture
def bucket(tmp_path: Path) -> Path:
    folder = tmp_path / "buckets" / "orders"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def engine(bucket: Path) -> Iterator[Engine]:
    with Engine.open(
        ":memory:", clock=Clock(), upkeep_seconds=None, buckets=bucket.parent
    ) as engine:
        yield engine
        assert engine.verify() == []


def begin(engine: Engine, prefix: str = "", **more: Any) -> str:
    request = {
        "S3BucketSource": {"S3Bucket": "orders", "S3KeyPrefix": prefix},
        "InputFormat": "DYNAMODB_JSON",
        "TableCreationParameters": PARAMETERS,
        **more,
    }
    return engine.execute("ImportTable", request)["ImportTableDescription"]["ImportArn"]


def describe_import(engine: Engine, arn: str) -> dict[str, Any]:
    return engine.execute("DescribeImport", {"ImportArn": arn})["ImportTableDescription"]


def run_import(engine: Engine, prefix: str = "", **more: Any) -> dict[str, Any]:
    arn = begin(engine, prefix, **more)
    engine.run_upkeep()
    return describe_import(engine, arn)


def counts(described: dict[str, Any]) -> tuple[str, int, int, int]:
    names = ("ImportStatus", "ProcessedItemCount", "ImportedItemCount", "ErrorCount")
    status, *numbers = (described[name] for name in names)
    return status, *numbers


def write_items(path: Path, count: int, start: int = 0) -> None:
    lines = [
        json.dumps({"Item": {"pk": {"S": f"item-{number}"}, "n": {"N": str(number % 7)}}})
        for number in range(start, start + count)
    ]
    path.write_text("\n".join(lines) + "\n")


def test_every_file_with_the_prefix_is_imported(engine: Engine, bucket: Path) -> None:
    (bucket / "data").mkdir()
    write_items(bucket / "data" / "a.json", 3)
    write_items(bucket / "data" / "b.json", 4, start=3)
    write_items(bucket / "other.json", 9, start=100)
    described = run_import(engine, "data/")
    assert counts(described) == ("COMPLETED", 7, 7, 0)
    sizes = [file.stat().st_size for file in (bucket / "data").iterdir()]
    assert described["ProcessedSizeBytes"] == sum(sizes)
    assert items_of(engine, "Imported").keys() == {f"item-{number}" for number in range(7)}
    assert describe(engine, "Imported")["GlobalSecondaryIndexes"][0]["ItemCount"] == 7


def test_invalid_records_are_counted_and_the_rest_is_imported(
    engine: Engine, bucket: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lines = [
        '{"Item": {"pk": {"S": "good"}}}',
        "",
        '{"Item": {"n": {"N": "1"}}}',
        '{"Item": {"pk": {"N": "1"}}}',
        '{"Item": {"pk": {"S": "x"}, "n": {"S": "no number"}}}',
        '{"Item": {"pk": {"S": 7}}}',
        json.dumps({"Item": {"pk": {"S": "large"}, "body": {"S": "x" * 409_600}}}),
        '{"Item": {"pk": {"S": "last"}}}',
    ]
    (bucket / "a.json").write_text("\n".join(lines))
    with caplog.at_level(logging.WARNING, "keyfold.imports"):
        described = run_import(engine)
    assert counts(described) == ("FAILED", 7, 2, 5)
    assert described["FailureCode"] == "ItemValidationError"
    assert described["FailureMessage"].startswith("Some of the items failed validation checks")
    assert items_of(engine, "Imported").keys() == {"good", "last"}
    (record,) = caplog.records
    assert "5 of 7 records were not imported, the first one because One or more" in (
        record.getMessage()
    )


@pytest.mark.parametrize("line", ["not JSON", '["an array"]', '{"Thing": {"pk": {"S": "x"}}}'])
def test_a_record_that_is_not_an_item_ends_its_file(
    engine: Engine, bucket: Path, line: str
) -> None:
    good = [f'{{"Item": {{"pk": {{"S": "{name}"}}}}}}' for name in ("first", "lost", "other")]
    (bucket / "a.json").write_text("\n".join([good[0], line, line, good[1]]))
    (bucket / "b.json").write_text(good[2])
    assert counts(run_import(engine)) == ("FAILED", 3, 2, 1)
    assert items_of(engine, "Imported").keys() == {"first", "other"}


def test_records_need_no_newlines_between_them(engine: Engine, bucket: Path) -> None:
    lines = [
        f'{{"Item": {{"pk": {{"S": "\N{SNOWMAN} {name}"}}}}}}' for name in ("a", "b", "c", "d", "e")
    ]
    text = f"{lines[0]}{lines[1]}\n\n{lines[2]} {lines[3]}\t{lines[4]}"
    (bucket / "a.json").write_text(text)
    described = run_import(engine)
    assert counts(described) == ("COMPLETED", 5, 5, 0)
    # Blank lines are not counted.
    assert described["ProcessedSizeBytes"] == len(text.encode()) - 1
    assert items_of(engine, "Imported").keys() == {f"\N{SNOWMAN} {name}" for name in "abcde"}


def test_what_follows_a_record_without_a_newline_may_be_malformed(
    engine: Engine, bucket: Path, caplog: pytest.LogCaptureFixture
) -> None:
    good = b'{"Item": {"pk": {"S": "good"}}}'
    for name, more in (("a", b"{"), ("b", b"[" * 100_000), ("c", b'{"Item": {"pk": {"N": "1"}}}')):
        (bucket / name).write_bytes(good.replace(b"good", name.encode()) + more + good)
    (bucket / "d").write_bytes(good + b"\xff")
    with caplog.at_level(logging.WARNING, "keyfold.imports"):
        assert counts(run_import(engine)) == ("FAILED", 8, 4, 4)
    assert items_of(engine, "Imported").keys() == {"a", "b", "c", "good"}


def test_compressed_files_are_read(engine: Engine, bucket: Path) -> None:
    write_items(bucket / "plain.json", 5)
    content = gzip.compress((bucket / "plain.json").read_bytes())
    (bucket / "plain.json").unlink()
    (bucket / "a.json.gz").write_bytes(content)
    (bucket / "broken.json.gz").write_bytes(content[:-20])
    described = run_import(engine, InputCompressionType="GZIP")
    status, _, imported, errors = counts(described)
    assert (status, errors) == ("FAILED", 1)
    assert imported >= 5
    assert len(items_of(engine, "Imported")) == 5


def test_csv_values_are_strings_except_for_typed_keys(engine: Engine, bucket: Path) -> None:
    text = 'pk;n;note\none;1.50;"a; b"\ntwo;;\n;3;no key\nthree;word;no number\nfour;4\n'
    (bucket / "a.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    options = {"Csv": {"Delimiter": ";"}}
    described = run_import(engine, InputFormat="CSV", InputFormatOptions=options)
    assert counts(described) == ("FAILED", 5, 2, 3)
    assert items_of(engine, "Imported") == {
        "one": {"pk": {"S": "one"}, "n": {"N": "1.5"}, "note": {"S": "a; b"}},
        "two": {"pk": {"S": "two"}, "note": {"S": ""}},
    }


def test_an_invalid_csv_record_does_not_affect_the_others(engine: Engine, bucket: Path) -> None:
    wrong = [b"two,\xff\n", b"three," + b"x" * 420_000 + b"\n"]
    (bucket / "a.csv").write_bytes(b"pk,note\none,1\n" + b"".join(wrong) + b"four,4\nfive,5\n")
    described = run_import(engine, InputFormat="CSV")
    assert counts(described) == ("FAILED", 5, 3, 2)
    assert items_of(engine, "Imported").keys() == {"one", "four", "five"}


def test_with_a_header_list_the_first_line_is_data(engine: Engine, bucket: Path) -> None:
    (bucket / "a.csv").write_text("one,1\ntwo,2\n")
    options = {"Csv": {"HeaderList": ["pk", "n"]}}
    described = run_import(engine, InputFormat="CSV", InputFormatOptions=options)
    assert counts(described) == ("COMPLETED", 2, 2, 0)
    assert items_of(engine, "Imported")["two"] == {"pk": {"S": "two"}, "n": {"N": "2"}}


def test_a_large_import_resumes_where_it_stopped(bucket: Path, tmp_path: Path) -> None:
    many = BATCH_RECORDS * 55
    write_items(bucket / "a.json", many // 2)
    write_items(bucket / "b.json", many - many // 2, start=many // 2)
    path = tmp_path / "things.db"
    with Engine.open(
        path, durability="process", upkeep_seconds=None, buckets=bucket.parent
    ) as engine:
        arn = begin(engine)
        described = describe_import(engine, arn)
        assert counts(described) == ("IN_PROGRESS", BATCH_RECORDS * 50, BATCH_RECORDS * 50, 0)
        assert describe(engine, "Imported")["TableStatus"] == "CREATING"
        assert engine.verify() == []
    with Engine.open(
        path, durability="process", upkeep_seconds=None, buckets=bucket.parent
    ) as engine:
        engine.run_upkeep()
        assert counts(describe_import(engine, arn)) == ("COMPLETED", many, many, 0)
        assert len(items_of(engine, "Imported")) == many


def test_a_batch_that_failed_to_be_written_is_read_again(
    engine: Engine, bucket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_items(bucket / "a.json", BATCH_RECORDS * 2)
    storage = engine._storage
    write, calls = storage.write, 0

    def fail_once(work: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise FileBusy("things.db", "another process kept it locked for too long")
        return write(work)

    monkeypatch.setattr(storage, "write", fail_once)
    arn = begin(engine)
    assert describe_import(engine, arn)["ImportStatus"] == "IN_PROGRESS"
    engine.run_upkeep()
    done = ("COMPLETED", BATCH_RECORDS * 2, BATCH_RECORDS * 2, 0)
    assert counts(describe_import(engine, arn)) == done


def test_without_the_bucket_the_import_fails_and_leaves_no_table(
    engine: Engine, bucket: Path
) -> None:
    bucket.rmdir()
    described = run_import(engine)
    assert (described["ImportStatus"], described["FailureCode"]) == ("FAILED", "S3NoSuchBucket")
    assert engine.execute("ListTables", {})["TableNames"] == []


def test_an_import_of_no_files_leaves_an_empty_table(engine: Engine, bucket: Path) -> None:
    (bucket / "a.json").write_text("")
    for prefix, name in (("", "Imported"), ("nothing/", "Other")):
        parameters = {**PARAMETERS, "TableName": name}
        described = run_import(engine, prefix, TableCreationParameters=parameters)
        assert counts(described) == ("COMPLETED", 0, 0, 0)
        assert described["ProcessedSizeBytes"] == 0
        assert items_of(engine, name) == {}


def test_a_symbolic_link_out_of_the_bucket_is_not_followed(
    engine: Engine, bucket: Path, tmp_path: Path
) -> None:
    write_items(tmp_path / "secret.json", 3)
    (bucket / "a.json").symlink_to(tmp_path / "secret.json")
    assert counts(run_import(engine)) == ("COMPLETED", 0, 0, 0)


def test_a_token_identifies_one_import(engine: Engine, bucket: Path) -> None:
    write_items(bucket / "a.json", 1)
    arn = begin(engine, ClientToken="once")
    assert begin(engine, ClientToken="once") == arn
    with pytest.raises(ImportConflictException):
        begin(engine, "a", ClientToken="once")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"InputFormat": "ION"}, "ION is not supported here"),
        (
            {"InputFormat": "CSV", "InputFormatOptions": {"Csv": {"HeaderList": ["a", "a"]}}},
            "must not name a column twice",
        ),
    ],
)
def test_invalid_requests_are_refused(engine: Engine, more: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationException, match=message):
        begin(engine, **more)
    assert engine.execute("ListTables", {})["TableNames"] == []


def test_zstd_is_supported_if_this_python_has_it(engine: Engine, bucket: Path) -> None:
    if has_zstd():
        (bucket / "a.json.zst").write_bytes(b"not compressed")
        described = run_import(engine, InputCompressionType="ZSTD")
        assert counts(described) == ("FAILED", 1, 0, 1)
    else:
        with pytest.raises(ValidationException, match="ZSTD is not supported by this version"):
            begin(engine, InputCompressionType="ZSTD")
