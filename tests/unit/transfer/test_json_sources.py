from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from keyfold.errors import SourceUnreadable
from keyfold.transfer._entities import Reject
from keyfold.transfer._json_sources import md5_of, open_json_source, read_line, to_line
from keyfold.values import Item


def items_of(source: Any, segment: str, position: Any = None) -> list[Item]:
    return [item for batch in source.read(segment, position) for item in batch.items]


def make_item(number: int) -> Item:
    return {"pk": {"S": f"item {number}"}, "n": {"N": str(number)}, "b": {"B": "AP8="}}


def write_export(folder: Path, **summary: Any) -> None:
    """Write an export in DynamoDB's layout: two data files, one of them empty."""
    data = folder / "data"
    data.mkdir(parents=True)
    entries: list[str] = []
    for name, items in (("aa.json.gz", [make_item(1), make_item(2)]), ("bb.json.gz", [])):
        (data / name).write_bytes(gzip.compress(b"".join(map(to_line, items))))
        key = f"prefix/AWSDynamoDB/0169-2d87/data/{name}"
        entries.append(
            json.dumps(
                {
                    "itemCount": len(items),
                    "md5Checksum": md5_of(data / name),
                    "etag": "x-1",
                    "dataFileS3Key": key,
                }
            )
        )
    (folder / "manifest-files.json").write_text("\n".join(entries) + "\n")
    manifest = {"version": "2020-06-30", "itemCount": 2, "outputFormat": "DYNAMODB_JSON", **summary}
    (folder / "manifest-summary.json").write_text(json.dumps(manifest, indent=2))


@pytest.mark.parametrize(
    "line",
    [
        b'{"Item":{"pk":{"S":"a"},"n":{"N":"1e1"}}}',
        b'{"pk":{"S":"a"},"n":{"N":"10.0"}}',
        b'{"reason":"no good","Item":{"pk":{"S":"a"},"n":{"N":"10"}}}',
        b' {"Item": {"n": {"N": "10"}, "pk": {"S": "a"}}} \r\n',
    ],
)
def test_a_line_has_an_item_with_or_without_a_wrapper(line: bytes) -> None:
    assert read_line(line) == {"pk": {"S": "a"}, "n": {"N": "10"}}


def test_an_item_may_have_an_attribute_named_item() -> None:
    for item in (
        {"Item": {"S": "a"}},
        {"Item": {"M": {"x": {"S": "y"}}}, "pk": {"S": "a"}},
    ):
        assert read_line(json.dumps(item).encode()) == item
        assert read_line(json.dumps({"Item": item}).encode()) == item


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"pk;sk", "it is not JSON: unexpected character"),
        (b"[1]", "it is not a JSON object"),
        (b'{"Item":{"pk":{"N":"one"}}}', "The parameter cannot be converted to a numeric value"),
        (b'{"pk":"a"}', "Unexpected value type in payload"),
        (b'{"Item":{"pk":{"SS":[]}}}', "One or more parameter values were invalid: An string set"),
    ],
)
def test_a_line_without_an_item_is_rejected_with_a_reason(line: bytes, reason: str) -> None:
    read = read_line(line)
    assert isinstance(read, Reject)
    assert read.reason.startswith(reason)
    assert read.line is not None or read.item is not None


@pytest.mark.parametrize("is_compressed", [False, True])
def test_reading_can_resume_at_any_batch(tmp_path: Path, is_compressed: bool) -> None:
    file = tmp_path / "items.jsonl"
    data = b"\n".join(to_line(make_item(number)) for number in range(1_300))
    file.write_bytes(gzip.compress(data) if is_compressed else data)
    source = open_json_source(file)
    batches = list(source.read("items.jsonl", None))
    assert [len(batch.items) for batch in batches] == [500, 500, 300]
    assert [batch.is_last for batch in batches] == [False, False, True]
    rest = items_of(source, "items.jsonl", batches[0].position)
    assert rest == [make_item(number) for number in range(500, 1_300)]
    assert items_of(source, "items.jsonl", batches[2].position) == []


