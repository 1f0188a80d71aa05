"""Rules about the order of sort keys, which compare as text: K06 and K07."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations

from keyfold.analysis.lint._explained import explain_all, find_read
from keyfold.analysis.lint._findings import Severity
from keyfold.analysis.lint._key_facts import EntityKey, list_keys, show_part
from keyfold.analysis.lint._rules import Design, DesignProblem, rule
from keyfold.analysis.samples import name_entity
from keyfold.keys import KeyTemplate, PartFormat
from keyfold.keys._formats import DateFormat, DatetimeFormat, UlidFormat
from keyfold.keys._shapes import Open
from keyfold.model import Query
from keyfold.values import Item

_FEWEST = 2
_ENCODINGS = {
    "seconds": re.compile(r"[12]\d{9}").fullmatch,
    "milliseconds": re.compile(r"[12]\d{12}").fullmatch,
    "dates": re.compile(r"\d{4}-\d\d-\d\d").fullmatch,
    "times in UTC": re.compile(
        r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|\+00:00)"
    ).fullmatch,
    "times with an offset": re.compile(
        r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?[+-]\d\d:?\d\d"
    ).fullmatch,
    "times without an offset": re.compile(
        r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?"
    ).fullmatch,
}
_FORMATS: dict[type[PartFormat], str] = {
    DateFormat: "dates",
    DatetimeFormat: "times in UTC",
    UlidFormat: "typed ids",
}


@rule(
    "K06",
    "Unpadded integers in a sort key",
    severity=Severity.WARNING,
    fix="Declare the field as an int with a width, as in {number:06}, and rewrite the items.",
    source="ME11",
)
def unpadded_integers(design: Design) -> Iterator[DesignProblem]:
    """Keys compare as text, so 10 comes before 9, and ranges and pages are in the wrong order."""
    values = _find_texts(design)
    for key in list_keys(design.table):
        for name, texts in values.get((key.schema.name, key.where), {}).items():
            is_plain = all(re.fullmatch(r"0|[1-9]\d*", text) for text in texts)
            is_uneven = is_plain and len({len(text) for text in texts}) >= _FEWEST
            if is_uneven and _needs_order(design, key):
                shown = " and ".join(sorted(texts, key=lambda text: (-len(text), text))[:2])
                fact = f"{name!r} in its sort key in {key.where} holds numbers as text, {shown}"
                yield DesignProblem(key.schema, f"{fact}.")


@rule(
    "K07",
    "Mixed encodings of times",
    severity=Severity.WARNING,
    fix="Store all times in UTC with the same precision: declare the field as a datetime.",
    source="ME11",
)
def mixed_times(design: Design) -> Iterator[DesignProblem]:
    """Keys compare as text, so times in several encodings are not in the order of time."""
    for (name, where), fields in _find_texts(design).items():
        for field, texts in fields.items():
            found = {encoding for text in texts for encoding in _encodings_of(text)}
            if len(found) >= _FEWEST:
                listed = " and ".join(sorted(found))
                fact = f"{field!r} in its sort key in {where} holds {listed}"
                yield DesignProblem(design.table.entities[name], f"{fact}.")
    for one, other in combinations(list_keys(design.table), 2):
        if one.schema is other.schema or one.index is not other.index:
            continue
        formats = _time_format(one), _time_format(other)
        if None not in formats and formats[0] != formats[1] and _share_partition(one, other):
            listed = " and ".join(str(each) for each in formats)
            fact = f"Its sort keys and {one.schema.name}'s begin with {listed} in {one.where}"
            yield DesignProblem(other.schema, f"{fact}, in one partition.")


def _encodings_of(text: str) -> Iterator[str]:
    for encoding, matches in _ENCODINGS.items():
        if matches(text):
            yield encoding
            return


def _time_format(key: EntityKey) -> str | None:
    """Return how the time is encoded that a sort key begins with, without a prefix before it."""
    template = key.sort[0].template if key.sort else None
    if template is None or not template.parts or template.parts[0].before:
        return None
    first = template.parts[0]
    return _FORMATS.get(type(first.format)) if not first.head else None


def _share_partition(one: EntityKey, other: EntityKey) -> bool:
    return list(map(show_part, one.partition)) == list(map(show_part, other.partition))


def _needs_order(design: Design, key: EntityKey) -> bool:
    """Return whether a pattern depends on the order of an entity's sort keys."""
    for _, steps in explain_all(design):
        for step in steps:
            read = find_read(step)
            if not isinstance(read, Query) or read.index is not key.index:
                continue
            is_ordered = read.is_reversed or read.page_limit is not None or read.keys.is_limited
            if is_ordered and read.shape.schema in (None, key.schema):
                return True
    return False


def _find_texts(design: Design) -> Mapping[tuple[str, str], Mapping[str, set[str]]]:
    """Return the texts of free-text fields in sort keys: by entity and table or index, then field."""
    found: dict[tuple[str, str], dict[str, set[str]]] = {}
    items: dict[str | None, list[Item]] = defaultdict(list)
    for item in design.profile.sample.items:
        items[name_entity(design.table, item)].append(item)
    for key in list_keys(design.table):
        for part in key.sort:
            if part.kind != "S" or not part.fields:
                continue
            for item in items[key.schema.name]:
                text = item.get(part.attribute, {}).get("S")
                for name, value in _read(part.template, part.fields[0], text):
                    texts = found.setdefault((key.schema.name, key.where), {})
                    texts.setdefault(name, set()).add(value)
    return found


def _read(template: KeyTemplate | None, field: str, text: str | None) -> Iterator[tuple[str, str]]:
    """Yield the values of free-text fields in a key."""
    if text is None:
        return
    if template is None:
        yield field, text
        return
    values = template.parse(text) or {}
    for part in template.parts:
        if isinstance(part.shape, Open) and isinstance(values.get(part.name), str):
            yield part.name, values[part.name]
