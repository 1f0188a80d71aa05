from __future__ import annotations

from typing import Any

import pytest

from keyfold.transfer._tallies import Tallies, Tally, compare, tally_item


def tallies(*items: dict[str, Any], entity: str = "Order", is_expired: bool = False) -> Tallies:
    made = Tallies()
    for item in items:
        made.add(entity, item, is_expired=is_expired)
    return made


ONE, TWO = {"pk": {"S": "1"}}, {"pk": {"S": "2"}}


def test_the_order_of_items_does_not_matter() -> None:
    assert tallies(ONE, TWO) == tallies(TWO, ONE)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": {"S": "x"}, "b": {"N": "1"}}, {"b": {"N": "1"}, "a": {"S": "x"}}),
        ({"a": {"SS": ["x", "y"]}}, {"a": {"SS": ["y", "x"]}}),
        ({"a": {"L": [{"NS": ["1", "2"]}]}}, {"a": {"L": [{"NS": ["2", "1"]}]}}),
        (
            {"a": {"M": {"p": {"BS": ["YQ==", "Yg=="]}, "q": {"S": ""}}}},
            {"a": {"M": {"q": {"S": ""}, "p": {"BS": ["Yg==", "YQ=="]}}}},
        ),
    ],
)
def test_equal_items_have_equal_tallies(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert tally_item(one) == tally_item(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": {"S": "1"}}, {"a": {"N": "1"}}),
        ({"a": {"L": [{"S": "x"}, {"S": "y"}]}}, {"a": {"L": [{"S": "y"}, {"S": "x"}]}}),
        ({"a": {"SS": ["x"]}}, {"a": {"L": [{"S": "x"}]}}),
        ({"a": {"S": "x"}}, {"b": {"S": "x"}}),
    ],
)
def test_different_items_have_different_tallies(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert tally_item(one) != tally_item(other)


def test_tallies_survive_json() -> None:
    made = tallies(ONE, TWO)
    made.merge(tallies(ONE, is_expired=True))
    assert Tallies.from_json(made.to_json()) == made
    assert Tally.from_json(made.lasting["Order"].to_json()) == made.lasting["Order"]


def test_equal_tallies_have_no_problems() -> None:
    [found] = compare(tallies(ONE, TWO), tallies(TWO, ONE), is_merged=False)
    assert (found.is_wrong, found.fact) == (False, "")


def test_a_missing_item_is_noticed() -> None:
    [found] = compare(tallies(ONE, TWO), tallies(ONE), is_merged=False)
    assert found.is_wrong
    assert found.fact.startswith("the target holds 1; items with the same key replace each other")


def test_a_changed_item_is_noticed() -> None:
    [found] = compare(tallies(ONE), tallies(TWO), is_merged=False)
    assert found.is_wrong
    assert found.fact.startswith("the target holds as many items, but different ones")


def test_an_entity_that_was_not_written_is_noticed() -> None:
    found = compare(tallies(ONE), tallies(TWO, entity="Product"), is_merged=False)
    assert [(each.entity, each.is_wrong) for each in found] == [("Order", True), ("Product", True)]


def test_expired_items_may_be_missing() -> None:
    written, held = tallies(ONE), tallies(ONE)
    written.merge(tallies(TWO, is_expired=True))
    [found] = compare(written, held, is_merged=False)
    assert not found.is_wrong
    assert found.fact.startswith("1 had expired at the start, of which 0 remain")


def test_after_a_merge_the_result_says_what_cannot_be_verified() -> None:
    [found] = compare(tallies(ONE), tallies(ONE, TWO), is_merged=True)
    assert not found.is_wrong
    assert "so the checksums cannot be compared" in found.fact
    [found] = compare(tallies(ONE, TWO), tallies(ONE), is_merged=True)
    assert found.is_wrong
