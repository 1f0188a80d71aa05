"""The engine against a plain-Python table."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from tests.property.machine import EngineMachine

QUICK = settings(
    derandomize=True,
    max_examples=40,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
LONG = settings(QUICK, derandomize=False, max_examples=300, stateful_step_count=80)


class _InMemory(EngineMachine):
    engines_on_file = 0


class TestInMemory(_InMemory.TestCase):
    settings = QUICK


class TestTwoEnginesOnAFile(EngineMachine.TestCase):
    settings = QUICK


@pytest.mark.long
class TestInMemoryForLong(_InMemory.TestCase):
    settings = LONG


@pytest.mark.long
class TestTwoEnginesOnAFileForLong(EngineMachine.TestCase):
    settings = LONG
