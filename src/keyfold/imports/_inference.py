"""Tables inferred from their items: entities by the shapes of keys, and by attributes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from keyfold.errors import DeclarationInvalid
from keyfold.imports._checking import fit_items, load_table
from keyfold.imports._entities import (
    EntityBuilder,
    GroupTemplates,
    infer_templates,
    make_vocabulary,
    name_entities,
)
from keyfold.imports._grouping import group_items, is_type_attribute
from keyfold.imports._inferred import Evidence, InferredEntity, InferredTable
from keyfold.imports._naming import quote
from keyfold.imports._splitting import find_separators
from keyfold.policy import OWN_START
from keyfold.store._guards import NAME, OWNER
from keyfold.values import Item


def infer_entities(
    table: InferredTable, items: Sequence[Item], *, ttl: str | None = None
) -> InferredTable:
    """Return a table with the entities that its items show, and how sure each of them is.

    Items are grouped by the structure of their keys and the words in them; `table` has the key and
    the indexes. Guards of unique fields are read as such.
    """
    guards, others = _part_own_items(table, items)
    if not others:
        return table
    key = table.key_names
    texts = [text for item in others for name in key if (text := item[name].get("S")) is not None]
    separators = find_separators(texts)
    groups = [infer_templates(each, key) for each in group_items(others, key, separators)]
    vocabulary = make_vocabulary(groups)
    names = name_entities(groups, vocabulary, key)
    type_attribute = _find_type_attribute(groups)
    entities: dict[str, InferredEntity] = {}
    doubts: dict[str, list[str]] = {}
    for name, group in zip(names, groups, strict=True):
        builder = EntityBuilder(table, group, vocabulary, separators)
        entities[name] = builder.build(name, ttl, type_attribute)
        doubts[name] = builder.doubts
    unique = _find_unique(guards, groups, names, entities, key)
    built = [replace(each, unique=unique.get(name, {})) for name, each in entities.items()]
    settings = dict(table.settings)
    if type_attribute is not None:
        settings["type_attribute"] = quote(type_attribute)
    made = replace(table, ids=vocabulary.list_ids(), settings=settings).with_entities(*built)
    made, declared_doubts = make_valid(made)
    items_of = {name: group.items for name, group in zip(names, groups, strict=True)}
    left_out = {*names} - {each.name for each in made.entities}
    gaps = [f"{name}: {doubt}." for name in sorted(left_out) for doubt in declared_doubts[name]]
    made = replace(made, gaps=(*made.gaps, *gaps))
    for name, more in declared_doubts.items():
        doubts[name] += more
    return _add_evidence(made, items_of, doubts)


def _part_own_items(table: InferredTable, items: Sequence[Item]) -> tuple[list[Item], list[Item]]:
    """Return Keyfold's own items, guards of unique values among them, and the others."""
    parts: tuple[list[Item], list[Item]] = ([], [])
    for item in items:
        text: Any = item[table.partition].get("S", "")
        parts[not text.startswith(OWN_START)].append(item)
    return parts


def _find_type_attribute(groups: Sequence[GroupTemplates]) -> str | None:
    """Return the attribute by which every item says its entity, each entity by another value."""
    for name in groups[0].items[0]:
        if not is_type_attribute(name):
            continue
        values = [{item.get(name, {}).get("S") for item in group.items} for group in groups]
        kinds = [each for found in values for each in found]
        if all(len(found) == 1 for found in values) and None not in kinds:
            return name if len({*kinds}) == len(kinds) > 1 else None
    return None


def _find_unique(
    guards: Sequence[Item],
    groups: Sequence[GroupTemplates],
    names: Sequence[str],
    entities: Mapping[str, InferredEntity],
    key: Sequence[str],
) -> dict[str, dict[str, str | None]]:
    """Return the unique fields of entities with the names of their guards, as guards say."""
    owners = {
        repr([item[each] for each in key]): name
        for name, group in zip(names, groups, strict=True)
        for item in group.items
    }
    found: dict[str, dict[str, str | None]] = defaultdict(dict)
    for guard in guards:
        if NAME not in guard or OWNER not in guard:
            continue
        owner: Any = guard[OWNER]["M"]
        name = owners.get(repr([owner.get(each) for each in key]))
        called = guard[NAME]["S"]
        attribute = called.rpartition(".")[2]
        fields = () if name is None else entities[name].fields
        stored = next((each.name for each in fields if each.attribute == attribute), None)
        if name is not None and stored is not None:
            found[name][stored] = called
    return found


def make_valid(table: InferredTable) -> tuple[InferredTable, dict[str, list[str]]]:
    """Return a table whose declaration is valid, and doubts about entities that were changed for it.

    Indexes that no entity is in are left out. If keys do not tell entities apart, those that others
    may be taken for are left out but for the first, which becomes the fallback.
    """
    table = _drop_empty_indexes(table)
    try:
        load_table(table)
    except DeclarationInvalid:
        pass
    else:
        return table, {}
    kept: list[InferredEntity] = []
    doubts: dict[str, list[str]] = defaultdict(list)
    fallback: InferredEntity | None = None
    # Without indexes: only some of the entities are in them.
    bare = replace(table, indexes=())
    for each in sorted(table.entities, key=_count_parts):
        plain = [replace(one, index_keys={}) for one in (*kept, each)]
        try:
            load_table(bare.with_entities(*plain))
        except DeclarationInvalid as error:
            doubts[each.name].append(error.problems[0].rstrip("."))
            fallback = fallback or replace(each, is_fallback=True)
        else:
            kept.append(each)
    if fallback is not None:
        kept.append(fallback)
    order = [each.name for each in table.entities]
    kept.sort(key=lambda each: order.index(each.name))
    for name, found in doubts.items():
        is_left_out = all(each.name != name for each in kept)
        told = "it is left out" if is_left_out else "it is the entity of items that match no other"
        found.append(told)
    return _drop_empty_indexes(table.with_entities(*kept)), doubts


def _drop_empty_indexes(table: InferredTable) -> InferredTable:
    filled = tuple(each for each in table.indexes if table.is_filled(each))
    gaps = [
        f"{table.name}.{each.name}: no entity has its key, {', '.join(each.names)}; it is left out."
        for each in table.indexes
        if each not in filled
    ]
    return replace(table, indexes=filled, gaps=(*table.gaps, *gaps))


def _count_parts(entity: InferredEntity) -> tuple[int, int]:
    """Return what sorts the narrowest keys first: those with most literals."""
    literals = "".join(entity.key)
    return sum(each == "{" for each in literals), -len(literals)


def _add_evidence(
    table: InferredTable,
    items_of: Mapping[str, Sequence[Item]],
    doubts: Mapping[str, Sequence[str]],
) -> InferredTable:
    declared = load_table(table)
    entities: list[InferredEntity] = []
    for each in table.entities:
        fitted = list(fit_items(declared, items_of[each.name]))
        fitting = sum(one.fits and one.entity == each.name for one in fitted)
        evidence = Evidence(len(fitted), fitting, tuple(dict.fromkeys(doubts[each.name])))
        entities.append(replace(each, evidence=evidence))
    return table.with_entities(*entities)
