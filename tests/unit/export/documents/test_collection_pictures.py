"""Pictures of item collections: well-formed, complete, and nothing outside of the frame."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from keyfold import Entity, Key, Table, part
from keyfold.designs import exchange_rates, letsgo, market, pantry
from keyfold.export.documents import DesignDocument, Picture
from tests.unit.export.documents import clinic
from tests.unit.export.documents.conftest import describe

SVG = "{http://www.w3.org/2000/svg}"
TABLES = [clinic.table, exchange_rates.table, letsgo.table, market.table, pantry.table]


def read_texts(picture: Picture) -> list[str]:
    return [each.text or "" for each in parse(picture).iter(f"{SVG}text")]


def parse(picture: Picture) -> ET.Element:
    return ET.fromstring(picture.svg)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_there_is_a_picture_of_the_table_and_of_each_index(table: Table) -> None:
    files = [each.file for each in describe(table).pictures]
    indexes = [f"{table.name}-{index.name}.svg" for index in table.indexes]
    assert files == [f"{table.name}.svg", *indexes]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_everything_is_inside_of_the_frame(table: Table) -> None:
    for picture in describe(table).pictures:
        root = parse(picture)
        width, height = float(root.attrib["width"]), float(root.attrib["height"])
        assert width <= 1080
        for box in root.iter(f"{SVG}rect"):
            right = float(box.get("x", 0)) + float(box.attrib["width"])
            bottom = float(box.get("y", 0)) + float(box.attrib["height"])
            assert (right <= width, bottom <= height) == (True, True)
        for text in root.iter(f"{SVG}text"):
            assert float(text.attrib["y"]) <= height


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_text_fits_its_cell(table: Table) -> None:
    """A character of the fixed-width font is at most 0.61 of its size wide."""
    for picture in describe(table).pictures:
        boxes = [
            (float(b.get("x", 0)), float(b.get("y", 0)), float(b.attrib["width"]))
            for b in parse(picture).iter(f"{SVG}rect")
        ]
        for text in parse(picture).iter(f"{SVG}text"):
            if text.get("class") not in (None, "kf-key"):
                continue
            x, y = float(text.attrib["x"]), float(text.attrib["y"])
            around = [box for box in boxes[1:] if box[0] <= x <= box[0] + box[2] and box[1] <= y]
            left, _, width = max(around, key=lambda box: box[1])
            assert x + len(text.text or "") * 11 * 0.61 <= left + width


def test_items_are_sorted_below_their_partition_key(document: DesignDocument) -> None:
    texts = read_texts(document.pictures[0])
    assert texts[:7] == [
        "Item collections of table Clinic, with example items",
        "Patient",
        "Visit",
        "Ward",
        "Partition key: pk",
        "Sort key: sk",
        "Attributes",
    ]
    keys = [each for each in texts if re.match(r"PATIENT#|VISIT#|WARD#", each)]
    assert keys == ["PATIENT#7", "VISIT#002", "VISIT#003", "VISIT#010", "WARD#A"]
    assert "Ann <b>|`x`" in texts


def test_an_index_shows_only_its_items_and_their_projection(document: DesignDocument) -> None:
    texts = read_texts(document.pictures[1])
    assert "ward: A" in texts  # a key of several attributes has their names
    assert "VISIT#003" not in texts
    assert "Lu" in texts
    assert "12.5" not in texts


def test_each_entity_has_one_colour_in_all_pictures() -> None:
    colours: dict[str, set[str]] = {}
    for picture in describe(market.table).pictures:
        for text in parse(picture).iter(f"{SVG}text"):
            kind = text.get("class", "")
            if kind.startswith("kf-name kf-t"):
                colours.setdefault(text.text or "", set()).add(kind.split("kf-t")[1])
    assert all(len(each) == 1 for each in colours.values())
    assert len({min(each) for each in colours.values()}) == len(colours) == 11


def test_pictures_are_legible_on_dark_screens(document: DesignDocument) -> None:
    assert all("@media(prefers-color-scheme:dark)" in each.svg for each in document.pictures)


def test_large_collections_are_cut() -> None:
    table = Table("Large", key=Key("pk", "sk"))

    class Row(Entity, table=table, key=("P#{page}", "R#{row:03}")):
        page: str = part()
        row: int = part()
        text: str

    @table.examples
    def make_examples() -> list[Row]:
        rows = [Row(page="a", row=number, text="x" * 5000) for number in range(20)]
        return rows + [Row(page=f"{number:02}", row=1, text="\x07") for number in range(30)]

    [picture] = describe(table).pictures
    texts = read_texts(picture)
    assert "and 12 more" in texts
    assert "and 15 more partitions" in texts
    assert max(map(len, texts)) < 60
    assert "�" in texts  # XML has no control characters
