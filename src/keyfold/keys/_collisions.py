"""Whether the keys of two entities could be the same."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import assert_never

from keyfold.keys._globs import Pieces, Wildcard
from keyfold.keys._shapes import ANYTHING, Alphabet, Fixed, OneOf, Open, Shape, spell
from keyfold.keys._templates import KeyTemplate

# The ways on from each place of a template: a character of the alphabet leads to the place.
_Ways = list[list[tuple[Alphabet, int]]]


def find_collision(
    one: Sequence[KeyTemplate], other: Sequence[KeyTemplate]
) -> tuple[str, ...] | None:
    """Return a key that both could render, as one text for each of its templates; None if none.

    Both keys are given in the same order, the partition key first.

    >>> user = KeyTemplate.from_types("USER#{name}", {"name": str}, owner="User")
    >>> admin = KeyTemplate.from_types("{role}#{id:03}", {"role": str, "id": int}, owner="Admin")
    >>> find_collision([user], [admin])
    ('USER#111',)

    It errs on the side of finding one: that there is no 30 February, and that a field may
    stand in both templates of a key, is not considered.
    """
    found: list[str] = []
    for mine, theirs in zip(one, other, strict=True):
        text = _find_common_text(_lay_out(mine), _lay_out(theirs))
        if text is None:
            return None
        found.append(text)
    return tuple(found)


def can_fit(template: KeyTemplate, pieces: Pieces) -> bool:
    """Tell whether some key of a template fits a pattern; a part to be put in may be anything.

    >>> user = KeyTemplate.from_types("USER#{name}", {"name": str}, owner="User")
    >>> can_fit(user, ("USER#", Wildcard.ANY)), can_fit(user, ("USER#", Wildcard.ANY, "#"))
    (True, False)
    """
    mine = template.parts[0].before if template.parts else template.tail
    theirs = pieces[0] if pieces and isinstance(pieces[0], str) else ""
    if not mine.startswith(theirs) and not theirs.startswith(mine):
        # What most look like that have nothing in common.
        return False
    ways: _Ways = [[]]
    for piece in pieces:
        match piece:
            case str():
                _add(ways, spell(piece))
            case Wildcard.ONE:
                _add(ways, Fixed((ANYTHING,)))
            case _:
                ways[-1].append((ANYTHING, len(ways) - 1))
    return _find_common_text(_lay_out(template), ways) is not None


def _find_common_text(mine: _Ways, theirs: _Ways) -> str | None:
    """Walk both at once, a character at a time, and return the shortest text to both ends."""
    end = (len(mine) - 1, len(theirs) - 1)
    reached = {(0, 0)}
    waiting = deque([(0, 0, "")])
    while waiting:
        my_place, their_place, text = waiting.popleft()
        if (my_place, their_place) == end:
            return text
        for my_alphabet, my_next in mine[my_place]:
            for their_alphabet, their_next in theirs[their_place]:
                character = my_alphabet.overlap(their_alphabet).pick()
                if character is not None and (my_next, their_next) not in reached:
                    reached.add((my_next, their_next))
                    waiting.append((my_next, their_next, text + character))
    return None


def _lay_out(template: KeyTemplate) -> _Ways:
    """Return the ways through a template; the last place is its end."""
    ways: _Ways = [[]]
    for part in template.parts:
        _add(ways, spell(part.before))
        _add(ways, part.shape)
    _add(ways, spell(template.tail))
    return ways


def _add(ways: _Ways, shape: Shape) -> None:
    match shape:
        case Fixed(places):
            for alphabet in places:
                ways[-1].append((alphabet, len(ways)))
                ways.append([])
        case Open(alphabet):
            end = len(ways)
            ways[-1].append((alphabet, end))
            ways.append([(alphabet, end)])
        case OneOf(texts):
            # Texts share their way as long as they are the same, and meet behind their last.
            places = {"": len(ways) - 1}
            for text in texts:
                for length in range(1, len(text)):
                    passed = text[:length]
                    if passed not in places:
                        places[passed] = len(ways)
                        ways[places[passed[:-1]]].append(_one_way(passed[-1], len(ways)))
                        ways.append([])
            for text in texts:
                ways[places[text[:-1]]].append(_one_way(text[-1], len(ways)))
            ways.append([])
        case _:
            assert_never(shape)


def _one_way(character: str, place: int) -> tuple[Alphabet, int]:
    return Alphabet(frozenset(character)), place
