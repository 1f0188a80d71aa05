"""Wildcard patterns match the keys of templates, and report where they match more."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from keyfold.keys import Glob, NamedPart, can_fit, find_globs
from keyfold.policy.iam._patterns import TAG, Variable, WildcardPattern
from tests.examples import examples
from tests.property.key_strategies import CHARACTERS, Plan, plans

THOROUGH = examples(100)


def fits(globs: tuple[Glob, ...], key: str, known: dict[str, str] | None = None) -> bool:
    def is_like(pieces: tuple[object, ...]) -> bool:
        written = [
            Variable(f"{TAG}{piece.name}", None) if isinstance(piece, NamedPart) else piece
            for piece in pieces
        ]
        tags = {f"{TAG}{name}": text for name, text in (known or {}).items()}
        return WildcardPattern(tuple(written)).is_like(key, tags)  # pyright: ignore[reportArgumentType] - pieces of both kinds

    forbidden = [pieces for glob in globs for pieces in glob.forbidden]
    return any(is_like(glob.pieces) for glob in globs) and not any(map(is_like, forbidden))


@THOROUGH
@given(plan=plans(), data=st.data())
def test_every_key_matches_and_none_is_forbidden(plan: Plan, data: st.DataObject) -> None:
    globs = find_globs(plan.template)
    for values in plan.draw_several(data, {}):
        assert fits(globs, plan.template.render(values))


@THOROUGH
@given(plan=plans(), data=st.data())
def test_text_that_matches_an_exact_pattern_is_a_key(plan: Plan, data: st.DataObject) -> None:
    globs = find_globs(plan.template)
    key = plan.template.render(plan.draw_values(data, {}))
    for _ in range(3):
        start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(key))] * 2)))
        key = key[:start] + data.draw(st.text(st.sampled_from(CHARACTERS), max_size=2)) + key[end:]
        is_key = plan.template.parse(key) is not None
        if all(glob.is_exact for glob in globs):
            assert fits(globs, key) == is_key
        elif is_key:
            assert fits(globs, key)


@THOROUGH
@given(plan=plans(min_parts=1), data=st.data())
def test_a_part_that_is_filled_in_later_matches_only_its_own_value(
    plan: Plan, data: st.DataObject
) -> None:
    part = plan.template.parts[0]
    globs = find_globs(plan.template, kept=part.name)
    values = plan.draw_values(data, {})
    key, own = plan.template.render(values), part.format.render(values[part.name])
    assert fits(globs, key, {part.name: own})
    for other in plan.draw_several(data, {}):
        theirs = plan.template.render({**values, part.name: other[part.name]})
        assert fits(globs, theirs, {part.name: own}) == (theirs == key)


@THOROUGH
@given(plan=plans(), other=plans(), data=st.data())
def test_a_pattern_that_cannot_fit_a_template_matches_none_of_its_keys(
    plan: Plan, other: Plan, data: st.DataObject
) -> None:
    for glob in find_globs(other.template)[:3]:
        assert can_fit(other.template, glob.pieces)
        for pieces in glob.forbidden:
            assert not can_fit(other.template, pieces)
        if not can_fit(plan.template, glob.pieces):
            pattern = WildcardPattern(glob.pieces)  # pyright: ignore[reportArgumentType] - no part is filled in later
            for values in plan.draw_several(data, {}):
                assert not pattern.is_like(plan.template.render(values), {})
