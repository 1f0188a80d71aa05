"""Entity diagrams in Mermaid."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from keyfold.export.documents._attribute_facts import AttributeFacts
from keyfold.export.documents._blocks import Code, EntityDiagram, Prose, join_codes
from keyfold.export.documents._relations import EntityRelation
from keyfold.export.documents._shown_values import TYPE_NAMES

# What Mermaid takes for its own words: in place of an attribute's name, in any case, and of an
# entity's.
_RESERVED = frozenset({"pk", "fk", "uk"})
_RESERVED_ENTITIES = frozenset(
    {"accdescr", "acctitle", "class", "classdef", "direction", "end", "erdiagram", "many"}
    | {"one", "only", "optionally", "style", "title", "to", "zero"}
)


def draw_entities(
    entities: Mapping[str, tuple[AttributeFacts, ...]], relations: tuple[EntityRelation, ...]
) -> EntityDiagram:
    """Return the diagram of some entities: their attributes, and how they relate."""
    lines = ["erDiagram"]
    for relation in relations:
        left = "|o" if relation.is_optional else "||"
        right = "o|" if relation.is_single else "o{"
        label = _quote(", ".join(relation.fields))
        one, many = _name_entity(relation.one), _name_entity(relation.many)
        lines.append(f"    {one} {left}--{right} {many} : {label}")
    for name, attributes in entities.items():
        lines.append(f"    {_name_entity(name)} {{")
        lines += (f"        {line}" for line in _list_attributes(attributes))
        lines.append("    }")
    return EntityDiagram("\n".join(lines), tuple(map(_describe, relations)))


def _list_attributes(attributes: tuple[AttributeFacts, ...]) -> Iterator[str]:
    for each in attributes:
        kinds = "-or-".join(sorted(TYPE_NAMES[kind].replace(" ", "") for kind in each.kinds))
        marks = ["PK"] * each.is_primary + ["UK"] * each.is_unique
        name = _name(each.name)
        # Templates alone: boxes with longer comments are drawn too small to read.
        comment = each.template or ""
        if name != each.name:
            # Mermaid does not take the attribute's name, so that the comment has it.
            comment = f"{each.name}: {comment}" if comment else each.name
        words = [kinds or "any", name, ", ".join(marks), _quote(comment) if comment else ""]
        yield " ".join(filter(None, words))


def _describe(relation: EntityRelation) -> Prose:
    """Return a relation in words."""
    count = "at most one" if relation.is_single else "any number of"
    by = join_codes(relation.fields)
    optional = ", which may have none" if relation.is_optional else ""
    return (Code(relation.one), f" has {count} ", Code(relation.many), ", by ", *by, optional)


def _name(attribute: str) -> str:
    """Return an attribute's name as Mermaid takes it: letters, digits, '_' and '-'."""
    name = re.sub(r"[^A-Za-z0-9_-]", "_", attribute)
    name = f"{name}_" if name.casefold() in _RESERVED else name
    return name if re.match("[A-Za-z_]", name) else f"_{name}"


def _name_entity(name: str) -> str:
    is_plain = name.isascii() and name.casefold() not in _RESERVED_ENTITIES
    return name if is_plain else _quote(name)


def _quote(text: str) -> str:
    return '"' + text.replace('"', "'").replace("\n", " ") + '"'
