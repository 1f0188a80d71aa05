"""Tables of a data model of NoSQL Workbench.

A facet is an entity. If its aliases of key attributes have braces, as `keyfold export workbench` writes
them, they are the key templates; others are names. Sample data shows what the model does not say.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from keyfold.errors import KeyTemplateInvalid
from keyfold.imports._aws_schema import write_capacity
from keyfold.imports._documents import DocumentNode, read_document
from keyfold.imports._entities import EntityBuilder, GroupTemplates, Vocabulary, infer_templates
from keyfold.imports._grouping import ItemGroup, KeyedItem
from keyfold.imports._inference import infer_entities, make_valid
from keyfold.imports._inferred import InferredEntity, InferredIndex, InferredTable
from keyfold.imports._naming import make_unique, to_class, to_snake
from keyfold.imports._splitting import find_separators, split_text
from keyfold.imports._templates import InferredTemplate, VariablePart, read_template
from keyfold.values import Item, restore_binaries

_PROJECTIONS = {"ALL": "all", "KEYS_ONLY": "keys"}


def import_workbench(file: Path) -> tuple[InferredTable, ...]:
    """Return the tables of a data model; raises SourceUnreadable."""
    document = read_document(file)
    tables = tuple(map(_read_table, document.nodes("DataModel")))
    if not tables:
        raise document.error("it has no DataModel", "Give a data model of NoSQL Workbench.")
    return tables


def _read_table(node: DocumentNode) -> InferredTable:
    partition, sort, types = _read_key(node.node("KeyAttributes"))
    kinds = dict(types)
    for each in node.nodes("NonKeyAttributes"):
        kinds[each.need("AttributeName", str)] = each.need("AttributeType", str)
    indexes: list[InferredIndex] = []
    for each in node.nodes("GlobalSecondaryIndexes"):
        index, more = _read_index(each)
        indexes.append(index)
        kinds |= more
    keys = {partition, sort, *(name for index in indexes for name in index.names)}
    table = InferredTable(
        node.need("TableName", str),
        partition,
        sort,
        key_types={n: kind for n, kind in kinds.items() if n in keys and kind != "S"},
        indexes=tuple(indexes),
        settings=_read_settings(node),
    )
    facets = [*node.nodes("TableFacets")]
    if facets:
        return _read_facets(table, facets, kinds)
    items = _read_items(node, table)
    if items:
        return infer_entities(table, items)
    plain = DocumentNode(
        {"FacetName": table.name, "NonKeyAttributes": [*kinds]}, node.file, node.path
    )
    return _read_facets(table, [plain], kinds)


def _read_key(node: DocumentNode) -> tuple[str, str | None, dict[str, str]]:
    types: dict[str, str] = {}
    names: list[str] = []
    for role in ("PartitionKey", "SortKey"):
        if role in node:
            each = node.node(role)
            names.append(each.need("AttributeName", str))
            types[names[-1]] = each.get("AttributeType", str) or "S"
    if "PartitionKey" not in node:
        raise node.error("it has no PartitionKey")
    return names[0], names[1] if len(names) > 1 else None, types


def _read_index(node: DocumentNode) -> tuple[InferredIndex, dict[str, str]]:
    partition, sort, types = _read_key(node.node("KeyAttributes"))
    projection = node.node("Projection")
    kind = projection.get("ProjectionType", str) or "ALL"
    project = _PROJECTIONS.get(kind) or tuple(projection.texts("NonKeyAttributes"))
    name = node.need("IndexName", str)
    return InferredIndex(name, (partition,), (sort,) if sort else (), project), types


def _read_settings(node: DocumentNode) -> dict[str, str]:
    if node.get("BillingMode", str) != "PROVISIONED":
        return {}
    capacity = node.node("ProvisionedCapacitySettings").node("ProvisionedThroughput").content
    return {"billing": write_capacity(capacity)} if capacity else {}


def _read_items(node: DocumentNode, table: InferredTable) -> list[Item]:
    """Return the sample data that has a whole key."""
    items = [restore_binaries(dict(each.content)) for each in node.nodes("TableData")]
    return [item for item in items if all(name in item for name in table.key_names)]


def _read_facets(
    table: InferredTable, facets: Sequence[DocumentNode], kinds: Mapping[str, str]
) -> InferredTable:
    samples = [_read_items(facet, table) for facet in facets]
    texts = [
        text
        for items in samples
        for item in items
        for name in table.key_names
        if (text := item[name].get("S")) is not None
    ]
    separators = find_separators(texts)
    # If one alias is a template, all of them are: others have no fields.
    has_templates = any("{" in str(each) for f in facets for each in _list_aliases(f).values())
    groups = [
        _read_group(facet, items, table, kinds, separators, has_templates=has_templates)
        for facet, items in zip(facets, samples, strict=True)
    ]
    vocabulary = _make_vocabulary(groups)
    taken = set[str](vocabulary.ids.values())
    entities: list[InferredEntity] = []
    doubts: dict[str, list[str]] = defaultdict(list)
    for facet, group in zip(facets, groups, strict=True):
        name = make_unique(to_class(facet.need("FacetName", str)), taken)
        taken.add(name)
        declared = {each: kinds.get(each, "S") for each in _list_names(facet)}
        declared |= {each: kinds[each] for each in table.key_names}
        builder = EntityBuilder(table, group, vocabulary, separators, declared)
        entities.append(builder.build(name, None, None))
        doubts[name] += builder.doubts
    made = replace(table, ids=vocabulary.list_ids()).with_entities(*entities)
    made, more = make_valid(made)
    for name, found in more.items():
        doubts[name] += found
    gaps = [f"{name}: {doubt}." for name, found in doubts.items() for doubt in found]
    return replace(made, gaps=tuple(dict.fromkeys((*made.gaps, *gaps))))


def _list_aliases(facet: DocumentNode) -> Mapping[str, Any]:
    return facet.node("KeyAttributeAlias").content


def _list_names(facet: DocumentNode) -> list[str]:
    return facet.texts("NonKeyAttributes")


def _read_group(
    facet: DocumentNode,
    items: Sequence[Item],
    table: InferredTable,
    kinds: Mapping[str, str],
    separators: str,
    *,
    has_templates: bool,
) -> GroupTemplates:
    """Return a facet's sample data, with the templates of its aliases or of the data."""
    keyed = [
        KeyedItem(
            item,
            tuple(
                None if (text := item[name].get("S")) is None else split_text(text, separators)
                for name in table.key_names
            ),
            frozenset(),
        )
        for item in items
    ]
    group = ItemGroup(tuple(keyed))
    aliases = facet.node("KeyAttributeAlias")
    templates: list[InferredTemplate | None] = []
    for role, name in zip(("PartitionKeyAlias", "SortKeyAlias"), table.key_names, strict=False):
        if kinds.get(name, "S") != "S":
            templates.append(None)
            continue
        alias = aliases.get(role, str) or name
        texts = [item[name]["S"] for item in items]
        if has_templates or {*texts} == {alias}:
            try:
                templates.append(read_template(alias, texts, owner=facet.path))
            except KeyTemplateInvalid as error:
                raise aliases.error(f"{role} {error.fact}") from None
        elif _have_one_shape(keyed, len(templates)):
            inferred = infer_templates(group, table.key_names).templates[len(templates)]
            templates.append(inferred)
        else:
            part = read_template(f"{{{to_snake(alias)}}}", texts, owner=facet.path).parts[0]
            templates.append(InferredTemplate((replace(part, prefix=None, annotation="str"),)))
    return GroupTemplates(group, tuple(templates))


def _have_one_shape(keyed: Sequence[KeyedItem], number: int) -> bool:
    shapes = {None if (each := one.keys[number]) is None else each.separators for one in keyed}
    return len(shapes) == 1 and len(keyed) > 1


def _make_vocabulary(groups: Sequence[GroupTemplates]) -> Vocabulary:
    """Return classes of typed ids, named after the fields that have them."""
    ids: dict[str, str] = {}
    parts: list[VariablePart] = [part for group in groups for part in group.parts]
    for part in parts:
        if part.prefix and part.prefix not in ids:
            name = f"{to_class(part.name or part.prefix)}Id"
            ids[part.prefix] = make_unique(name, ids.values())
    return Vocabulary({}, ids)
