"""What the module has; `make test-exports` compiles it and calls its functions."""

from __future__ import annotations

import pytest

from keyfold.export import export_typescript
from keyfold.export._typescript_types import to_type, write_comment
from tests.exports.key_formats import formats
from tests.exports.patterns import parcels
from tests.exports.tables import counters, market, pantry


def test_an_entity_has_a_type_and_a_builder_of_its_key() -> None:
    assert export_typescript(counters).to_text() == (
        """\
// The entities of counters, and builders of their keys.
// Written by keyfold export typescript. Change the declaration instead.

/** A counter. */
export interface Counter {
  id: number;
  count: number;
}

/** The key of a Counter in counters: {id}. */
export function counterKey(parts: Pick<Counter, "id">): { id: number } {
  return { id: parts.id };
}
"""
    )


def test_a_key_in_a_sparse_index_may_be_undefined() -> None:
    source = export_typescript(parcels).to_text()
    assert (
        'export function parcelKeyInByLabel(parts: Pick<Parcel, "label" | "number" | "note">): '
        "{ gsi1pk: string; gsi1sk: string } | undefined {\n"
        '  if (parts.label != null) return { gsi1pk: "LABEL#" + text("label", parts.label, "#"), '
        'gsi1sk: digits("number", parts.number, 6) };\n'
    ) in source
    assert "parcelKeyInByState(" in source


def test_only_functions_that_are_called_are_written() -> None:
    source = export_typescript(parcels).to_text()
    assert "function uuid(" in source
    assert "function instant(" not in source
    assert "function refuse(" not in export_typescript(counters).to_text()


def test_keys_that_only_python_can_render_have_no_builder() -> None:
    exported = export_typescript(formats)
    assert [str(gap) for gap in exported.gaps] == [
        (
            "Parts: partsKeyInByDecimal: it is left out: amount is stored in a form that its JSON does "
            "not have."
        ),
        (
            "Parts: partsKeyInBySeconds: it is left out: seconds is stored in a form that its JSON "
            "does not have."
        ),
        "Record2: record2Key: it is left out: a codec in Python renders point.",
    ]
    assert "partsKeyInByDecimal" not in exported.to_text()


def test_several_tables_share_a_module() -> None:
    source = export_typescript(market, pantry).to_text()
    assert "export interface MarketUser {" in source
    assert "export function pantryUserKey(" in source


@pytest.mark.parametrize(
    ("schema", "wanted"),
    [
        ({}, "unknown"),
        (True, "unknown"),
        ({"type": "integer"}, "number"),
        ({"type": ["string", "null"]}, "string | null"),
        ({"const": "a"}, '"a"'),
        ({"enum": [1, "b", None]}, '1 | "b" | null'),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, "number"),
        ({"allOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}]}, "A & B2"),
        ({"type": "array"}, "unknown[]"),
        ({"type": "array", "prefixItems": [{"type": "null"}]}, "[null]"),
        ({"type": "object"}, "Record<string, unknown>"),
        (
            {"type": "object", "properties": {"a b": {}, "c": {"type": "null"}}, "required": ["c"]},
            '{ "a b"?: unknown; c: null }',
        ),
        (
            {"type": "object", "patternProperties": {"^x": {"type": "string"}}},
            "Record<string, string>",
        ),
    ],
)
def test_types_of_json_schemas(schema: object, wanted: str) -> None:
    assert to_type(schema, {"A": "A", "B": "B2"}) == wanted


def test_a_comment_cannot_end_early() -> None:
    assert write_comment("a */ b") == ["/** a *\\/ b */"]
    assert write_comment("a\n\nb") == ["/**", " * a", " *", " * b", " */"]
    assert write_comment("") == []
