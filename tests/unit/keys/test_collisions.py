"""Whether the keys of two entities can be the same."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Literal
from uuid import UUID

import pytest

from keyfold.keys import KeyTemplate, Ulid, find_collision


class OrderId(Ulid, prefix="O"): ...


class RewardId(Ulid, prefix="R"): ...


class Color(StrEnum):
    RED = "red"
    REDDISH = "reddish"


TYPES: dict[str, object] = {
    "a": str,
    "b": str,
    "color": Color,
    "day": date,
    "id": UUID,
    "n": int,
    "order": OrderId,
    "plain": Ulid,
    "price": Decimal,
    "reward": RewardId,
    "tp": Literal["USER", "GROUP"],
}


def template(text: str) -> KeyTemplate:
    return KeyTemplate.from_types(text, TYPES, owner="Thing")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("{order}", "{order}#{n:03}"),
        ("{order}", "{reward}"),
        ("{order}", "{plain}"),
        ("U#{a}", "U#{a}#O"),
        ("U#{a}#O", "U#{a}#R"),
        ("USER", "GROUP"),
        ("USER", "USER#{a}"),
        ("RATE#{a}#{b}", "RATE#{a}"),
        ("{day}", "{id}"),
        ("{day}", "{n:04}-{a}"),
        ("{n:03}", "{n:04}"),
        ("{n:07}", "{price:4.2}"),
        ("{color}", "{tp}"),
        ("{color}", "blue"),
        ("{color}", "reddis"),
        ("{color}#{a}", "{color}"),
        ("{a}#{b}", "{a:2}"),
        ("X#{order}", "X#{n:03}#{a}"),
    ],
)
def test_keys_that_cannot_be_the_same_do_not_collide(one: str, other: str) -> None:
    templates = template(one), template(other)
    assert find_collision(templates[:1], templates[1:]) is None
    assert find_collision(templates[1:], templates[:1]) is None


@pytest.mark.parametrize(
    ("one", "other", "example"),
    [
        ("USER#{a}", "USER#{b}", "USER#a"),
        ("{a}", "RATE#{a}#{b}", "RATE#a#a"),
        ("{a}", "USER", "USER"),
        ("{order}", "{order}", "O#1AAAAAAAAAAAAAAAAAAAAAAAAA"),
        ("{a}#{b}", "{order}", "O#1AAAAAAAAAAAAAAAAAAAAAAAAA"),
        ("{day}", "{a}-{b:2}-{n:02}", "1111-11-11"),
        ("{day}", "{a}", "1111-11-11"),
        ("{id}", "{a:36}", "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa"),
        ("{tp}", "USER", "USER"),
        ("{tp}#{a}", "GROUP#{n:03}", "GROUP#111"),
        ("{color}", "red{a:4}", "reddish"),
        ("{a}#{b}", "{a:3}", "a#a"),
        ("USER", "USER", "USER"),
    ],
)
def test_keys_that_can_be_the_same_collide_with_an_example(
    one: str, other: str, example: str
) -> None:
    templates = template(one), template(other)
    assert find_collision(templates[:1], templates[1:]) == (example,)
    assert all(each.parse(example) is not None for each in templates)


def test_keys_collide_only_where_all_their_templates_do() -> None:
    order = [template("U#{a}#O"), template("{order}")]
    line = [template("U#{a}#O"), template("{order}#{n:03}")]
    reward = [template("U#{a}#R"), template("{order}")]
    again = [template("U#{b}#O"), template("{a}")]
    assert find_collision(order, line) is None
    assert find_collision(order, reward) is None
    assert find_collision(order, again) == ("U#a#O", "O#1AAAAAAAAAAAAAAAAAAAAAAAAA")


def test_a_date_that_does_not_exist_is_treated_as_a_date() -> None:
    assert find_collision([template("{day}")], [template("2024-02-30")]) == ("2024-02-30",)


def test_an_example_avoids_what_is_excluded() -> None:
    found = find_collision([template("a-A_1.{a}")], [template("a-A_1.{b}")])
    assert found == ("a-A_1.a",)
