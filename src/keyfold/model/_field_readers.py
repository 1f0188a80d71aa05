"""How fields are read from items: steps that a schema prepares once, for use with every item."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeVar

from keyfold.model._any_values import decode_any
from keyfold.model._codecs import StoredField
from keyfold.model._key_parts import KeyPart
from keyfold.model._scalars import decode_number
from keyfold.model._value_codecs import Decode

T = TypeVar("T")

# The attribute, the field, the type that nearly every item stores, and the conversion from it.
FastReader = tuple[str, str, str, Decode | None]
# The same, with the decoder for other types, and a function that makes the value of the field if
# the attribute is missing.
FieldReader = tuple[str, str, str, Decode | None, Decode, Callable[[], Any] | None]
Parse = Callable[[str], dict[str, Any] | None]
# A key attribute, its type, and the parser of its template.
KeyReader = tuple[str, str, Parse | None]
# The same, with what tells whether a text is a key of the template.
KeyMatcher = tuple[str, str, Callable[[str], object] | None]

# Fast path: fields that are stored as a single type and decoded by type alone need no conversion,
# or a cheap one.
_FAST_KINDS: dict[frozenset[str], tuple[str, Decode | None]] = {
    frozenset({"S"}): ("S", None),
    frozenset({"N"}): ("N", decode_number),
    frozenset({"B"}): ("B", None),
    frozenset({"BOOL"}): ("BOOL", None),
    # Pydantic converts the list to a set.
    frozenset({"SS"}): ("SS", None),
}
# Numbers of these fields are converted without a function of ours. An int raises ValueError for a
# fraction; then the item does not take the fast path.
_FAST_NUMBERS: dict[type[Any] | None, Decode] = {int: int, Decimal: Decimal}


def _is_fast(each: StoredField) -> bool:
    return each.is_needed and each.codec.decode is None and each.codec.kinds in _FAST_KINDS


def reader_of(each: StoredField) -> FieldReader:
    """Return how a field is read from an item."""
    codec = each.codec
    kind, convert = ("", None) if codec.decode else _FAST_KINDS.get(codec.kinds, ("", None))
    if convert is decode_number and codec.python is Decimal:
        convert = Decimal
    make_absent = set[Any] if each.is_set else make_none if each.accepts_none else None
    return each.stored, each.name, kind, convert, codec.decode or decode_any, make_absent


def make_none() -> None:
    """Return the value of a field whose attribute is missing, and which may be None."""
    return


def split_readers(
    fields: Collection[StoredField],
) -> tuple[tuple[FastReader, ...], tuple[FieldReader, ...]]:
    """Return the readers of fields that the fast path can read, and those of the others."""
    fast = tuple(_fast_reader_of(each) for each in fields if _is_fast(each))
    return fast, tuple(reader_of(each) for each in fields if not _is_fast(each))


def _fast_reader_of(each: StoredField) -> FastReader:
    stored, name, kind, convert = reader_of(each)[:4]
    return (
        stored,
        name,
        kind,
        _FAST_NUMBERS.get(each.codec.python, convert) if kind == "N" else convert,
    )


def find_recoverable(
    keys: Sequence[KeyPart], fields: Mapping[str, StoredField]
) -> tuple[tuple[str, str], ...]:
    """Return the attributes and names of the fields that are stored, and are also in a key's text.

    An item that lacks such an attribute is read by its key. The attribute of a field that is itself
    a key attribute is never absent.
    """
    attributes = {each.attribute for each in keys}
    names = {name for each in keys if each.template is not None for name in each.fields}
    return tuple(
        (each.stored, each.name)
        for each in fields.values()
        if each.name in names and not each.is_part and each.stored not in attributes
    )


def key_readers_of(keys: Sequence[KeyPart]) -> tuple[KeyReader, ...]:
    """Return how the fields in the parts of a primary key are read.

    The sort key comes first: within a page, it is what tells entities apart.
    """
    readers: list[KeyReader] = [
        (each.attribute, each.kind, None if each.template is None else each.template.parse)
        for each in keys
    ]
    attribute, kind, parse = readers[0]
    if parse is not None:
        readers[0] = (attribute, kind, _cache_last(parse))
    return tuple(reversed(readers))


def key_matchers_of(keys: Sequence[KeyPart]) -> tuple[KeyMatcher, ...]:
    """Return how the parts of a primary key are recognised, in the order of `key_readers_of`."""
    matchers: list[KeyMatcher] = [
        (each.attribute, each.kind, None if each.template is None else each.template.matches)
        for each in keys
    ]
    attribute, kind, matches = matchers[0]
    if matches is not None:
        matchers[0] = (attribute, kind, _cache_last(matches))
    return tuple(reversed(matchers))


def _cache_last(parse: Callable[[str], T]) -> Callable[[str], T]:
    """Return a parser that caches its last result: the items of a page share a partition key."""
    last: tuple[str, T] = ("", parse(""))

    def parse_once(text: str) -> T:
        nonlocal last
        known = last  # read once: another thread may replace it
        if known[0] == text:
            return known[1]
        parsed = parse(text)
        last = (text, parsed)
        return parsed

    return parse_once
