from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.expressions.paths import check_scalar_keys
from keyfold.expressions.placeholders import Placeholders
from keyfold.expressions.updates import UpdatePlan, bind_update, check_updated_keys
from keyfold.values import NESTED_TOO_DEEP, Item
from tests.unit.expressions.refusals import refusal_of

VALUES: dict[str, Any] = {
    ":s": {"S": "x"},
    ":n": {"N": "1"},
    ":n2": {"N": "2"},
    ":t": {"BOOL": True},
    ":l": {"L": [{"S": "new"}]},
    ":ss": {"SS": ["x", "a"]},
    ":all": {"SS": ["c", "b", "a"]},
    ":ns": {"NS": ["2.0", "3"]},
}


def number_list(*numbers: int) -> dict[str, Any]:
    return {"L": [{"N": str(number)} for number in numbers]}


ITEM: Item = {
    "a": {"N": "1"},
    "s": {"S": "text"},
    "l": number_list(0, 1, 2, 3, 4),
    "m": {"M": {"x": {"N": "1"}, "y": {"M": {"z": {"N": "2"}}}, "l": number_list(7, 8)}},
    "q": {"L": [number_list(1, 2), {"M": {"a": {"N": "1"}}}]},
    "ss": {"SS": ["a", "b"]},
    "ns": {"NS": ["1", "2"]},
}


def plan_of(text: str) -> UpdatePlan:
    names = {"#a": "a", "#zz": "zz"}
    return bind_update(text, Placeholders(names, VALUES))


def changed(text: str) -> Item:
    """Return the attributes that differ after an update of ITEM; removed ones are empty dicts."""
    before = copy.deepcopy(ITEM)
    after = plan_of(text).apply(ITEM)
    assert before == ITEM
    return {
        name: after.get(name, {}) for name in {**ITEM, **after} if ITEM.get(name) != after.get(name)
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SET b = :n, c = a", {"b": {"N": "1"}, "c": {"N": "1"}}),
        ("SET a = s, s = a", {"a": {"S": "text"}, "s": {"N": "1"}}),
        ("SET a = a + :n2", {"a": {"N": "3"}}),
        ("SET b = (a) - (:n2)", {"b": {"N": "-1"}}),
        ("SET b = m.y.z + l[4]", {"b": {"N": "6"}}),
        ("SET a = if_not_exists(a, :s), b = if_not_exists(zz, :s)", {"b": {"S": "x"}}),
        ("SET b = if_not_exists(zz, if_not_exists(m.zz, :n)) + :n", {"b": {"N": "2"}}),
        ("SET b = list_append(:l, m.l)", {"b": {"L": [{"S": "new"}, {"N": "7"}, {"N": "8"}]}}),
        ("SET b = list_append(if_not_exists(b, :l), :l)", {"b": {"L": [{"S": "new"}] * 2}}),
        ("REMOVE a, zz SET b = a", {"a": {}, "b": {"N": "1"}}),
    ],
)
def test_sources_are_evaluated_on_the_item_as_it_was(text: str, expected: Item) -> None:
    assert changed(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SET l[1] = :n2", {"l": number_list(0, 2, 2, 3, 4)}),
        ("SET l[9] = :n, l[7] = :n2", {"l": number_list(0, 1, 2, 3, 4, 2, 1)}),
        ("REMOVE l[1], l[3], l[9]", {"l": number_list(0, 2, 4)}),
        ("REMOVE l[0] SET l[2] = :n", {"l": number_list(1, 1, 3, 4)}),
        ("SET l[0] = l[4], l[4] = l[0]", {"l": number_list(4, 1, 2, 3, 0)}),
        ("REMOVE l[0], l[1], l[2], l[3], l[4]", {"l": number_list()}),
        ("ADD l[1] :n, l[8] :n2", {"l": number_list(0, 2, 2, 3, 4, 2)}),
        (
            "SET q[0][9] = :n, q[1].a = :n2 REMOVE q[0][0]",
            {"q": {"L": [number_list(2, 1), {"M": {"a": {"N": "2"}}}]}},
        ),
    ],
)
def test_positions_count_in_the_list_as_it_was(text: str, expected: Item) -> None:
    assert changed(text) == expected


