"""Filters of items, as people type them: `user = ada`, `total > 100 and id is set`, or any text.

A filter has tests of named fields, and texts that a key or any value contains. A name is a field, a
part of a key, or a stored attribute.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any

from keyfold.keys import TemplatePart
from keyfold.model import Table
from keyfold.model._schemas import EntitySchema
from keyfold.studio._shown_items import find_entity
from keyfold.studio._shown_keys import show_key, show_key_text
from keyfold.values import AttributeValue, Item

# Longer ones first: `>` is part of `>=`.
_OPERATORS = ("!=", ">=", "<=", "=", ">", "<")
_WORDS = (" is not set", " is set", " contains ", " begins with ")
_PAIR = '""'
_AND = " and "


@dataclass(frozen=True, slots=True)
class FieldTest:
    """A test of one field; `operator` is one of those above, without spaces around it."""

    name: str
    operator: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class ItemFilter:
    """What items have to be: of an entity, with fields that pass tests, and with texts in them."""

    tests: tuple[FieldTest, ...] = ()
    texts: tuple[str, ...] = ()
    only: frozenset[str] = frozenset()

    @property
    def is_empty(self) -> bool:
        """Whether every item passes."""
        return not self.tests and not self.texts and not self.only

    @property
    def equalities(self) -> Mapping[str, str]:
        """The fields that have to be equal to a text, by name."""
        return {each.name: each.value for each in self.tests if each.operator == "="}

    def without_texts(self) -> ItemFilter:
        """Return the filter for items that were found by its texts."""
        return replace(self, texts=())

    def accepts(self, table: Table, item: Item) -> bool:
        """Return whether an item passes."""
        schema = find_entity(table, item)
        if self.only and (schema is None or schema.name not in self.only):
            return False
        return all(_accepts(schema, item, each) for each in self.tests) and all(
            _contains(item, each) for each in self.texts
        )


def parse_filter(table: Table, text: str, only: Sequence[str] = ()) -> ItemFilter:
    """Return the filter of a text; what is no test of a known name is a text to find.

    >>> from keyfold.designs.market import table
    >>> parse_filter(table, 'user:ada and "U#x"').tests
    (FieldTest(name='user', operator='=', value='ada'),)
    """
    names = find_names(table)
    tests: list[FieldTest] = []
    texts: list[str] = []
    for piece in _split(text):
        test = _parse_test(piece, names)
        if test is None:
            texts.append(_unquote(piece))
        else:
            tests.append(test)
    return ItemFilter(tuple(tests), tuple(each for each in texts if each), frozenset(only))


def find_names(table: Table) -> frozenset[str]:
    """Return the names of all fields, parts of keys and stored attributes of a table."""
    names = {*table.key.names, *(name for index in table.indexes for name in index.key.names)}
    for schema in table.entities.values():
        names.update(schema.fields, schema.declared_names)
    return frozenset(names)


def read_field(schema: EntitySchema | None, item: Item, name: str) -> AttributeValue | None:
    """Return the value of a field, a part of the key or an attribute of an item."""
    field = None if schema is None else schema.fields.get(name)
    if schema is None or field is None:
        return item.get(name)
    if not field.is_part:
        found = field.find(item)
        if found is not None:
            return found
    for part in schema.keys:
        value = item.get(part.attribute)
        if value is not None and name in part.fields:
            for piece in show_key(part, part.attribute, value)["pieces"]:
                if piece.get("part") == name:
                    return {"S": piece["text"]}
    return None


def fit_part(part: TemplatePart, text: str) -> str | None:
    """Return a text as a key has it: with the prefix of a typed id, or with leading zeros.

    None if the part cannot have such a value.
    """
    for candidate in (text, f"{part.head}{text}", text.zfill(part.format.width or 0)):
        if part.format.parse(candidate) is not None:
            return candidate
    return None


def _accepts(schema: EntitySchema | None, item: Item, test: FieldTest) -> bool:
    value = read_field(schema, item, test.name)
    if _passes(test, value):
        return True
    if test.operator != "=" or schema is None or value is None:
        return False
    templates = [key.template for key in schema.keys if key.template is not None]
    parts = [part for template in templates for part in template.parts if part.name == test.name]
    fitted = [fit_part(part, test.value) for part in parts]
    return any(text is not None and value.get("S") == text for text in fitted)


def _split(text: str) -> Iterator[str]:
    """Yield the pieces between `and`s; one inside of quotes separates nothing."""
    piece = ""
    for part in text.split(_AND):
        piece = f"{piece}{_AND}{part}" if piece else part
        if piece.count('"') % 2 == 0:
            if piece.strip():
                yield piece.strip()
            piece = ""
    if piece.strip():
        yield piece.strip()


def _parse_test(piece: str, names: frozenset[str]) -> FieldTest | None:
    if piece.startswith('"'):
        return None
    padded = f"{piece} "
    for word in _WORDS:
        name, found, value = padded.partition(word if word.endswith(" ") else f"{word} ")
        if found and name.strip().isidentifier() and (bool(value.strip()) == word.endswith(" ")):
            return FieldTest(name.strip(), word.strip(), _unquote(value.strip()))
    for operator in _OPERATORS:
        name, found, value = piece.partition(operator)
        if found and _is_name(name.strip(), names) and value.strip():
            return FieldTest(name.strip(), operator, _unquote(value.strip()))
    name, found, value = piece.partition(":")
    if found and name.strip() in names and value.strip():
        return FieldTest(name.strip(), "=", _unquote(value.strip()))
    return None


def _is_name(text: str, names: frozenset[str]) -> bool:
    return text in names or text.isidentifier()


def _unquote(text: str) -> str:
    is_quoted = len(text) >= len(_PAIR) and text[0] == text[-1] == '"'
    return text[1:-1] if is_quoted else text


def _passes(test: FieldTest, value: AttributeValue | None) -> bool:
    if test.operator == "is set":
        return value is not None
    if test.operator == "is not set":
        return value is None
    if value is None:
        return False
    ((kind, data),) = value.items()
    match test.operator:
        case "=":
            return _is_equal(kind, data, test.value)
        case "!=":
            return not _is_equal(kind, data, test.value)
        case "contains":
            return _has(kind, data, test.value)
        case "begins with":
            return kind in ("S", "N") and str(data).startswith(test.value)
        case _:
            return _compares(test.operator, kind, data, test.value)


def _is_equal(kind: str, data: Any, text: str) -> bool:
    match kind:
        case "S":
            return data == text
        case "N":
            number = _read_number(text)
            return number is not None and Decimal(str(data)) == number
        case "BOOL":
            return text.lower() == str(data).lower()
        case "NULL":
            return text.lower() == "null"
        case "B":
            return show_key_text({"B": data}) == text
        case "SS" | "NS":
            return text in data
        case _:
            return False


def _has(kind: str, data: Any, text: str) -> bool:
    match kind:
        case "S" | "N":
            return text.lower() in str(data).lower()
        case "SS" | "NS":
            return text in data
        case "M":
            return text in data
        case "L":
            return any(_is_member_equal(each, text) for each in data)
        case _:
            return False


def _is_member_equal(value: AttributeValue, text: str) -> bool:
    ((kind, data),) = value.items()
    return _is_equal(kind, data, text)


def _compares(operator: str, kind: str, data: Any, text: str) -> bool:
    if kind == "N":
        number = _read_number(text)
        if number is None:
            return False
        order = Decimal(str(data)).compare(number)
    elif kind == "S":
        order = Decimal((data > text) - (data < text))
    else:
        return False
    match operator:
        case ">":
            return order > 0
        case ">=":
            return order >= 0
        case "<":
            return order < 0
        case _:
            return order <= 0


def _read_number(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _contains(item: Item, text: str) -> bool:
    """Return whether a text occurs in a value of an item, also in a nested one, in any case."""
    wanted = text.lower()
    waiting: list[Any] = [*item.values()]
    while waiting:
        ((kind, data),) = waiting.pop().items()
        match kind:
            case "S" | "N":
                if wanted in str(data).lower():
                    return True
            case "SS" | "NS":
                if any(wanted in str(each).lower() for each in data):
                    return True
            case "L":
                waiting += data
            case "M":
                if any(wanted in name.lower() for name in data):
                    return True
                waiting += data.values()
            case _:
                pass
    return False
