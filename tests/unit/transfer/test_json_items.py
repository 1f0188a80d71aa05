"""Items as plain JSON: exact numbers, types by the declaration, told apart from DynamoDB JSON."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import orjson
import pytest
from pydantic import BaseModel

from keyfold import Entity, Index, Key, Table, attr, part
from keyfold.engine import Engine
from keyfold.transfer import LoadForm, Summary, load_table
from keyfold.transfer._entities import Reject
from keyfold.transfer._json_items import ItemReader
from keyfold.transfer._json_sources import open_json_source
from tests.unit.transfer.shop import location, open_shop, options, read_all, shop

by_owner = Index("ByOwner", key=Key("owner"))
vault = Table("Shop", key=Key("id", "sk"), indexes=[by_owner])


class Seal(BaseModel):
    mark: bytes
    inner: Seal | None = None


class Box(Entity, table=vault, key=("{id}", "BOX#{number:02}")):
    id: bytes
    number: int = part()
    label: bytes | None = attr("Label", was="Tag", default=None)
    labels: set[bytes] = attr(default_factory=set[bytes])
    seals: list[Seal] = attr(default_factory=list[Seal])
    parts: dict[str, bytes] = attr(default_factory=dict[str, bytes])
    owner: str | None = None
    words: set[str] = attr(default_factory=set[str])


READ = ItemReader(("pk", "sk"), {"pk": "S", "sk": "S", "city_pk": "S"})
BOXES = ItemReader.for_table(vault.to_dynamodb(), vault)


def test_values_get_the_type_of_their_json() -> None:
    text = b"""{"pk": "a", "sk": "b", "on": true, "off": false, "none": null, "list": [1, "x"],
        "map": {"y": [], "S": "z"}, "n": 5, "text": ""}"""
    assert READ(text) == {
        "pk": {"S": "a"},
        "sk": {"S": "b"},
        "on": {"BOOL": True},
        "off": {"BOOL": False},
        "none": {"NULL": True},
        "list": {"L": [{"N": "1"}, {"S": "x"}]},
        "map": {"M": {"y": {"L": []}, "S": {"S": "z"}}},
        "n": {"N": "5"},
        "text": {"S": ""},
    }


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("0.85", "0.85"),
        ("0.1", "0.1"),
        ("12345678901234567890123456789012345678", "12345678901234567890123456789012345678"),
        ("1.2345678901234567890123456789012345678", "1.2345678901234567890123456789012345678"),
        ("1e125", "1" + "0" * 125),
        ("-1E-130", "-0." + "0" * 129 + "1"),
        ("18446744073709551616", "18446744073709551616"),
        ("-0.0", "0"),
    ],
)
def test_numbers_are_kept_exactly(written: str, stored: str) -> None:
    read = READ(b'{"pk": "a", "n": %s, "deep": [{"n": %s}]}' % ((written.encode(),) * 2))
    number = {"N": stored}
    assert read == {"pk": {"S": "a"}, "n": number, "deep": {"L": [{"M": {"n": number}}]}}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b'{"pk": "a", "n": 1e126}', "Number overflow"),
        (b'{"pk": "a", "n": 1234567890123456789012345678901234567890}', "Attempting to store more"),
        (b'{"pk": "a", "n": NaN}', "it is not JSON: NaN is not a number that can be stored"),
        (b'{"pk": "a", "n": }', "it is not JSON: Expecting value at '}'"),
        (b'["pk"]', "it is not a JSON object"),
        (b'{"pk": "a", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "it is nested too deeply"),
        (b'{"pk": "a", "x": ' + b"[" * 700 + b"]" * 700 + b"}", "it is nested too deeply"),
        (b'{"pk": "a", "x": ' + b"[" * 200 + b"]" * 200 + b"}", "Nesting Levels have exceeded"),
        (b'{"pk": "a", "x": "\\ud800"}', "Invalid UTF-16 surrogate"),
        (b'{"pk": "a", "n": 1, "n": 2}', "it is not JSON: an object has 'n' twice"),
        (b'{"pk": {"S": "a"}, "x": {"Q": "1"}}', "Supplied AttributeValue"),
        (b'{"pk": {"S": "a"}, "x": 1}', "Unexpected value type in payload"),
    ],
)
def test_what_cannot_be_stored_is_rejected(text: bytes, reason: str) -> None:
    read = READ(text)
    assert isinstance(read, Reject)
    assert read.reason.startswith(reason)
    assert read.item is not None or read.line is not None
    # It can be written to a file of rejects.
    assert orjson.dumps(read.item)


def test_a_key_of_any_type_is_rejected_by_the_service(tmp_path: Path) -> None:
    file = tmp_path / "orders.json"
    file.write_text('{"pk": "a", "sk": {"S": "b"}}')
    with open_shop() as engine:
        assert load(file, engine, is_declared=False).rejects == 1


def test_the_partition_key_tells_plain_json_from_dynamodb_json() -> None:
    # Every other value looks like DynamoDB JSON.
    assert READ(b'{"pk": "a", "m": {"S": "x"}}') == {
        "pk": {"S": "a"},
        "m": {"M": {"S": {"S": "x"}}},
    }
    assert READ(b'{"pk": {"S": "a"}, "m": {"S": "x"}}') == {"pk": {"S": "a"}, "m": {"S": "x"}}


@pytest.mark.parametrize("key", ["pk", "Item"])
def test_items_may_be_wrapped(key: str) -> None:
    read = ItemReader((key,), {key: "S"})
    item = {key: {"S": "a"}}
    for text in (f'{{"{key}": "a"}}', f'{{"{key}": {{"S": "a"}}}}'):
        assert read(text.encode()) == item
        assert read(f'{{"Item": {text}}}'.encode()) == item
        assert read(f'{{"reason": "x", "Item": {text}}}'.encode()) == item


def test_null_is_left_out_where_it_would_be_the_key_of_an_index() -> None:
    assert READ(b'{"pk": "a", "city_pk": null}') == {"pk": {"S": "a"}}


def test_binaries_are_base64_where_the_declaration_says_so() -> None:
    text = b"""{"id": "AP8=", "sk": "BOX#01", "Tag": "AQ==", "labels": ["AQ==", "Ag=="], "text": "AQ==",
        "seals": [{"mark": "AQ==", "inner": {"mark": "Ag=="}}], "parts": {"a": "AQ=="}, "owner": "AQ=="}"""
    assert BOXES(text) == {
        "id": {"B": "AP8="},
        "sk": {"S": "BOX#01"},
        "Tag": {"B": "AQ=="},
        "labels": {"BS": ["AQ==", "Ag=="]},
        "text": {"S": "AQ=="},
        "seals": {"L": [{"M": {"mark": {"B": "AQ=="}, "inner": {"M": {"mark": {"B": "Ag=="}}}}}]},
        "parts": {"M": {"a": {"B": "AQ=="}}},
        "owner": {"S": "AQ=="},
    }
    wrong = BOXES(b'{"id": "AP8=", "sk": "BOX#01", "Label": "no base64"}')
    assert isinstance(wrong, Reject)
    assert wrong.item is not None


# Files.

ORDERS: list[dict[str, Any]] = [
    {"pk": "USER#ada", "sk": f"ORDER#{number:04}", "city_sk": f"ORDER#{number:04}", "total": 0.85}
    for number in (1, 2)
]
STORED = {
    f"{each['pk']} {each['sk']}": {
        **{name: {"S": each[name]} for name in ("pk", "sk", "city_sk")},
        "total": {"N": "0.85"},
    }
    for each in ORDERS
}


def load(
    file: Path, engine: Engine, *, form: LoadForm | None = None, is_declared: bool = True
) -> Summary:
    declared = shop if is_declared else None
    return load_table(file, location(engine), options(file.parent), form=form, declared=declared)


@pytest.mark.parametrize("is_declared", [True, False])
@pytest.mark.parametrize("is_compressed", [True, False])
@pytest.mark.parametrize(
    "text",
    [
        "\n".join(map(json.dumps, ORDERS)),
        json.dumps(ORDERS, indent=2),
        "\n\n".join(json.dumps(each, indent=2) for each in ORDERS),
        json.dumps({"Items": ORDERS, "Count": 2, "ScannedCount": 2}, indent=2),
        json.dumps([STORED["USER#ada ORDER#0001"], ORDERS[1]]),
    ],
)
def test_every_form_is_told_by_its_content(
    tmp_path: Path, text: str, is_compressed: bool, is_declared: bool
) -> None:
    file = tmp_path / "orders"
    file.write_bytes(gzip.compress(text.encode()) if is_compressed else text.encode())
    with open_shop() as engine:
        assert load(file, engine, is_declared=is_declared).is_good
        assert read_all(engine) == STORED


def test_a_single_object_is_loaded_on_one_line_or_several(tmp_path: Path) -> None:
    for indent in (None, 2):
        file = tmp_path / f"one-{indent}.json"
        file.write_text(json.dumps(ORDERS[0], indent=indent))
        with open_shop() as engine:
            assert load(file, engine).items == 1


def test_a_form_can_be_given(tmp_path: Path) -> None:
    file = tmp_path / "orders.json"
    file.write_text(json.dumps(ORDERS, indent=2))
    with open_shop() as engine:
        assert load(file, engine, form="json").items == 2
    with open_shop() as engine:
        assert load(file, engine, form="lines").rejects > 0


def test_rejects_name_the_line_and_keep_the_text(tmp_path: Path) -> None:
    file = tmp_path / "orders.json"
    broken = [
        json.dumps(ORDERS[0], indent=2),
        "7",
        '{"pk": 1e999}',
        json.dumps(ORDERS[1], indent=2),
    ]
    file.write_text("[\n" + ",\n".join(broken) + "\n]")
    with open_shop() as engine:
        summary = load(file, engine)
        assert read_all(engine) == STORED
    rejected = [
        json.loads(line) for line in Path(str(summary.rejects_file)).read_text().split("\n")[:-1]
    ]
    assert [each["reason"][:50] for each in rejected] == [
        "line 8: it is not a JSON object",
        "line 9: Number overflow. Attempting to store a num",
    ]
    assert rejected[0]["line"] == "7"
    assert rejected[1]["Item"] == {"pk": {"N": "1e999"}}


def test_a_load_of_a_document_resumes_after_its_last_batch(tmp_path: Path) -> None:
    file = tmp_path / "orders.json"
    file.write_text(
        json.dumps([{**ORDERS[0], "sk": f"ORDER#{n:04}"} for n in range(1_200)], indent=1)
    )
    source = open_json_source(file, read_item=READ, form=None)
    batches = list(source.read("orders.json", None))
    assert [len(each.items) for each in batches] == [500, 500, 200]
    rest = [item for each in source.read("orders.json", batches[0].position) for item in each.items]
    assert [item["sk"]["S"] for item in rest] == [f"ORDER#{n:04}" for n in range(500, 1_200)]
