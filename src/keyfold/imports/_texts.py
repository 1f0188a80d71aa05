"""Kinds of texts in keys: ids, numbers, times and words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, datetime
from enum import StrEnum
from typing import Any


class TextKind(StrEnum):
    """What a piece of a key looks like."""

    ULID = "a ULID"
    UUID = "a UUID"
    NUMBER = "a number"
    DATE = "a date"
    DATETIME = "a time"
    WORD = "a word"
    TEXT = "text"
    EMPTY = "nothing"


_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_ULID = r"[0-7][0-9A-HJKMNP-TV-Z]{25}"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CANONICAL = _DATE + r"T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z"
_ANY_TIME = (
    _DATE + r"[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?"
)
_URL = r"[a-z][a-z0-9+.-]*://[^\s#|]+"

# An id as a part of a key, with the prefix of a typed id.
ID_PATTERN = rf"(?:[^#]+#)?{_ULID}|{_UUID}"

# Texts that have separators inside, and are one piece of a key nevertheless.
match_whole = re.compile(rf"{_URL}|{_ANY_TIME}|{_UUID}|{_DATE}").match

_KINDS = (
    (re.compile(_ULID).fullmatch, TextKind.ULID),
    (re.compile(_UUID).fullmatch, TextKind.UUID),
    (re.compile(r"[0-9]+").fullmatch, TextKind.NUMBER),
    (re.compile(_DATE).fullmatch, TextKind.DATE),
    (re.compile(_CANONICAL).fullmatch, TextKind.DATETIME),
    (re.compile(rf"{_URL}|{_ANY_TIME}").fullmatch, TextKind.TEXT),
    # A word has no digits, but for those of a version, such as v0.
    (re.compile(r"[^\W\d_][^\d@]*|v[0-9]{1,2}").fullmatch, TextKind.WORD),
)
_PARSERS = {TextKind.DATE: date.fromisoformat, TextKind.DATETIME: datetime.fromisoformat}

TYPED = frozenset({TextKind.ULID, TextKind.UUID, TextKind.DATE, TextKind.DATETIME})


def kind_of(text: str) -> TextKind:
    """Return the kind of a text.

    >>> kind_of("01JZ10H7X367VB2NF4YQ973DHW"), kind_of("ORDER"), kind_of("author-001")
    (<TextKind.ULID: 'a ULID'>, <TextKind.WORD: 'a word'>, <TextKind.TEXT: 'text'>)
    """
    if not text:
        return TextKind.EMPTY
    kind = next((kind for matches, kind in _KINDS if matches(text)), TextKind.TEXT)
    return kind if _is_valid(kind, text) else TextKind.TEXT


def _is_valid(kind: TextKind, text: str) -> bool:
    parse: Any = _PARSERS.get(kind)
    if parse is None:
        return True
    try:
        parse(text)
    except ValueError:
        return False
    return True


def common_kind(texts: Iterable[str]) -> TextKind:
    """Return the kind that all texts have; TEXT if they differ."""
    kinds = {kind_of(text) for text in texts}
    return kinds.pop() if len(kinds) == 1 else TextKind.TEXT
