"""Documents as Markdown, read as a reader would."""

from __future__ import annotations

import re

from keyfold import Entity, Get, Key, Table
from keyfold.export.documents import (
    Code,
    DesignDocument,
    DocumentSection,
    Grid,
    Paragraph,
    write_markdown,
)
from tests.unit.export.documents.conftest import describe

Row = dict[str, str]


def read_sections(text: str) -> dict[str, str]:
    """Split Markdown into its sections, by heading."""
    parts = re.split(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def read_tables(text: str) -> list[list[Row]]:
    """Return the tables of a section, each row by column; code marks are dropped."""
    found: list[list[Row]] = []
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        head, _, *rows = [
            [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            for line in block.splitlines()
        ]
        found.append(
            [dict(zip(head, (c.replace("`", "") for c in row), strict=True)) for row in rows]
        )
    return found


def test_a_document_has_a_section_for_each_subject(document: DesignDocument) -> None:
    text = write_markdown(document)
    assert text.startswith("# Clinic\n\nA DynamoDB table with 3 entities, 2 indexes and 4 access")
    titles = [line[3:] for line in text.splitlines() if line.startswith("## ")]
    assert titles == [
        "Primary key",
        "Entities",
        "Item collections",
        "Attributes",
        "Indexes",
        "Access patterns",
        "Shards and roles",
        "Expiry (TTL)",
        "Stream",
        "Review",
        "Cost",
    ]


def test_keys_are_shown_as_templates(document: DesignDocument) -> None:
    [rows] = read_tables(read_sections(write_markdown(document))["Entities"])
    assert rows[1] == {
        "entity": "Visit",
        "pk": "PATIENT#{patient}",
        "sk": "VISIT#{number:03}",
        "shard": "charts",
        "holds": "A visit of a patient.",
    }
    assert rows[2]["holds"] == ""  # not the docstring of a base class


def test_attributes_have_types_notes_and_example_values(document: DesignDocument) -> None:
    sections = read_sections(write_markdown(document))
    [visit] = read_tables(sections["Visit"])
    by_name = {row["attribute"]: row for row in visit}
    assert list(by_name) == ["pk", "sk", "ward", "day", "hour", "doctor", "price", "state", "ttl"]
    assert by_name["price"] == {
        "attribute": "price",
        "type": "Number",
        "field": "fee: Decimal",
        "notes": "formerly fee",
        "example": "0",
    }
    assert by_name["hour"]["notes"] == "sort key of ByDay; may be absent"
    assert by_name["state"]["field"] == "state: 'open' \\| 'paid'"
    assert by_name["ttl"]["notes"].endswith("the time at which the item expires")
    [patient] = read_tables(sections["Patient"])
    assert [row["notes"] for row in patient if row["attribute"] == "email"] == [
        "Where \\<results> go; may be absent; unique"
    ]


def test_secrets_are_not_shown(document: DesignDocument) -> None:
    text = write_markdown(document)
    assert "4711" not in text
    assert "`**********`" in text
    assert all("4711" not in each.svg for each in document.pictures)


def test_indexes_say_what_they_contain_and_who_reads_them(document: DesignDocument) -> None:
    [rows] = read_tables(read_sections(write_markdown(document))["Indexes"])
    assert rows[0] == {
        "index": "ByDay",
        "partition key": "ward (String), day (String)",
        "sort key": "hour (Number)",
        "projection": "keys, doctor",
        "kind": "global",
        "contains": "Visit (some)",
        "read by": "Visits of a day",
    }
    assert rows[1]["read by"] == "no access pattern"


def test_patterns_have_requests_and_units(document: DesignDocument) -> None:
    [rows] = read_tables(read_sections(write_markdown(document))["Access patterns"])
    by_name = {row["pattern"]: row for row in rows}
    assert by_name["Get patient"] == {
        "pattern": "Get patient",
        "parameters": "patient",
        "request": "GetItem pk='PATIENT#{patient}' sk='PATIENT'",
        "index": "",
        "read units": "0.5",
        "write units": "",
        "notes": "",
    }
    assert by_name["Visits of a day"]["index"] == "ByDay"
    assert by_name["Visits of a day"]["notes"] == "may lag"
    assert by_name["All wards"]["request"] == "Scan"
    # One for the table; those of the index depend on whether the visit has its key.
    assert 1 < float(by_name["Add visit"]["write units"]) < 2


def test_roles_have_their_rights_by_shard(document: DesignDocument) -> None:
    shards, roles, limits = read_tables(read_sections(write_markdown(document))["Shards and roles"])
    assert shards == [
        {"shard": "charts", "partition key": "PATIENT#{patient}", "contains": "Patient, Visit"}
    ]
    assert roles[0] == {
        "role": "nurse",
        "own partitions by": "patient",
        "charts": "read",
        "the whole table": "",
    }
    assert limits == [{"role": "nurse", "does not see": "fee, price in charts"}]


def test_findings_that_are_accepted_have_their_reasons(document: DesignDocument) -> None:
    section = read_sections(write_markdown(document))["Review"]
    accepted = [row for rows in read_tables(section) for row in rows if "reason" in row]
    assert {
        "rule": "P01",
        "severity": "warning",
        "place": "pattern 'All wards'",
        "finding": "It scans the table.",
        "reason": "there are five of them",
    } in accepted
    assert ".py" not in section


def test_the_cost_has_its_prices_and_assumptions(document: DesignDocument) -> None:
    section = read_sections(write_markdown(document))["Cost"]
    assert re.search(
        r"^\$\d+\.\d\d a month, on demand \(us-east-1, prices of ", section, re.MULTILINE
    )
    patterns, parts, *_ = read_tables(section)
    assert [row["pattern"] for row in patterns] == ["Add visit", "Get patient"]
    assert [row["part"] for row in parts] == ["table", "index ByDay", "index ByName"]
    assert "- A month has 730 hours." in section


def test_a_table_without_rates_has_no_price_of_requests() -> None:
    table = Table("Bare", key=Key("id"))

    class Thing(Entity, table=table, key="T#{number:03}"):  # pyright: ignore[reportUnusedClass] - declared
        number: int

    text = write_markdown(describe(table))
    assert "No pattern has a rate, so only storage has a price" in text
    assert "There is no sort key: each partition has one item." in text
    assert "None is declared." in read_sections(text)["Access patterns"]
    assert "Shards and roles" not in text
    assert "## Expiry" not in text
    [rows] = read_tables(read_sections(text)["In the table"])
    assert rows[0]["entity"] == "Thing"  # generated, as there are no examples


def test_a_pattern_that_cannot_run_on_the_examples_has_no_units() -> None:
    table = Table("Frail", key=Key("id"))

    class Frail(Entity, table=table, key="F#{number:03}"):
        number: int

    @table.pattern("Break", rate="1/s")
    def break_it(number: int) -> Get[Frail]:
        raise LookupError(number)

    sections = read_sections(write_markdown(describe(table)))
    [[row]] = read_tables(sections["Access patterns"])
    assert row == {
        "pattern": "Break",
        "parameters": "number",
        "notes": "not explained, not measured",
    }
    priced, *_ = read_tables(sections["Cost"])
    assert priced == [{"pattern": "Break", "rate": "1/s", "$ a month": "not measured"}]
    assert break_it.name in sections["Cost"].split("Assumed:")[1]


def test_text_is_not_taken_for_markup() -> None:
    prose = ("a_b *x* _y_ [z] <b> | c", Code("`d`|e"), Code("f"))
    grid = Grid(("one", "two"), ((prose, ()),))
    made = DesignDocument("T", ("intro",), (DocumentSection("S", (Paragraph(prose), grid)),))
    text = write_markdown(made)
    plain = r"a_b \*x\* \_y\_ \[z\] \<b> \| c"
    assert f"{plain}`` `d`|e ```f`" in text
    assert f"| {plain}`` `d`\\|e ```f` | |" in text


def test_pictures_are_linked_or_are_tables(document: DesignDocument) -> None:
    links = {each.file: f"some dir/{each.file}" for each in document.pictures}
    text = write_markdown(document, pictures=links)
    alt = "Item collections of index ByDay, with example items"
    assert f"![{alt}](some%20dir/Clinic-ByDay.svg)" in text
    assert "![" not in write_markdown(document)
    [rows] = read_tables(read_sections(write_markdown(document))["In ByDay"])
    # Sorted by number, not by text, and with the key of the table.
    assert [(row["day"], row["hour"]) for row in rows] == [
        ("2026-01-02", "9"),
        ("2026-01-02", "15"),
    ]
    assert rows[1]["attributes"] == "pk PATIENT#7, sk VISIT#010, doctor Lu"


def test_a_page_may_have_its_own_title(document: DesignDocument) -> None:
    assert write_markdown(document, with_title=False).startswith("## Primary key\n")
    text = write_markdown(document, level=2)
    assert text.startswith("## Clinic\n")
    assert "\n### Primary key\n" in text
    assert "\n#### Visit\n" in text
