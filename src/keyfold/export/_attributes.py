"""Entities by their attributes: what tools without a model of fields know of a table.

Such tools have one name for a field and its attribute. It is the attribute's, so that the items stay the
same; a field that is stored in a key alone keeps its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from keyfold.keys import read_fields
from keyfold.model import Table
from keyfold.model._key_parts import KeyPart
from keyfold.model._schemas import EntitySchema
from keyfold.model._value_codecs import ValueCodec


def name_attributes(schema: EntitySchema) -> dict[str, str]:
    """Return the names of an entity's fields, by field: of their attributes, or their own.

    An underscore is added to the name of a key part that is also an attribute of another field.
    """
    names = {field.name: field.stored for field in schema.codec.by_stored.values()}
    for part in schema.parts:
        name = part
        while name in names.values():
            name += "_"
        names[part] = name
    return {field: names[field] for field in schema.fields}


def write_template(part: KeyPart, names: Mapping[str, str], *, with_widths: bool = True) -> str:
    """Return the template of a key attribute, with fields as they are named in `names`."""
    if part.template is None:
        assert part.held_by is not None  # a key part has a template or a field
        return f"{{{names[part.held_by.name]}}}"
    text = ""
    fields = read_fields(part.template.text, owner=part.template.owner)
    for each, (name, spec) in zip(part.template.parts, fields, strict=True):
        width = f":{spec}" if spec and with_widths else ""
        text += f"{_escape(each.before)}{{{names[name]}{width}}}"
    return text + _escape(part.template.tail)


def _escape(literal: str) -> str:
    return literal.replace("{", "{{").replace("}", "}}")


def list_attributes(schema: EntitySchema) -> dict[str, frozenset[str]]:
    """Return the types that each attribute of an entity's items may have, without its primary key."""
    found: dict[str, frozenset[str]] = {}
    for parts in schema.index_keys.values():
        for part in parts:
            found[part.attribute] = frozenset({part.kind})
    if schema.type_attribute is not None:
        found[schema.type_attribute[0]] = frozenset({"S"})
    for field in schema.codec.by_stored.values():
        found[field.stored] = _kinds_of(field.codec)
    for attribute, codec in schema.computed.values():
        found[attribute] = _kinds_of(codec)
    return {
        name: kinds
        for name, kinds in found.items()
        if all(name != part.attribute for part in schema.keys)
    }


def _kinds_of(codec: ValueCodec) -> frozenset[str]:
    return codec.kinds - {"NULL"}


def list_entities(tables: tuple[Table, ...]) -> Iterator[tuple[Table, EntitySchema]]:
    """Yield every entity with its table."""
    for table in tables:
        for schema in table.entities.values():
            yield table, schema
