"""Lines and documents of JSON are told apart, and documents are split into their values."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from keyfold.transfer._json_documents import LONGEST_VALUE, ValueTooLong, has_lines, split_values

ONE: dict[str, Any] = {"pk": "a", "n": [1, {"x": "}"}]}
TWO: dict[str, Any] = {"pk": 'b"\\', "deep": {"y": [[]]}}
SCAN: dict[str, Any] = {
    "Items": [ONE, TWO],
    "Count": 2,
    "ScannedCount": 2,
    "ConsumedCapacity": None,
}


def values_of(text: str | bytes) -> list[Any]:
    """Return the values of a document: parsed, or the problem of each that is not JSON."""
    data = text.encode() if isinstance(text, str) else text
    return [
        json.loads(each.text) if each.problem is None else each.problem
        for each in split_values(io.BytesIO(data))
    ]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([ONE, TWO]),
        json.dumps([ONE, TWO], indent=2),
        f"{json.dumps(ONE, indent=2)}\n\n{json.dumps(TWO, indent=4)}\n",
        f"{json.dumps(ONE, indent=2)},\n{json.dumps(TWO, indent=2)},",
        f"[{json.dumps(ONE)}]\n[{json.dumps(TWO)}]",
        f"\ufeff \n{json.dumps([ONE, TWO], indent=2)}",
        json.dumps(SCAN),
        json.dumps(SCAN, indent=2),
        json.dumps(SCAN, indent=2, sort_keys=True),
        json.dumps({**SCAN, "Items": [ONE]}) + json.dumps({**SCAN, "Items": [TWO]}),
    ],
)
def test_a_document_has_its_items_in_any_arrangement(text: str) -> None:
    assert values_of(text) == [ONE, TWO]
    assert not has_lines(io.BytesIO(text.encode()))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "nonsense",
        json.dumps(ONE),
        f"\ufeff{json.dumps(ONE)}\n{json.dumps(TWO)}\n",
        f"\n\n{json.dumps(ONE)}\nnonsense\n",
        # The first line was cut off.
        f'{{"pk": "a\n{json.dumps(TWO)}\n',
        f'{{"pk": {{"S": "a"}}\n{json.dumps(TWO)}\n',
        # An item may have an attribute with the name.
        json.dumps({"pk": "a", "Items": [1]}),
    ],
)
def test_a_file_of_lines_is_told_by_its_first_line(text: str) -> None:
    assert has_lines(io.BytesIO(text.encode()))


def test_an_item_with_a_list_named_items_is_an_item() -> None:
    item = {"Items": [ONE], "pk": "a"}
    assert values_of(json.dumps(item, indent=2)) == [item]
    assert values_of(json.dumps([item, SCAN])) == [item, SCAN]


def test_values_have_the_line_that_they_begin_in() -> None:
    text = "[\n" + json.dumps(ONE, indent=2) + ",\n\n" + json.dumps(TWO, indent=2) + "\n]"
    lines = text.split("\n")
    found = list(split_values(io.BytesIO(text.encode())))
    assert [lines[each.line - 1] for each in found] == ["{", "{"]
    assert [each.text[:8] for each in found] == ['{\n  "pk"', '{\n  "pk"']
    assert found[1].line == 4 + json.dumps(ONE, indent=2).count("\n")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            '[{"a": 1} {"b": }, {"c": 3}]',
            [{"a": 1}, "Expecting value at '}, {\"c\": 3}]'", {"c": 3}],
        ),
        (
            '{"a": 1}\n#### Item 2\n{"b": 2}',
            [{"a": 1}, "Expecting value at '#### Item 2", {"b": 2}],
        ),
        ('[{"a": 1}, 7, "x"]', [{"a": 1}, 7, "x"]),
        ('[{"a": 1}, {"b": "}', [{"a": 1}, "Unterminated string", "the array has no end"]),
        ('[{"a": 1}', [{"a": 1}, "the array has no end"]),
        ('[{"a": NaN}, {"b": 2}]', ["NaN is not a number", {"b": 2}]),
    ],
)
def test_what_is_not_json_is_told_and_the_rest_is_read(text: str, found: list[Any]) -> None:
    read = values_of(text)
    assert len(read) == len(found)
    for one, other in zip(read, found, strict=True):
        assert other in one if isinstance(other, str) and other != "x" else one == other


def test_documents_are_read_piece_by_piece() -> None:
    items = [{"pk": f"item {number}", "text": "é" * 50} for number in range(5_000)]
    for text in (json.dumps(items), json.dumps({**SCAN, "Items": items * 20}, ensure_ascii=False)):
        stream = io.BytesIO(text.encode())
        first = next(iter(split_values(stream)))
        assert json.loads(first.text) == items[0]
        assert sum(1 for _ in split_values(io.BytesIO(text.encode()))) in (5_000, 100_000)
    assert len(text) > LONGEST_VALUE


def test_a_value_that_is_too_long_is_refused() -> None:
    with pytest.raises(ValueTooLong):
        values_of('[{"pk": "' + "x" * 3 * LONGEST_VALUE)
