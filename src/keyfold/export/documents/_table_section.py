"""The sections about the table itself: its key and settings, its expiry, its stream."""

from __future__ import annotations

from collections.abc import Iterator

from keyfold.export.documents._blocks import (
    Block,
    BulletList,
    Code,
    DocumentSection,
    Grid,
    Paragraph,
    Prose,
    join_codes,
    read_prose,
)
from keyfold.export.documents._shown_values import TYPE_NAMES
from keyfold.model import OnDemand, Provisioned, Table
from keyfold.model._changes import VIEW_TYPES


def describe_key(table: Table) -> DocumentSection:
    """Return the section about the primary key and the settings of a table."""
    kinds = table.key_types()
    roles = [("Partition key", table.key.partition), ("Sort key", table.key.sort)]
    rows: list[tuple[Prose, ...]] = [
        ((role,), (Code(name),), (TYPE_NAMES[kinds[name]],))
        for role, names in roles
        for name in names
    ]
    settings = tuple(_list_settings(table))
    blocks: list[Block] = [Grid(("key", "attribute", "type"), tuple(rows))]
    if not table.key.sort:
        blocks.append(Paragraph(("There is no sort key: each partition has one item.",)))
    if settings:
        blocks.append(BulletList(settings))
    return DocumentSection("Primary key", tuple(blocks))


def _list_settings(table: Table) -> Iterator[Prose]:
    match table.billing:
        case Provisioned(read=read, write=write):
            yield (f"Billing: provisioned, {read} read and {write} write units a second",)
        case OnDemand(max_read=read, max_write=write):
            reads, writes = ("any number of" if each is None else each for each in (read, write))
            yield (f"Billing: on demand, at most {reads} read and {writes} write units a second",)
        case None:
            pass
        case mode:
            yield (f"Billing: {mode}",)
    if table.type_attribute is not None:
        yield ("The entity of an item is stored in ", Code(table.type_attribute))
    if table.reserved:
        names = join_codes(table.reserved)
        yield ("Partition keys that only declared entities write begin with ", *names)
    if table.deletion_protection is not None:
        yield (f"Deletion protection: {'on' if table.deletion_protection else 'off'}",)
    if table.tags:
        yield ("Tags: ", *join_codes(f"{key}={value}" for key, value in table.tags.items()))


def describe_expiry(table: Table) -> DocumentSection | None:
    """Return the section about expiry; None if no item expires."""
    if table.ttl is None:
        return None
    fields = {
        schema.name: schema.ttl_field.name
        for schema in table.entities.values()
        if schema.ttl_field is not None
    }
    after = (
        " has the time at which an item expires, in seconds since 1970. From then on, reads leave the "
        "item out; DynamoDB deletes it within a few days, at no cost."
    )
    blocks: list[Block] = [Paragraph(("The attribute ", Code(table.ttl), after))]
    names = set(fields.values())
    if len(fields) == len(table.entities) and len(names) == 1:
        where = "the entity" if len(fields) == 1 else "every entity"
        blocks.append(Paragraph((f"It is in {where}, as the field ", Code(names.pop()), ".")))
    elif fields:
        grid = Grid(
            ("entity", "field"),
            tuple(((Code(entity),), (Code(field),)) for entity, field in fields.items()),
        )
        blocks.append(grid)
    return DocumentSection("Expiry (TTL)", tuple(blocks))


def describe_stream(table: Table) -> DocumentSection | None:
    """Return the section about the stream and its handlers; None if there is no stream."""
    if table.stream is None:
        return None
    view = VIEW_TYPES[table.stream]
    blocks: list[Block] = [
        Paragraph(("Every change of an item is in the stream, with ", Code(view), "."))
    ]
    rows: list[tuple[Prose, ...]] = []
    for handler in table.handlers.values():
        entities = join_codes(each.__name__ for each in handler.entities)
        about = (handler.react.__doc__ or "").strip().split("\n\n")[0]
        rows.append(((Code(handler.name),), entities, read_prose(about)))
    if rows:
        blocks.append(Grid(("handler", "entities", "does"), tuple(rows)).without_empty_columns())
    return DocumentSection("Stream", tuple(blocks))
