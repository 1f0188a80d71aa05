"""Check whether two entities could have the same key, or a key could match a pattern.

Each template becomes a nondeterministic finite automaton; a breadth-first search of the
product of two automata finds the shortest text that both accept.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from typing import assert_never

from keyfold.keys._globs import Pieces, Wildcard
from keyfold.keys._shapes import ANYTHING, Alphabet, Fixed, OneOf, Open, Shape, shape_of_text
from keyfold.keys._templates import KeyTemplate

# The transitions out of each state: any character of the alphabet leads to the numbered state.
# State 0 is the start, and the last state is the end.
_Transitions = list[list[tuple[Alphabet, int]]]


def find_collision(
    one: Sequence[KeyTemplate], other: Sequence[KeyTemplate]
) -> tuple[str, ...] | None:
    """Return a key that both could render, as one text per template; None if there is none.

    Both sequences hold the templates of a key in the same order, the partition key first.

    >>> user = KeyTemplate.from_types("USER#{name}", {"name": str}, owner="User")
    >>> admin = KeyTemplate.from_types("{role}#{id:03}", {"role": str, "id": int}, owner="Admin")
    >>> find_collision([user], [admin])
    ('USER#111',)

    It may report a collision that cannot happen: it does not consider that there is no
    30 February, or that the same field may appear in both templates of a key.
    """
    found: list[str] = []
    for mine, theirs in zip(one, other, strict=True):
        text = _find_common_text(_build_transitions(mine), _build_transitions(theirs))
        if text is None:
            return None
        found.append(text)
    return tuple(found)


def begins_like(template: KeyTemplate, other: KeyTemplate, known: Collection[str]) -> bool:
    """Return whether some key of a template has the prefix that a query for the other's keys has.

    `known` are the fields of the other template that the query knows.

    >>> order = KeyTemplate.from_types("O#{order}", {"order": str}, owner="Order")
    >>> offer = KeyTemplate.from_types("O#{offer}#X", {"offer": str}, owner="Offer")
    >>> begins_like(offer, order, ()), begins_like(order, offer, ("offer",))
    (True, False)
    """
    transitions: _Transitions = [[]]
    for part in other.parts:
        _append(transitions, shape_of_text(part.before))
        if part.name not in known:
            _append(transitions, shape_of_text(part.head))
            break
        _append(transitions, part.shape)
    else:
        _append(transitions, shape_of_text(other.tail))
    transitions[-1].append((ANYTHING, len(transitions) - 1))
    return _find_common_text(_build_transitions(template), transitions) is not None


def can_fit(template: KeyTemplate, pieces: Pieces) -> bool:
    """Return whether some key of a template matches a pattern; a `NamedPart` matches any text.

    >>> user = KeyTemplate.from_types("USER#{name}", {"name": str}, owner="User")
    >>> can_fit(user, ("USER#", Wildcard.ANY)), can_fit(user, ("USER#", Wildcard.ANY, "#"))
    (True, False)
    """
    mine = template.parts[0].before if template.parts else template.tail
    theirs = pieces[0] if pieces and isinstance(pieces[0], str) else ""
    if not mine.startswith(theirs) and not theirs.startswith(mine):
        # Most templates that cannot match are ruled out here, without a search.
        return False
    transitions: _Transitions = [[]]
    for piece in pieces:
        match piece:
            case str():
                _append(transitions, shape_of_text(piece))
            case Wildcard.ONE:
                _append(transitions, Fixed((ANYTHING,)))
            case _:
                transitions[-1].append((ANYTHING, len(transitions) - 1))
    return _find_common_text(_build_transitions(template), transitions) is not None


def _find_common_text(mine: _Transitions, theirs: _Transitions) -> str | None:
    """Return the shortest text that leads both automata to their end; None if there is none."""
    end = (len(mine) - 1, len(theirs) - 1)
    reached = {(0, 0)}
    waiting = deque([(0, 0, "")])
    while waiting:
        my_state, their_state, text = waiting.popleft()
        if (my_state, their_state) == end:
            return text
        for my_alphabet, my_next in mine[my_state]:
            for their_alphabet, their_next in theirs[their_state]:
                character = my_alphabet.overlap(their_alphabet).pick()
                if character is not None and (my_next, their_next) not in reached:
                    reached.add((my_next, their_next))
                    waiting.append((my_next, their_next, text + character))
    return None


def _build_transitions(template: KeyTemplate) -> _Transitions:
    transitions: _Transitions = [[]]
    for part in template.parts:
        _append(transitions, shape_of_text(part.before))
        _append(transitions, part.shape)
    _append(transitions, shape_of_text(template.tail))
    return transitions


def _append(transitions: _Transitions, shape: Shape) -> None:
    """Add states that accept the shape after the last state; the new last state is their end."""
    match shape:
        case Fixed(places):
            for alphabet in places:
                transitions[-1].append((alphabet, len(transitions)))
                transitions.append([])
        case Open(alphabet):
            end = len(transitions)
            transitions[-1].append((alphabet, end))
            transitions.append([(alphabet, end)])
        case OneOf(texts):
            # A trie: texts share the states of their common prefixes. The last character of
            # every text leads to one shared end state.
            states = {"": len(transitions) - 1}
            for text in texts:
                for length in range(1, len(text)):
                    prefix = text[:length]
                    if prefix not in states:
                        states[prefix] = len(transitions)
                        transitions[states[prefix[:-1]]].append(
                            _transition(prefix[-1], len(transitions))
                        )
                        transitions.append([])
            for text in texts:
                transitions[states[text[:-1]]].append(_transition(text[-1], len(transitions)))
            transitions.append([])
        case _:
            assert_never(shape)


def _transition(character: str, state: int) -> tuple[Alphabet, int]:
    return Alphabet(frozenset(character)), state
