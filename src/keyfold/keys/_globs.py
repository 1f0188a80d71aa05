"""Templates as patterns with wildcards, for languages that know no others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import product
from typing import NamedTuple, assert_never

from keyfold.keys._shapes import Alphabet, Fixed, OneOf, Open, Shape
from keyfold.keys._templates import KeyTemplate

# Choices are written out, as long as they are not too many.
MAX_GLOBS = 64


class Wildcard(Enum):
    """What stands for other characters: any number of them, or one."""

    ANY = "*"
    ONE = "?"


class NamedPart(NamedTuple):
    """A part of a template that is put in later."""

    name: str


GlobPiece = str | Wildcard | NamedPart
Pieces = tuple[GlobPiece, ...]


class Glob(NamedTuple):
    """What keys of a template look like, and what is like them and is no key."""

    pieces: Pieces
    # Patterns of texts that fit `pieces`, though a part of them is empty or has a delimiter in it.
    forbidden: tuple[Pieces, ...]
    # Whether that is all: a part may have characters of its own, digits for example.
    is_exact: bool

    @property
    def has_wildcards(self) -> bool:
        """Whether it stands for more than one text, once its parts are put in."""
        return any(isinstance(piece, Wildcard) for piece in self.pieces)


def find_globs(template: KeyTemplate, kept: str | None = None) -> tuple[Glob, ...]:
    """Return the patterns that all keys of a template fit; `kept` names a part to be put in later.

    >>> order = KeyTemplate.from_types("U#{user}#{no}", {"user": str, "no": str}, owner="Order")
    >>> (glob,) = find_globs(order, kept="user")
    >>> glob.pieces
    ('U#', NamedPart(name='user'), '#', <Wildcard.ANY: '*'>)
    >>> [show_pieces(each) for each in glob.forbidden]
    ['U#{user}#', 'U#{user}#*#*']

    No key of the template fits what is forbidden: it has more delimiters than the template, or
    lacks a part.
    """
    delimiters = template.delimiters
    ways: list[list[tuple[_Unit, ...]]] = []
    is_exact = True
    for part in template.parts:
        ways.append([(part.before,)])
        if part.name == kept:
            ways.append([(NamedPart(part.name),)])
            continue
        units, fits = _read_shape(part.shape, delimiters)
        ways.append(units)
        is_exact = is_exact and fits
    ways.append([(template.tail,)])
    count = 1
    for choices in ways:
        count *= len(choices)
    if count > MAX_GLOBS:
        ways = [choices if len(choices) == 1 else [(_Run(None),)] for choices in ways]
        is_exact = False
    return tuple(
        _make_glob([unit for units in way for unit in units], delimiters, is_exact=is_exact)
        for way in product(*ways)
    )


def is_free_text(template: KeyTemplate, name: str) -> bool:
    """Tell whether a part may be any text without delimiters."""
    return any(
        isinstance(part.shape, Open) and _is_free(part.shape.alphabet, template.delimiters)
        for part in template.parts
        if part.name == name
    )


class _Run(NamedTuple):
    """Characters that may be any but delimiters; None for one or more of them."""

    width: int | None


_Unit = str | NamedPart | _Run


def _read_shape(shape: Shape, delimiters: frozenset[str]) -> tuple[list[tuple[_Unit, ...]], bool]:
    """Return the ways to write a part, and whether that is all there is to it."""
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
    """Write a pattern for people to read."""
    return "".join(
        piece.value
        if isinstance(piece, Wildcard)
        else f"{{{piece.name}}}"
        if isinstance(piece, NamedPart)
        else piece
        for piece in pieces
    )
