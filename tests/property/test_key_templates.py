"""Templates render and parse in one way only, and collisions between them are found."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from keyfold.keys import find_collision
from tests.examples import examples
from tests.property.key_strategies import CHARACTERS, Plan, plans

THOROUGH = examples(200)


@THOROUGH
@given(plan=plans(), data=st.data())
def test_render_and_parse_are_inverse(plan: Plan, data: st.DataObject) -> None:
    for values in plan.draw_several(data, {}):
        key = plan.template.render(values)
        assert type(key) is str
        assert plan.template.parse(key) == values
        assert plan.template.matches(key)


@THOROUGH
@given(plan=plans(), data=st.data())
def test_only_renderings_are_parsed(plan: Plan, data: st.DataObject) -> None:
    key = plan.template.render(plan.draw_values(data, {}))
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(key))] * 2)))
    key = key[:start] + data.draw(st.text(st.sampled_from(CHARACTERS), max_size=3)) + key[end:]
    values = plan.template.parse(key)
    assert values is None or plan.template.render(values) == key
    assert bool(plan.template.matches(key)) == (values is not None)


@THOROUGH
@given(plan=plans(min_parts=1), data=st.data())
def test_different_values_have_different_keys(plan: Plan, data: st.DataObject) -> None:
    one = plan.draw_values(data, {})
    for other in plan.draw_several(data, {}):
        assert (plan.template.render(one) == plan.template.render(other)) == (one == other)


@THOROUGH
@given(one=plans(), other=plans(), data=st.data())
def test_templates_collide_where_an_example_shows_it_and_nowhere_else(
    one: Plan, other: Plan, data: st.DataObject
) -> None:
    found = find_collision([one.template], [other.template])
    assert (found is None) == (find_collision([other.template], [one.template]) is None)
    if found is not None:
        [key] = found
        for template in (one.template, other.template):
            values = template.parse(key)
            assert values is not None
            assert template.render(values) == key
    else:
        mine = [one.template.render(values) for values in one.draw_several(data, {})]
        assert all(other.template.parse(key) is None for key in mine)
        theirs = [other.template.render(values) for values in other.draw_several(data, {})]
        assert all(one.template.parse(key) is None for key in theirs)


@THOROUGH
@given(plan=plans(), data=st.data())
def test_a_template_collides_with_each_of_its_keys(plan: Plan, data: st.DataObject) -> None:
    key = plan.template.render(plan.draw_values(data, {}))
    constant = type(plan.template)(key.replace("{", "{{").replace("}", "}}"), {}, owner="Other")
    assert find_collision([plan.template], [constant]) == (key,)
