"""From a filter to the partitions that can have its items: by key templates, and by indexes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from keyfold.keys import KeyTemplate
from keyfold.model import Index, Table
from keyfold.model._key_parts import KeyPart
from keyfold.model._schemas import EntitySchema
from keyfold.studio.rooms._item_filters import ItemFilter, fit_part
from keyfold.studio.rooms._item_reading import BandRange, SortOperator
from keyfold.studio.rooms.overview import key_types
from keyfold.values import AttributeValue, Item, is_plain_number

# More partitions than this are not read for one filter.
MAX_RANGES = 16


@dataclass(frozen=True, slots=True)
class FoundRanges:
    """The partitions for a filter, and the entities whose items they cannot have all of.

    `missed` entities have the filter's fields, but not in a key.
    """

    ranges: tuple[BandRange, ...]
    missed: tuple[str, ...]


def find_by_fields(table: Table, index: Index | None, wanted: ItemFilter) -> FoundRanges | None:
    """Return the partitions whose keys follow from the filter's fields; None if there are none."""
    given = wanted.equalities
    names = {each.name for each in wanted.tests}
    parts_by_partition: dict[str, tuple[Item, list[KeyPart | None]]] = {}
    missed: list[str] = []
    for schema in table.entities.values():
        if wanted.only and schema.name not in wanted.only:
            continue
        if not names <= {*schema.fields, *schema.declared_names}:
            continue
        found = False
        for keys in _list_keys(table, schema, index):
            partition, sort = _split_keys(table, index, keys)
            if not _is_given(partition, sort, given, narrows=bool(wanted.only)):
                continue
            rendered = _render_partition(partition, given)
            if rendered is None:
                # No key can have such a value.
                found = True
                continue
            found = True
            entry = parts_by_partition.setdefault(repr(rendered), (rendered, []))
            entry[1].append(sort)
        if not found:
            missed.append(schema.name)
    ranges = [
        BandRange(partition, _find_common_sort(sharing, given, narrows=bool(wanted.only)))
        for partition, sharing in parts_by_partition.values()
    ]
    return FoundRanges(tuple(ranges[:MAX_RANGES]), tuple(missed)) if ranges else None


def find_by_text(table: Table, index: Index | None, text: str) -> Iterator[BandRange]:
    """Yield the partitions whose key is a text, or has it as its only part."""
    attribute, *more = (table.key if index is None else index.key).partition
    if more:
        return
    seen: set[str] = set()
    for value in _guess_values(table, attribute, text):
        seen.add(repr(value))
        yield BandRange({attribute: value})
    for schema in table.entities.values():
        for keys in _list_keys(table, schema, index):
            template = keys[0].template
            if template is None or len(template.parts) != 1:
                continue
            part = fit_part(template.parts[0], text)
            if part is None:
                continue
            value: AttributeValue = {"S": f"{template.parts[0].before}{part}{template.tail}"}
            if repr(value) not in seen:
                seen.add(repr(value))
                yield BandRange({attribute: value})


def find_whole_key(table: Table, text: str) -> Item | None:
    """Return the primary key that a text names, as `pk~sk` or `pk · sk`; None if it names none."""
    if not table.key.sort:
        return None
    for separator in (" · ", "~"):
        partition, found, sort = text.partition(separator)
        if found and partition and sort:
            return {table.key.partition[0]: {"S": partition}, table.key.sort[0]: {"S": sort}}
    return None


def render_template(template: KeyTemplate, given: Mapping[str, str]) -> str | None:
    """Return the key of texts by part; None if one does not fit."""
    text = ""
    for part in template.parts:
        fitted = fit_part(part, given[part.name])
        if fitted is None:
            return None
        text += part.before + fitted
    return text + template.tail


def _list_keys(
    table: Table, schema: EntitySchema, index: Index | None
) -> Sequence[tuple[KeyPart, ...]]:
    if index is None:
        # The fallback has what no template describes.
        return () if schema is table.fallback and not schema.keys else (schema.keys,)
    return schema.index_alternatives.get(index.name, ())


def _split_keys(
    table: Table, index: Index | None, keys: tuple[KeyPart, ...]
) -> tuple[tuple[KeyPart, ...], KeyPart | None]:
    count = len(table.key.partition if index is None else index.key.partition)
    sort = keys[count:]
    return keys[:count], sort[0] if len(sort) == 1 else None


def _is_given(
    partition: Sequence[KeyPart], sort: KeyPart | None, given: Mapping[str, str], *, narrows: bool
) -> bool:
    """Return whether the partition key follows from the fields that are given.

    A constant one does, but only helps if entities are chosen, or if the beginning of the sort key
    follows, too.
    """
    needed = [name for part in partition for name in part.fields]
    if needed:
        return all(name in given for name in needed)
    return narrows or (sort is not None and bool(sort.fields) and sort.fields[0] in given)


def _render_partition(partition: Sequence[KeyPart], given: Mapping[str, str]) -> Item | None:
    rendered: Item = {}
    for part in partition:
        value = _render(part, given)
        if value is None:
            return None
        rendered[part.attribute] = value
    return rendered


def _render(part: KeyPart, given: Mapping[str, str]) -> AttributeValue | None:
    if part.template is not None:
        text = render_template(part.template, given)
        return None if text is None else {"S": text}
    assert part.held_by is not None  # a key part has a template or a field
    text = given[part.held_by.name]
    match part.kind:
        case "N":
            return {"N": text} if is_plain_number(text) else None
        case "S":
            return {"S": text}
        case _:
            return None


def _find_common_sort(
    sharing: Sequence[KeyPart | None], given: Mapping[str, str], *, narrows: bool
) -> tuple[SortOperator, str] | None:
    """Return a condition that all sort keys of the filter's items fulfil; None if there is none.

    Unless it `narrows`, a filter that names no part of the sort key is for the whole partition.
    """
    if not narrows and not any(
        sort and not given.keys().isdisjoint(sort.fields) for sort in sharing
    ):
        return None
    wholes: set[str] = set()
    prefixes: list[str] = []
    for sort in sharing:
        if sort is None or sort.kind != "S":
            return None
        text, is_whole = _find_prefix(sort, given)
        prefixes.append(text)
        wholes.add(text if is_whole else "")
    if len(wholes) == 1 and (only := wholes.pop()):
        return "=", only
    low, high = min(prefixes), max(prefixes)
    shared = next((at for at, letter in enumerate(low) if letter != high[at : at + 1]), len(low))
    common = low[:shared]
    return ("begins_with", common) if common else None


def _find_prefix(sort: KeyPart, given: Mapping[str, str]) -> tuple[str, bool]:
    """Return the text that a sort key begins with, and whether it is the whole key."""
    if sort.template is None:
        assert sort.held_by is not None  # as above
        text = given.get(sort.held_by.name, "")
        return text, bool(text)
    text = ""
    for part in sort.template.parts:
        text += part.before
        fitted = fit_part(part, given[part.name]) if part.name in given else None
        if fitted is None:
            return text + part.head, False
        text += fitted
    return text + sort.template.tail, True


def _guess_values(table: Table, attribute: str, text: str) -> Iterator[AttributeValue]:
    match key_types(table).get(attribute, "S"):
        case "N":
            if is_plain_number(text):
                yield {"N": text}
        case "S":
            yield {"S": text}
        case _:
            pass
