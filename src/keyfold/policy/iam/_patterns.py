"""Strings in IAM policies: wildcards, and variables for facts about the caller."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from keyfold.keys import Wildcard


class Variable(NamedTuple):
    """`${key}` or `${key, 'default'}`, with the key in lower case."""

    key: str
    default: str | None


Piece = str | Wildcard | Variable

# `${*}`, `${?}` and `${$}` stand for the characters themselves.
_ESCAPED = {"*", "?", "$"}
_VARIABLE = re.compile(r"\$\{([^{}]*)\}")
_WITH_DEFAULT = re.compile(r"\s*([^,\s]+)\s*,\s*'([^']*)'\s*")
TAG = "aws:principaltag/"


class VariableUnknown(Exception):
    """A string has a variable that is unknown or malformed."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class WildcardPattern(NamedTuple):
    """A string of a policy, split into literals, wildcards and variables."""

    pieces: tuple[Piece, ...]

    @staticmethod
    def parse(text: str, *, has_variables: bool) -> WildcardPattern:
        """Split a string into pieces; raises VariableUnknown.

        Policies before version 2012-10-17 have no variables.
        """
        pieces: list[Piece] = []
        place = 0
        for found in _VARIABLE.finditer(text) if has_variables else ():
            pieces += _split_wildcards(text[place : found.start()])
            pieces.append(_read_variable(found[1]))
            place = found.end()
        rest = text[place:]
        if has_variables and "${" in rest:
            raise VariableUnknown(rest[rest.index("${") :])
        return WildcardPattern((*pieces, *_split_wildcards(rest)))

    def equals(self, value: str, known: Mapping[str, str]) -> bool:
        """Return whether a value equals this string, with wildcards taken literally.

        A string with a variable that has no value equals nothing.
        """
        resolved = self._resolve(known)
        if resolved is None:
            return False
        text = "".join(each.value if isinstance(each, Wildcard) else each for each in resolved)
        return text == value

    def is_like(self, value: str, known: Mapping[str, str]) -> bool:
        """Return whether a value matches this string, wildcards included.

        The values of variables are taken literally, even asterisks in them.
        """
        resolved = self._resolve(known)
        return resolved is not None and _fits(resolved, value)

    def lowered(self) -> WildcardPattern:
        """Return the pattern with its literals in lower case."""
        return WildcardPattern(
            tuple(each.lower() if isinstance(each, str) else each for each in self.pieces)
        )

    def _resolve(self, known: Mapping[str, str]) -> tuple[str | Wildcard, ...] | None:
        resolved: list[str | Wildcard] = []
        for piece in self.pieces:
            if isinstance(piece, Variable):
                value = known.get(piece.key, piece.default)
                if value is None:
                    return None
                resolved.append(value)
            else:
                resolved.append(piece)
        return tuple(resolved)


def _split_wildcards(text: str) -> list[Piece]:
    parts = [part for part in re.split(r"([*?])", text) if part]
    return [Wildcard(part) if part in ("*", "?") else part for part in parts]


def _read_variable(inside: str) -> str | Variable:
    if inside in _ESCAPED:
        return inside
    with_default = _WITH_DEFAULT.fullmatch(inside)
    name, default = (with_default[1], with_default[2]) if with_default else (inside, None)
    key = name.lower()
    if key != "aws:username" and not (key.startswith(TAG) and len(key) > len(TAG)):
        raise VariableUnknown(f"${{{inside}}}")
    return Variable(key, default)


def _fits(pieces: tuple[str | Wildcard, ...], value: str) -> bool:
    first, *others = _segments(pieces)
    if not others:
        return len(value) == first.width and first.match(value) is not None
    *middle, last = others
    if len(value) < first.width + last.width or first.match(value) is None:
        return False
    end = len(value) - last.width
    # Each segment at the first place it is found: any other match leaves less room for the rest.
    place = first.width
    for segment in middle:
        found = segment.search(value, place, end)
        if found is None:
            return False
        place = found.end()
    return last.match(value, end) is not None


class _Segment(NamedTuple):
    """The part between two asterisks. Its width is fixed, so matching never backtracks."""

    pattern: re.Pattern[str]
    width: int

    def match(self, value: str, place: int = 0) -> re.Match[str] | None:
        return self.pattern.match(value, place)

    def search(self, value: str, place: int, end: int) -> re.Match[str] | None:
        return self.pattern.search(value, place, end)


@lru_cache(maxsize=4_096)
def _segments(pieces: tuple[str | Wildcard, ...]) -> tuple[_Segment, ...]:
    segments: list[_Segment] = []
    source, width = "", 0
    for piece in (*pieces, Wildcard.ANY):
        if piece is Wildcard.ANY:
            segments.append(_Segment(re.compile(source, re.DOTALL), width))
            source, width = "", 0
        elif piece is Wildcard.ONE:
            source, width = source + ".", width + 1
        else:
            source, width = source + re.escape(piece), width + len(piece)
    return tuple(segments)
