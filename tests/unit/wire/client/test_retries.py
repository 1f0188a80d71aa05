"""Pauses, budgets and timeouts."""

from __future__ import annotations

from typing import Any

import pytest

from keyfold.errors import OptionInvalid
from keyfold.wire.client import Retries, Timeouts
from keyfold.wire.client._retries import RetryBudget


def test_pauses_double_up_to_the_longest() -> None:
    retries = Retries(first_pause_seconds=0.1, longest_pause_seconds=1.0)
    assert [retries.pause_seconds(tries, 1.0) for tries in (1, 2, 3, 4, 5, 5_000)] == [
        0.1,
        0.2,
        0.4,
        0.8,
        1.0,
        1.0,
    ]
    assert retries.pause_seconds(3, 0.25) == 0.1
    assert retries.pause_seconds(3, 0.0) == 0.0


def test_a_budget_limits_retries_until_calls_succeed() -> None:
    budget = RetryBudget(12)
    assert budget.is_full
    assert budget.take(after_timeout=True) == 10
    assert budget.take(after_timeout=False) == 0
    budget.refund(0)
    budget.refund(0)
    budget.refund(0)
    assert budget.take(after_timeout=False) == 5
    budget.refund(5)
    assert not budget.is_full
    for _ in range(20):
        budget.refund(0)
    assert budget.is_full
    assert budget.take(after_timeout=True) == 10


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (Timeouts, {"read_seconds": 0}),
        (Timeouts, {"connect_seconds": "soon"}),
        (Timeouts, {"total_seconds": 601}),  # the service forgets a transaction's token by then
        (Timeouts, {"total_seconds": float("nan")}),
        (Retries, {"attempts": 0}),
        (Retries, {"attempts": 1.5}),
        (Retries, {"budget": -1}),
        (Retries, {"first_pause_seconds": None}),
    ],
)
def test_invalid_options_are_refused(kind: Any, options: dict[str, Any]) -> None:
    with pytest.raises(OptionInvalid):
        kind(**options)
