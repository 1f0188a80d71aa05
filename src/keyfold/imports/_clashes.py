"""Tables for one module: classes of the same name are renamed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from keyfold.imports._inferred import InferredEntity, InferredTable
from keyfold.imports._naming import make_unique, to_class


def rename_clashes(tables: Sequence[InferredTable]) -> list[InferredTable]:
    """Return the tables with classes of different names; typed ids that are the same stay one class."""
    taken: dict[str, object] = {}
    made: list[InferredTable] = []
    for table in tables:
        names: dict[str, str] = {}
        for each in (*table.ids, *table.entities):
            if taken.get(each.name, each) != each:
                wanted = f"{to_class(table.name)}{each.name}"
                names[each.name] = make_unique(wanted, taken)
            taken[names.get(each.name, each.name)] = each
        made.append(_rename(table, names) if names else table)
    return made


def _rename(table: InferredTable, names: Mapping[str, str]) -> InferredTable:
    ids = tuple(replace(each, name=names.get(each.name, each.name)) for each in table.ids)
    entities = (
        _rename_entity(each, names, "type_attribute" in table.settings) for each in table.entities
    )
    return replace(table, ids=ids).with_entities(*entities)


def _rename_entity(
    entity: InferredEntity,
    names: Mapping[str, str],
    has_kinds: bool,  # noqa: FBT001 - passed on
) -> InferredEntity:
    """Return an entity with another name; what its items store of the name stays."""

    def rename(annotation: str) -> str:
        return re.sub(r"\w+", lambda found: names.get(found[0], found[0]), annotation)

    fields = tuple(replace(each, annotation=rename(each.annotation)) for each in entity.fields)
    if entity.name not in names:
        return replace(entity, fields=fields)
    kind = entity.kind or (entity.name if has_kinds else None)
    stored = {each.name: each.attribute or each.name for each in fields}
    unique = {
        field: guard or f"{kind or entity.name}.{stored[field]}"
        for field, guard in entity.unique.items()
    }
    return replace(entity, name=names[entity.name], fields=fields, kind=kind, unique=unique)
