"""Entities as TypeScript: their types, and functions that build their keys."""

from __future__ import annotations

from keyfold.export._exported import ExportedDocument
from keyfold.export._json_schema import define_entities
from keyfold.export._resource_names import to_camel
from keyfold.export._typescript_helpers import write_helpers
from keyfold.export._typescript_keys import KeyBuilders
from keyfold.export._typescript_types import write_declaration
from keyfold.model import Table

# TypeScript's own types that a module uses.
_TAKEN = ("Pick", "Record")


def export_typescript(*tables: Table) -> ExportedDocument:
    """Return a TypeScript module with the types of entities and builders of their keys.

    The types are those of the entities' JSON, as `export_jsonschema` describes it. A key builder
    takes the fields that a key is made from, and returns what the templates render; it throws a
    RangeError for a value that a template refuses. Raises DeclarationInvalid.
    """
    found = define_entities(*tables)
    names = _name_types(found.definitions)
    listed = ", ".join(table.name for table in tables)
    lines = [
        f"// The entities of {listed}, and builders of their keys.",
        "// Written by keyfold export typescript. Change the declaration instead.",
        "",
    ]
    for name, definition in found.definitions.items():
        lines += [*write_declaration(names[name], definition, names), ""]
    builders = KeyBuilders()
    written = [line for each in found.entities for line in builders.write(each, names[each.name])]
    lines += [*written[1:], "", *write_helpers(builders.helpers)]
    return ExportedDocument("\n".join(lines).rstrip() + "\n", (*found.gaps, *builders.gaps))


def _name_types(definitions: dict[str, dict[str, object]]) -> dict[str, str]:
    """Return a type's name for each definition; a number tells equal ones apart."""
    named: dict[str, str] = {}
    for name in definitions:
        base = made = name if name.isidentifier() else to_camel(name)
        number = 1
        while made in (*named.values(), *_TAKEN):
            number += 1
            made = f"{base}{number}"
        named[name] = made
    return named
