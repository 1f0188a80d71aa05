"""`contains` with an index gives the results that it gives element by element."""

from __future__ import annotations

import gc
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from keyfold.expressions.comparison import are_equal, has_element
from keyfold.expressions.conditions import bind_condition
from keyfold.expressions.containment import FEW_QUESTIONS, AskedPath, ConstantList, to_hashable
from keyfold.expressions.placeholders import Placeholders

SCALARS = st.one_of(
    st.sampled_from(["", "a", "1"]).map(lambda text: {"S": text}),
    st.sampled_from(["0", "1"]).map(lambda text: {"N": text}),
    st.booleans().map(lambda flag: {"BOOL": flag}),
    st.just({"NULL": True}),
    st.lists(st.sampled_from("ab1"), min_size=1, unique=True).map(lambda names: {"SS": names}),
    st.lists(st.sampled_from("01"), min_size=1, unique=True).map(lambda names: {"NS": names}),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda members: {"L": members}),
        st.dictionaries(st.sampled_from("ab"), inner, max_size=2).map(lambda map_: {"M": map_}),
    ),
    max_leaves=6,
)


@given(VALUES, VALUES)
def test_hashable_forms_are_equal_if_values_are(
    left: dict[str, Any], right: dict[str, Any]
) -> None:
    assert (to_hashable(left) == to_hashable(right)) is are_equal(left, right)


@given(st.lists(VALUES, max_size=5), VALUES)
def test_an_index_has_the_elements_of_its_list(
    elements: list[dict[str, Any]], element: dict[str, Any]
) -> None:
    expected = has_element({"L": elements}, element)
    asked = AskedPath()
    asked.calls = FEW_QUESTIONS + 1
    assert ConstantList(elements).has(element) is expected
    assert {asked.has({"L": elements}, element) for _ in range(FEW_QUESTIONS + 3)} == {expected}


def test_the_index_is_of_the_item_at_hand() -> None:
    text = " OR ".join(f"contains(l, :v{number})" for number in range(20))
    values = {f":v{number}": {"N": str(number)} for number in range(20)}
    bound = bind_condition(text, Placeholders(None, values), kind="FilterExpression")
    assert bound.holds({"l": {"L": [{"N": "19"}]}})
    assert not bound.holds({"l": {"L": [{"N": "20"}]}})
    assert bound.holds({"l": {"SS": ["a"]}}) is False
    assert not bound.holds({})


def test_a_cached_condition_does_not_keep_lists() -> None:
    text = " OR ".join(f"contains(l, a{number})" for number in range(20))
    bound = bind_condition(text, Placeholders(None, None), kind="FilterExpression")

    class Elements(list[Any]):
        """A list that can be found among all objects."""

    assert not bound.holds({"l": {"L": Elements([{"N": "1"}])}, "a19": {"N": "2"}})
    gc.collect()
    assert not [each for each in gc.get_objects() if isinstance(each, Elements)]


def test_elements_that_are_computed_are_not_mistaken_for_each_other() -> None:
    text = " OR ".join(f"contains(l, size(a{number}))" for number in range(30))
    bound = bind_condition(text, Placeholders(None, None), kind="FilterExpression")
    item: dict[str, Any] = {f"a{number}": {"S": "x" * number} for number in range(30)}
    assert bound.holds({**item, "l": {"L": [{"N": "29"}]}})
    assert not bound.holds({**item, "l": {"L": [{"N": "30"}]}})
