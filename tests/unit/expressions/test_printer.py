"""Printing trees: the parser reads the printed text back."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from keyfold.errors import ConditionAsTruth, QueryInvalid
from keyfold.expressions import (
    AddTo,
    And,
    Arithmetic,
    Between,
    Comparison,
    DeferredValue,
    DeleteFrom,
    FunctionCall,
    In,
    Not,
    Or,
    Path,
    ReadablePrinter,
    Remove,
    RequestPrinter,
    SetTo,
    holds_for_absent_item,
    join_all,
    paths_in,
)
from keyfold.expressions.conditions import bind_condition, compile_condition
from keyfold.expressions.parser import parse_condition, parse_update
from keyfold.expressions.placeholders import Placeholders
from keyfold.expressions.trees import Action, Condition
from keyfold.expressions.updates import compile_update
from keyfold.values import AttributeValue

NOW = datetime(2026, 1, 1, tzinfo=UTC)
A, B, DEEP = Path(("a",)), Path(("b",)), Path(("m", "list", 2, "x"))
ONE, TEXT, TAGS = {"N": "1"}, {"S": "x"}, {"SS": ["t"]}

CONDITIONS: list[tuple[Condition, str, str]] = [
    (Comparison("=", A, ONE), "a = :0", "a = 1"),
    (Comparison("<>", DEEP, TEXT), "m.#0[2].x <> :0", "m.list[2].x <> 'x'"),
    (Comparison("<", FunctionCall("size", (A,)), ONE), "size(a) < :0", "size(a) < 1"),
    (Between(A, ONE, {"N": "2"}), "a BETWEEN :0 AND :1", "a BETWEEN 1 AND 2"),
    (In(A, (ONE, ONE, TEXT)), "a IN (:0, :0, :1)", "a IN (1, 1, 'x')"),
    (FunctionCall("attribute_exists", (A,)), "attribute_exists(a)", "attribute_exists(a)"),
    (FunctionCall("begins_with", (A, TEXT)), "begins_with(a, :0)", "begins_with(a, 'x')"),
    (
        And((Comparison("=", A, ONE), Or((Comparison("=", B, ONE), Comparison("=", B, TEXT))))),
        "a = :0 AND (b = :0 OR b = :1)",
        "a = 1 AND (b = 1 OR b = 'x')",
    ),
    (Not(Comparison("=", A, B)), "NOT (a = b)", "NOT (a = b)"),
]

UPDATES: list[tuple[tuple[Action, ...], str]] = [
    ((SetTo(A, ONE), Remove(B)), "SET a = :0 REMOVE b"),
    ((SetTo(A, Arithmetic("+", A, ONE)),), "SET a = a + :0"),
    ((SetTo(A, FunctionCall("if_not_exists", (B, ONE))),), "SET a = if_not_exists(b, :0)"),
    ((AddTo(A, ONE), DeleteFrom(B, TAGS)), "ADD a :0 DELETE b :1"),
]


@pytest.mark.parametrize(("tree", "text", "readable"), CONDITIONS, ids=lambda each: str(each)[:40])
def test_a_condition_survives_printing_and_parsing(
    tree: Condition, text: str, readable: str
) -> None:
    printer = RequestPrinter(NOW)
    assert printer.write_condition(tree) == text
    assert repr(tree) == readable
    shown = ReadablePrinter(printer.names, printer.values)
    assert shown.write_condition(parse_condition(text).condition) == readable
    placeholders = Placeholders(printer.names or None, printer.values or None)
    bound = bind_condition(text, placeholders, kind="FilterExpression")
    for item in ({}, {"a": ONE}, {"a": TEXT, "b": ONE}, {"a": {"S": "xy"}, "b": {"S": "xy"}}):
        assert bound.holds(item) is compile_condition(tree).holds(item)
    placeholders.check_all_used()


@pytest.mark.parametrize(("actions", "text"), UPDATES, ids=[text for _, text in UPDATES])
def test_an_update_survives_printing_and_parsing(actions: tuple[Action, ...], text: str) -> None:
    printer = RequestPrinter(NOW)
    assert printer.write_update(actions) == text
    placeholders = Placeholders(printer.names or None, printer.values or None)
    read = compile_update(parse_update(text), placeholders)
    item = {"a": {"N": "41"}, "b": {"SS": ["t", "u"]}}
    assert read.apply(item) == compile_update(actions).apply(item)


def test_a_deferred_value_is_resolved_when_it_is_printed() -> None:
    def encode(value: object, now: datetime) -> AttributeValue:
        return {"N": str(int(now.timestamp()))}

    deferred = DeferredValue("now", encode)
    condition = Comparison("<", A, deferred)
    printer = RequestPrinter(NOW)
    assert printer.write_condition(condition) == "a < :0"
    assert printer.values == {":0": {"N": str(int(NOW.timestamp()))}}
    assert repr(condition) == "a < 'now'"


def test_values_that_differ_only_in_type_get_separate_placeholders() -> None:
    printer = RequestPrinter(NOW)
    assert printer.write_condition(In(A, ({"S": "1"}, {"N": "1"}))) == "a IN (:0, :1)"


def test_names_and_values_are_added_to_a_request_only_if_there_are_any() -> None:
    request: dict[str, object] = {}
    RequestPrinter(NOW).add_to(request)
    assert request == {}


def test_conditions_are_joined_by_operators() -> None:
    one, other = Comparison("=", A, ONE), Comparison("=", B, TEXT)
    assert one & other == And((one, other))
    assert (one | other) == Or((one, other))
    assert ~one == Not(one)
    assert join_all(None, one, None) is one
    assert join_all() is None
    with pytest.raises(ConditionAsTruth, match=r"^a = 1: "):
        bool(one)
    with pytest.raises(QueryInvalid, match="but got True"):
        _ = one & True  # type: ignore[operator]


def test_the_paths_of_a_tree_are_found() -> None:
    condition = And((Comparison("=", A, B), Not(FunctionCall("contains", (DEEP, TEXT)))))
    assert list(paths_in(condition)) == [A, B, DEEP]
    assert list(paths_in(SetTo(A, FunctionCall("if_not_exists", (B, DEEP))))) == [A, B, DEEP]


@pytest.mark.parametrize("tree", [tree for tree, *_ in CONDITIONS], ids=repr)
def test_holds_for_absent_item_agrees_with_evaluation(tree: Condition) -> None:
    assert holds_for_absent_item(tree) is compile_condition(tree).holds({})


def test_nodes_of_different_classes_are_never_equal() -> None:
    one, other = Comparison("=", A, ONE), Comparison("=", B, ONE)
    assert And((one, other)) == And((one, other))
    assert And((one, other)) != Or((one, other))
    assert AddTo(A, ONE) != SetTo(A, ONE)
    assert DeleteFrom(A, TAGS) != AddTo(A, TAGS)