def test_maps_are_changed_in_several_places_at_once() -> None:
    assert changed("SET m.x = :n2, m.y.w = :s REMOVE m.l[0] ADD m.k :n") == {
        "m": {
            "M": {
                "x": {"N": "2"},
                "y": {"M": {"z": {"N": "2"}, "w": {"S": "x"}}},
                "l": number_list(8),
                "k": {"N": "1"},
            }
        }
    }


def test_a_map_that_loses_its_last_member_stays() -> None:
    assert changed("REMOVE m.y.z")["m"]["M"]["y"] == {"M": {}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ADD a :n2, b :n", {"a": {"N": "3"}, "b": {"N": "1"}}),
        ("ADD ss :ss", {"ss": {"SS": ["a", "b", "x"]}}),
        ("ADD ns :ns", {"ns": {"NS": ["1", "2", "3"]}}),
        ("ADD b :ss", {"b": {"SS": ["a", "x"]}}),
        ("DELETE ss :ss", {"ss": {"SS": ["b"]}}),
        ("DELETE ss :all", {"ss": {}}),
        ("DELETE zz :ss", {}),
    ],
)
def test_sets_and_numbers_are_added_to_and_deleted_from(text: str, expected: Item) -> None:
    assert changed(text) == expected


_BAD_PATH = "The document path provided in the update expression is invalid for update"
_BAD_TYPE = "An operand in the update expression has an incorrect data type"
_ABSENT = "The provided expression refers to an attribute that does not exist in the item"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SET zz.b = :n", _BAD_PATH),
        ("SET zz[0] = :n", _BAD_PATH),
        ("SET s.b = :n", _BAD_PATH),
        ("SET m[0] = :n", _BAD_PATH),
        ("SET l.a = :n", _BAD_PATH),
        ("SET l[9].a = :n", _BAD_PATH),
        ("REMOVE zz.b", _BAD_PATH),
        ("REMOVE m.zz.b", _BAD_PATH),
        ("ADD zz.b :n", _BAD_PATH),
        ("DELETE m.zz.b :ss", _BAD_PATH),
        ("SET zz.b = yy", _BAD_PATH),
        ("SET b = zz", _ABSENT),
        ("SET b = b + :n", _ABSENT),
        ("SET b = if_not_exists(a, zz)", _ABSENT),
        ("SET b = list_append(zz, :l)", _ABSENT),
        ("SET b = s + zz", _BAD_TYPE),
        ("SET b = if_not_exists(zz, :s) + :n", _BAD_TYPE),
        ("SET b = list_append(a, :l)", _BAD_TYPE),
        ("ADD s :n", _BAD_TYPE),
        ("ADD a :ss", _BAD_TYPE),
        ("ADD ss :ns", _BAD_TYPE),
        ("DELETE l :ss", _BAD_TYPE),
    ],
)
def test_an_update_that_does_not_fit_the_item_is_refused(text: str, message: str) -> None:
    assert refusal_of(lambda: plan_of(text).apply(ITEM)) == message


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "ADD b :s",
            (
                "Incorrect operand type for operator or function; operator: ADD, "
                "operand type: STRING, typeSet: ALLOWED_FOR_ADD_OPERAND"
            ),
        ),
        (
            "DELETE b :n",
            (
                "Incorrect operand type for operator or function; operator: DELETE, "
                "operand type: NUMBER, typeSet: ALLOWED_FOR_DELETE_OPERAND"
            ),
        ),
        (
            "SET b = a + :s",
            (
                "Incorrect operand type for operator or function; operator or function: +, "
                "operand type: S"
            ),
        ),
        (
            "SET b = list_append(:l, :n)",
            (
                "Incorrect operand type for operator or function; "
                "operator or function: list_append, operand type: N"
            ),
        ),
        (
            "SET b = if_not_exists(a)",
            (
                "Incorrect number of operands for operator or function; "
                "operator or function: if_not_exists, number of operands: 1"
            ),
        ),
        (
            "SET b = if_not_exists(:n, :n2)",
            "Operator or function requires a document path; operator or function: if_not_exists",
        ),
        (
            "SET a = :n REMOVE #a",
            (
                "Two document paths overlap with each other; must remove or rewrite one of these "
                "paths; path one: [a], path two: [a]"
            ),
        ),
        (
            "SET b.c = :n ADD b[0] :n",
            (
                "Two document paths conflict with each other; must remove or rewrite one of these "
                "paths; path one: [b, c], path two: [b, [0]]"
            ),
        ),
        (
            "SET b = #no",
            (
                "An expression attribute name used in the document path is not defined; "
                "attribute name: #no"
            ),
        ),
    ],
)
def test_faults_are_reported_before_the_item_is_read(text: str, fault: str) -> None:
    assert refusal_of(lambda: plan_of(text)) == f"Invalid UpdateExpression: {fault}"


