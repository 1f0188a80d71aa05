"""The shape of a text: which characters may appear at which place.

A format declares the shape of its texts once. Regular expressions, prefixes and the search
for collisions are derived from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count, groupby, takewhile
from typing import assert_never

# The characters that make the most readable examples. With 1 for every digit, a date is valid.
_PREFERRED = "aA1"
_FIRST_PRINTABLE = 0x21


@dataclass(frozen=True, slots=True)
class Alphabet:
    """The listed characters or, if inverted, all characters except those."""

    characters: frozenset[str]
    is_inverted: bool = False

    def __contains__(self, character: str) -> bool:
        return (character in self.characters) != self.is_inverted

    def overlap(self, other: Alphabet) -> Alphabet:
        """Return the characters that are in both alphabets."""
        mine, theirs = self.characters, other.characters
        if self.is_inverted and other.is_inverted:
            return Alphabet(mine | theirs, is_inverted=True)
        if self.is_inverted:
            return Alphabet(theirs - mine)
        return Alphabet(mine - theirs if other.is_inverted else mine & theirs)

    def pick(self) -> str | None:
        """Return one of the characters, preferably a readable one; None if there are none."""
        for character in _PREFERRED:
            if character in self:
                return character
        if self.is_inverted:
            return next(chr(code) for code in count(_FIRST_PRINTABLE) if chr(code) in self)
        return min(self.characters, default=None)

    def to_pattern(self) -> str:
        """Return a regular expression, as a string, that matches one of the characters."""
        listed = "".join(re.escape(character) for character in sorted(self.characters))
        if self.is_inverted:
            return f"[^{listed}]" if listed else r"[\s\S]"
        return listed if len(self.characters) == 1 else f"[{listed}]"


ANYTHING = Alphabet(frozenset(), is_inverted=True)
DIGIT = Alphabet(frozenset("0123456789"))
HEXADECIMAL = Alphabet(frozenset("0123456789abcdef"))


@dataclass(frozen=True, slots=True)
class Fixed:
    """A fixed number of characters; each place has an alphabet."""

    places: tuple[Alphabet, ...]


@dataclass(frozen=True, slots=True)
class Open:
    """One or more characters of the alphabet."""

    alphabet: Alphabet


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of these texts."""

    texts: tuple[str, ...]


Shape = Fixed | Open | OneOf


def shape_of_text(text: str) -> Fixed:
    """Return the shape that only `text` has."""
    return Fixed(tuple(Alphabet(frozenset(character)) for character in text))


def shape_of_example(example: str, zero: Alphabet) -> Fixed:
    """Return the shape of `example`, with any character of `zero` allowed in place of each 0.

    >>> to_pattern(shape_of_example("00:00", Alphabet(frozenset("01"))))
    '[01]{2}:[01]{2}'
    """
    alphabets = {"0": zero}
    return Fixed(tuple(alphabets.get(each) or Alphabet(frozenset(each)) for each in example))


def find_width(shape: Shape) -> int | None:
    """Return the number of characters of every text of the shape; None if it varies."""
    match shape:
        case Fixed(places):
            return len(places)
        case Open():
            return None
        case OneOf(texts):
            widths = {len(text) for text in texts}
            return widths.pop() if len(widths) == 1 else None
        case _:
            assert_never(shape)


def find_head(shape: Shape) -> str:
    """Return the longest prefix that all texts of the shape share.

    >>> find_head(OneOf(("paid", "packed"))), find_head(shape_of_example("O#00", DIGIT))
    ('pa', 'O#')
    """
    match shape:
        case Fixed(places):
            head = ""
            for place in places:
                if place.is_inverted or len(place.characters) != 1:
                    break
                head += min(place.characters)
            return head
        case Open():
            return ""
        case OneOf(texts):
            # All texts between the first and the last, in sort order, share their common prefix.
            pairs = zip(min(texts), max(texts), strict=False)
            return "".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        case _:
            assert_never(shape)


def can_begin(shape: Shape, text: str) -> bool:
    """Return whether some text of the shape begins with `text`."""
    match shape:
        case Fixed(places):
            fits = (each in place for each, place in zip(text, places, strict=False))
            return len(text) <= len(places) and all(fits)
        case Open(alphabet):
            return all(each in alphabet for each in text)
        case OneOf(texts):
            return any(each.startswith(text) for each in texts)
        case _:
            assert_never(shape)


def to_pattern(shape: Shape) -> str:
    """Return a regular expression, as a string, that matches the texts of the shape."""
    match shape:
        case Fixed(places):
            return "".join(_repeat(alphabet, len([*run])) for alphabet, run in groupby(places))
        case Open(alphabet):
            return f"{alphabet.to_pattern()}+"
        case OneOf(texts):
            return f"(?:{'|'.join(re.escape(text) for text in texts)})"
        case _:
            assert_never(shape)


def _repeat(alphabet: Alphabet, times: int) -> str:
    return alphabet.to_pattern() + (f"{{{times}}}" if times > 1 else "")


def is_encodable(text: str) -> bool:
    """Return whether a text can be encoded as UTF-8: one with an unpaired surrogate cannot."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def find_end(prefix: str) -> str | None:
    r"""Return the least text greater than all that begin with `prefix`; None if there is none.

    Texts are ordered by their UTF-8 bytes, which is the order of their code points.

    >>> find_end("O#"), find_end("a\U0010ffff"), find_end("")
    ('O$', 'b', None)
    """
    stripped = prefix.rstrip("\U0010ffff")
    if not stripped:
        return None
    code = ord(stripped[-1]) + 1
    # Skip the surrogates: they are code points, but not characters.
    return stripped[:-1] + chr(0xE000 if code == 0xD800 else code)  # noqa: PLR2004


def join(shapes: Iterable[Fixed]) -> Fixed:
    """Return the concatenation of fixed shapes."""
    return Fixed(tuple(place for shape in shapes for place in shape.places))
