"""Templates as wildcard patterns, for languages such as IAM's that have no other kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import product
from typing import NamedTuple, assert_never

from keyfold.keys._shapes import Alphabet, Fixed, OneOf, Open, Shape
from keyfold.keys._templates import KeyTemplate

# Choices are expanded into one pattern each, up to this many patterns per template.
MAX_GLOBS = 64


class Wildcard(Enum):
    """A wildcard: any number of characters, or exactly one."""

    ANY = "*"
    ONE = "?"


class NamedPart(NamedTuple):
    """A placeholder for a part of the template whose value is filled in later."""

    name: str


GlobPiece = str | Wildcard | NamedPart
Pieces = tuple[GlobPiece, ...]


class Glob(NamedTuple):
    """A pattern that keys of a template match, and patterns of texts to exclude from it."""

    pieces: Pieces
    # Patterns of texts that match `pieces` but are not keys: a part is empty or has a delimiter.
    forbidden: tuple[Pieces, ...]
    # Whether every text that matches `pieces` and is not forbidden is a key. Not so if, say, a
    # part allows only digits.
    is_exact: bool

    @property
    def has_wildcards(self) -> bool:
        """Whether more than one text matches once the named parts are filled in."""
        return any(isinstance(piece, Wildcard) for piece in self.pieces)


def find_globs(template: KeyTemplate, kept: str | None = None) -> tuple[Glob, ...]:
    """Return patterns, one of which every key matches; part `kept` remains a placeholder.

    >>> order = KeyTemplate.from_types("U#{user}#{no}", {"user": str, "no": str}, owner="Order")
    >>> (glob,) = find_globs(order, kept="user")
    >>> glob.pieces
    ('U#', NamedPart(name='user'), '#', <Wildcard.ANY: '*'>)
    >>> [show_pieces(each) for each in glob.forbidden]
    ['U#{user}#', 'U#{user}#*#*']

    No key of the template matches a forbidden pattern: those have more delimiters than the
    template, or lack a part.
    """
    delimiters = template.delimiters
    # The alternatives for each literal and each part, in order.
    alternatives: list[list[tuple[_Unit, ...]]] = []
    is_exact = True
    for part in template.parts:
        alternatives.append([(part.before,)])
        if part.name == kept:
            alternatives.append([(NamedPart(part.name),)])
            continue
        choices, part_is_exact = _read_shape(part.shape, delimiters)
        alternatives.append(choices)
        is_exact = is_exact and part_is_exact
    alternatives.append([(template.tail,)])
    count = 1
    for choices in alternatives:
        count *= len(choices)
    if count > MAX_GLOBS:
        alternatives = [
            choices if len(choices) == 1 else [(_Run(None),)] for choices in alternatives
        ]
        is_exact = False
    return tuple(
        _make_glob([unit for units in chosen for unit in units], delimiters, is_exact=is_exact)
        for chosen in product(*alternatives)
    )


def is_free_text(template: KeyTemplate, name: str) -> bool:
    """Return whether the named part accepts any text without delimiters."""
    return any(
        isinstance(part.shape, Open) and _is_free(part.shape.alphabet, template.delimiters)
        for part in template.parts
        if part.name == name
    )


class _Run(NamedTuple):
    """`width` characters that are not delimiters, or one or more of them if it is None."""

    width: int | None


_Unit = str | NamedPart | _Run


def _read_shape(shape: Shape, delimiters: frozenset[str]) -> tuple[list[tuple[_Unit, ...]], bool]:
    """Return the alternatives for a part, and whether they describe its texts exactly."""
    match shape:
        case OneOf(texts):
            return [(text,) for text in texts], True
        case Open(alphabet):
            return [(_Run(None),)], _is_free(alphabet, delimiters)
        case Fixed(places):
            units: list[_Unit] = []
            is_exact = True
            for place in places:
                if not place.is_inverted and len(place.characters) == 1:
                    units.append(min(place.characters))
                    continue
                is_exact = is_exact and _is_free(place, delimiters)
                last = units[-1] if units else None
                if isinstance(last, _Run) and last.width is not None:
                    units[-1] = _Run(last.width + 1)
                else:
                    units.append(_Run(1))
            return [tuple(units)], is_exact
        case _:
            assert_never(shape)


def _is_free(alphabet: Alphabet, delimiters: frozenset[str]) -> bool:
    return alphabet.is_inverted and alphabet.characters == delimiters


def _make_glob(units: list[_Unit], delimiters: frozenset[str], *, is_exact: bool) -> Glob:
    forbidden: list[Pieces] = []
    for place, unit in enumerate(units):
        if isinstance(unit, _Run):
            before, after = units[:place], units[place + 1 :]
            if unit.width is None:
                forbidden.append(_write((*before, *after)))
            for delimiter in sorted(delimiters):
                inside = (_Run(None), delimiter, _Run(None))
                forbidden.append(_write((*before, *inside, *after)))
    return Glob(_write(units), tuple(dict.fromkeys(forbidden)), is_exact)


def _write(units: Sequence[_Unit]) -> Pieces:
    return _joined(piece for unit in units for piece in _pieces_of(unit))


def _pieces_of(unit: _Unit) -> Iterator[GlobPiece]:
    if not isinstance(unit, _Run):
        yield unit
    elif unit.width is None:
        yield Wildcard.ANY
    else:
        yield from [Wildcard.ONE] * unit.width


def _joined(pieces: Iterator[GlobPiece]) -> Pieces:
    joined: list[GlobPiece] = []
    for piece in pieces:
        last = joined[-1] if joined else None
        if isinstance(piece, str) and isinstance(last, str):
            joined[-1] = last + piece
        elif piece:
            joined.append(piece)
    return tuple(joined)


def show_pieces(pieces: Pieces) -> str:
    """Return a pattern as readable text, such as `U#{user}#*`."""
    return "".join(
        piece.value
        if isinstance(piece, Wildcard)
        else f"{{{piece.name}}}"
        if isinstance(piece, NamedPart)
        else piece
        for piece in pieces
    )
