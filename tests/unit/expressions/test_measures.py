"""Measured values have the sizes and depths that they would have one by one."""

from __future__ import annotations

from typing import Any

import pytest

from keyfold.errors import ValidationException
from keyfold.expressions.measures import ValueMeasures
from keyfold.expressions.placeholders import Placeholders
from keyfold.expressions.updates import bind_update
from keyfold.values import MAX_NESTING, value_size_bytes

SHARED: dict[str, Any] = {
    "M": {"name": {"S": "é"}, "parts": {"L": [{"N": "1.50"}, {"NULL": True}]}}
}
VALUES: list[tuple[dict[str, Any], int]] = [
    ({"S": "a"}, 0),
    ({"SS": ["a", "bc"]}, 0),
    ({"L": []}, 1),
    ({"M": {}}, 1),
    (SHARED, 2),
    ({"L": [SHARED, SHARED, {"B": "AAEC"}]}, 3),
]


@pytest.mark.parametrize(("value", "levels"), VALUES)
def test_sizes_and_levels(value: dict[str, Any], levels: int) -> None:
    measures = ValueMeasures()
    for _ in range(2):
        assert measures.size_bytes(value) == value_size_bytes(value)
        assert measures.levels(value) == levels


@pytest.mark.parametrize("changes", [1, 20])
def test_an_update_may_nest_as_deep_as_an_item(changes: int) -> None:
    def nested(levels: int) -> dict[str, Any]:
        value: dict[str, Any] = {"S": "a"}
        for _ in range(levels):
            value = {"L": [value]}
        return value

    def apply(levels: int) -> None:
        names = ", ".join(f"a{number} = :v" for number in range(changes))
        plan = bind_update(f"SET {names}", Placeholders(None, {":v": nested(levels)}))
        plan.apply({})

    apply(MAX_NESTING - 1)
    with pytest.raises(ValidationException, match="Nesting Levels"):
        apply(MAX_NESTING)