def test_the_last_newline_is_optional_and_a_byte_order_mark_is_allowed(tmp_path: Path) -> None:
    file = tmp_path / "items.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + to_line(make_item(1)) + to_line(make_item(2)).rstrip())
    assert items_of(open_json_source(file), "items.jsonl") == [make_item(1), make_item(2)]


def test_a_folder_of_files_has_a_segment_for_each(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(to_line(make_item(1)))
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(to_line(make_item(2))))
    (tmp_path / "notes.txt").write_text("no items")
    source = open_json_source(tmp_path)
    assert source.segments == ("a.json", "b.jsonl.gz")
    assert items_of(source, "b.jsonl.gz") == [make_item(2)]


@pytest.mark.parametrize("below", [".", "AWSDynamoDB/0169-2d87"])
def test_an_export_of_dynamodb_is_read_by_its_manifest(tmp_path: Path, below: str) -> None:
    write_export(tmp_path / below)
    source = open_json_source(tmp_path)
    assert (source.segments, source.expected_items) == (("aa.json.gz", "bb.json.gz"), 2)
    assert items_of(source, "aa.json.gz") == [make_item(1), make_item(2)]
    assert items_of(source, "bb.json.gz") == []


@pytest.mark.parametrize(
    ("summary", "fact"),
    [
        ({"outputFormat": "ION"}, "its format is ION. Export the table as DYNAMODB_JSON."),
        ({"exportType": "INCREMENTAL_EXPORT"}, "it is an incremental export"),
    ],
)
def test_an_export_of_another_kind_is_refused(
    tmp_path: Path, summary: dict[str, str], fact: str
) -> None:
    write_export(tmp_path / "export", **summary)
    with pytest.raises(SourceUnreadable) as refused:
        open_json_source(tmp_path / "export")
    assert fact in str(refused.value)


def test_an_export_that_contradicts_its_manifest_is_refused(tmp_path: Path) -> None:
    write_export(tmp_path)
    file = tmp_path / "data" / "aa.json.gz"
    file.write_bytes(gzip.compress(to_line(make_item(1))))
    with pytest.raises(SourceUnreadable, match="its MD5 differs from the manifest's"):
        open_json_source(tmp_path)
    file.unlink()
    with pytest.raises(SourceUnreadable, match=r"its manifest lists aa\.json\.gz"):
        open_json_source(tmp_path)


def test_several_exports_in_one_folder_are_refused(tmp_path: Path) -> None:
    for name in ("01-a", "02-b"):
        write_export(tmp_path / "AWSDynamoDB" / name)
    with pytest.raises(SourceUnreadable, match=r"several exports: 01-a, 02-b. Name one."):
        open_json_source(tmp_path)


def test_unreadable_files_are_reported_with_a_reason(tmp_path: Path) -> None:
    with pytest.raises(SourceUnreadable, match="no such file or folder"):
        open_json_source(tmp_path / "absent")
    with pytest.raises(SourceUnreadable, match=r"the folder has no manifest-files\.json"):
        open_json_source(tmp_path)
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(gzip.compress(to_line(make_item(1)) * 100)[:-20])
    with pytest.raises(SourceUnreadable, match="its gzip data is damaged"):
        items_of(open_json_source(cut), "cut.jsonl.gz")
    blob = tmp_path / "blob.json"
    blob.write_bytes(b"x" * (5 << 20))
    with pytest.raises(SourceUnreadable, match="line 1 is longer than any item"):
        items_of(open_json_source(blob), "blob.json")


@pytest.mark.parametrize("is_compressed", [False, True])
def test_the_number_of_items_is_estimated_from_the_part_read(
    tmp_path: Path, is_compressed: bool
) -> None:
    file = tmp_path / "items.jsonl"
    data = b"".join(to_line(make_item(number)) for number in range(5_000))
    file.write_bytes(gzip.compress(data) if is_compressed else data)
    source = open_json_source(file)
    assert source.expected_items is None
    batches = source.read("items.jsonl", None)
    next(batches)
    # Compressed bytes are read ahead.
    assert 500 < (source.expected_items or 0) < 10_000
    assert sum(len(batch.items) for batch in batches) == 4_500
    assert source.expected_items == 5_000
