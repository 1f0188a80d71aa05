"""The design document of a table: all its sections, from the declaration and what was measured."""

from __future__ import annotations

from collections.abc import Iterator

from keyfold.analysis import TableProfile, find_sample
from keyfold.analysis.cost import CostReport
from keyfold.analysis.lint import Review
from keyfold.export.documents._access_sections import describe_indexes, describe_patterns
from keyfold.export.documents._attribute_facts import list_attributes_of
from keyfold.export.documents._blocks import DesignDocument, DocumentSection, Picture
from keyfold.export.documents._collection_svg import draw_collections
from keyfold.export.documents._entity_sections import describe_attributes, describe_entities
from keyfold.export.documents._item_collections import view_collections
from keyfold.export.documents._judgement_sections import describe_cost, describe_review
from keyfold.export.documents._rights_section import describe_rights
from keyfold.export.documents._table_section import describe_expiry, describe_key, describe_stream
from keyfold.model import Index, Table
from keyfold.values import Item


def describe_design(profile: TableProfile, review: Review, cost: CostReport) -> DesignDocument:
    """Return the design document of a table.

    The values that it shows are those of example entities, or generated ones: never those of a
    database that was measured, and no secrets. The same declaration gives the same document.
    """
    table = profile.table
    sample = find_sample(table)
    items = sample.by_entity()
    attributes = {
        name: list_attributes_of(table, schema, items.get(name, ()))
        for name, schema in table.entities.items()
    }
    sections = (
        describe_key(table),
        describe_entities(table, attributes),
        DocumentSection("Item collections", (), tuple(_draw_pictures(table, sample.items))),
        describe_attributes(attributes),
        describe_indexes(table),
        describe_patterns(profile),
        describe_rights(table),
        describe_expiry(table),
        describe_stream(table),
        describe_review(review),
        describe_cost(cost),
    )
    return DesignDocument(
        table.name,
        (_introduce(table),),
        tuple(each for each in sections if each is not None),
    )


def _introduce(table: Table) -> str:
    counts = (
        (len(table.entities), "entity", "entities"),
        (len(table.indexes), "index", "indexes"),
        (len(table.patterns), "access pattern", "access patterns"),
    )
    listed = [f"{count} {one if count == 1 else many}" for count, one, many in counts if count]
    had = f" with {_join(listed)}" if listed else ""
    return f"A DynamoDB table{had}. Written by keyfold doc from the table's declaration."


def _join(words: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _draw_pictures(table: Table, items: tuple[Item, ...]) -> Iterator[DocumentSection]:
    views: tuple[Index | None, ...] = (None, *table.indexes)
    for index in views:
        view = view_collections(table, items, index)
        name = table.name if index is None else f"{table.name}-{index.name}"
        svg = draw_collections(view, tuple(table.entities))
        picture = Picture(f"{name}.svg", view.title, svg, view.to_grid())
        title = "In the table" if index is None else f"In {index.name}"
        yield DocumentSection(title, (picture,))
