"""The mark of an entity: a hue and two letters, the same in every view."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

# The palette of `static/css/tokens.css`.
_HUES = 10


@dataclass(frozen=True, slots=True)
class EntityMark:
    """The mark of an entity. `hue` is 1 to 10; marks of the second round are hollow."""

    letters: str
    hue: int
    is_hollow: bool


def make_marks(names: Iterable[str]) -> dict[str, EntityMark]:
    """Return the marks of entities, in the order of their declaration.

    Letters are the initials of the words in a name, or its first two letters; on a clash, the first
    and another one.

    >>> {name: mark.letters for name, mark in make_marks(["Order", "OrderLine", "Origin"]).items()}
    {'Order': 'Or', 'OrderLine': 'OL', 'Origin': 'Oi'}
    """
    marks: dict[str, EntityMark] = {}
    taken: set[str] = set()
    for number, name in enumerate(names):
        letters = next((each for each in _suggest(name) if each not in taken), name[:2])
        taken.add(letters)
        marks[name] = EntityMark(letters, number % _HUES + 1, number >= _HUES)
    return marks


def _suggest(name: str) -> Iterable[str]:
    initials = "".join(each for each in name if each.isupper())
    if len(initials) > 1:
        yield initials[:2]
    yield name[:2].capitalize()
    for other in name[2:]:
        yield f"{name[0].upper()}{other.lower()}"
    for digit in range(1, 10):
        yield f"{name[0].upper()}{digit}"