def test_paths_are_checked_before_sources_and_both_from_the_last() -> None:
    assert "attribute name: #no" in refusal_of(lambda: plan_of("SET #no = :n, b = :zz"))
    assert "overlap" in refusal_of(lambda: plan_of("SET #no = :n, a = :n, a = :n"))
    assert "attribute value: :zz" in refusal_of(lambda: plan_of("SET b = :s + :n, c = :zz"))


def test_too_many_digits_are_refused() -> None:
    item: Item = {"a": {"N": "9" * 38}}
    message = refusal_of(lambda: plan_of("SET a = a + :n2").apply(item))
    assert message.startswith("Number overflow.")


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {"S": "x"}
    for _ in range(depth):
        value = {"L": [value]}
    return value


def test_an_update_may_not_nest_deeper_than_an_item_may() -> None:
    def update(text: str, depth: int) -> Item:
        plan = bind_update(text, Placeholders(None, {":v": nested(depth)}))
        return plan.apply({"m": {"M": {}}, "a": nested(31)})

    update("SET b = :v", 31)
    update("SET m.x = :v", 30)
    for text, depth in (("SET m.x = :v", 31), ("SET m.x = a, b = :v", 1)):
        message = refusal_of(lambda text=text, depth=depth: update(text, depth))
        assert message == NESTED_TOO_DEEP


def test_updated_parts_keep_their_nesting() -> None:
    plan = plan_of("SET m.x = :n2, b = :n, l[9] = :s REMOVE l[1], s")
    assert plan.project_touched(ITEM) == {
        "m": {"M": {"x": {"N": "1"}}},
        "l": number_list(1),
        "s": {"S": "text"},
    }
    # An element set past the end is appended, so it is not at the given position. At the position
    # of a removed element is now the one that followed it.
    assert plan.project_touched(plan.apply(ITEM)) == {
        "m": {"M": {"x": {"N": "2"}}},
        "b": {"N": "1"},
        "l": number_list(2),
    }


def test_an_update_knows_whether_it_only_removes() -> None:
    assert plan_of("REMOVE a DELETE ss :ss").only_removes
    assert not plan_of("REMOVE a ADD b :n").only_removes


def test_the_key_may_not_be_updated() -> None:
    plan = plan_of("SET b.c = m.x REMOVE a")
    assert plan.attributes == {"b", "a"}
    check_updated_keys(plan, ["pk", "m"])
    assert refusal_of(lambda: check_updated_keys(plan, ["pk", "a"])) == (
        "One or more parameter values were invalid: Cannot update attribute a. "
        "This attribute is part of the key"
    )
    assert refusal_of(lambda: check_scalar_keys(plan.paths, ["pk"], ["m"])).endswith("IndexKey: m")


def test_hundreds_of_nested_functions_are_evaluated() -> None:
    text = "SET b = " + "if_not_exists(z," * 240 + "a" + ")" * 240
    assert changed(text) == {"b": {"N": "1"}}


@given(
    st.lists(st.integers(0, 9), max_size=6),
    st.lists(st.integers(0, 8), max_size=4, unique=True),
    st.lists(st.integers(0, 8), max_size=4, unique=True),
)
def test_lists_change_as_a_plain_list_does(
    numbers: list[int], replaced: list[int], removed: list[int]
) -> None:
    replaced = [position for position in replaced if position not in removed]
    sections = [
        "SET " + ", ".join(f"l[{position}] = :v" for position in replaced) if replaced else "",
        "REMOVE " + ", ".join(f"l[{position}]" for position in removed) if removed else "",
    ]
    text = " ".join(filter(None, sections))
    if not text:
        return
    plan = bind_update(text, Placeholders(None, {":v": {"N": "99"}} if replaced else None))
    expected = [
        99 if position in replaced else number
        for position, number in enumerate(numbers)
        if position not in removed
    ] + [99 for position in replaced if position >= len(numbers)]
    assert plan.apply({"l": number_list(*numbers)}) == {"l": number_list(*expected)}
