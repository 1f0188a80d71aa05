"""JSON documents are split into the values that the standard library reads, at any chunk size."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.transfer import _json_documents
from keyfold.transfer._json_documents import has_lines, split_values
from keyfold.transfer._json_items import parse_exactly

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=8)
    | st.decimals(allow_nan=False, allow_infinity=False).map(float)
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)
items = st.lists(st.dictionaries(st.text(min_size=1, max_size=4), values, max_size=4), max_size=5)
indents = st.none() | st.integers(0, 3)


@st.composite
def documents(draw: st.DrawFn) -> tuple[list[Any], str]:
    """Return items, and the text of a document that has them."""
    found = draw(items)
    indent, is_ascii = draw(indents), draw(st.booleans())

    def write(value: Any) -> str:
        return json.dumps(value, indent=indent, ensure_ascii=is_ascii)

    match draw(st.sampled_from(["array", "objects", "scan"])):
        case "array":
            return found, write(found)
        case "objects":
            separator = draw(st.sampled_from(["\n", "", ",\n", "\r\n\r\n"]))
            return found, separator.join(map(write, found))
        case _:
            return found, write({"Items": found, "Count": len(found), "ConsumedCapacity": None})


@given(documents(), st.integers(1, 9))
def test_every_document_has_its_items(document: tuple[list[Any], str], chunk: int) -> None:
    found, text = document
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_json_documents, "_CHUNK", chunk)
        read = list(split_values(io.BytesIO(text.encode("utf-8", "surrogatepass"))))
    assert [each.problem for each in read] == [None] * len(found)
    assert [json.loads(each.text) for each in read] == found


@given(items, st.integers(1, 9), st.data())
def test_what_was_cut_off_is_reported(found: list[Any], chunk: int, data: st.DataObject) -> None:
    text = json.dumps(found)
    cut = text[: data.draw(st.integers(1, len(text) - 1))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_json_documents, "_CHUNK", chunk)
        read = list(split_values(io.BytesIO(cut.encode())))
    whole = [json.loads(each.text) for each in read if each.problem is None]
    assert read[-1].problem is not None
    # A value that was cut off may be a value itself only if it is a number; these are objects.
    assert whole == found[: len(whole)]


@given(items)
def test_lines_are_told_from_documents(found: list[Any]) -> None:
    lines = "".join(json.dumps(each) + "\n" for each in found)
    assert has_lines(io.BytesIO(lines.encode()))
    assert not has_lines(io.BytesIO(json.dumps(found).encode()))


@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_numbers_are_read_as_they_are_written(number: Any) -> None:
    assert parse_exactly(f"[{number:f}]") == [f"{number:f}"]
