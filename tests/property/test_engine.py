"""The engine against a plain-Python table."""

from __future__ import annotations

from tests.examples import examples, is_long_run
from tests.property.machine import EngineMachine

SETTINGS = examples(20, 300, stateful_step_count=80 if is_long_run() else 40)


class _InMemory(EngineMachine):
    engines_on_file = 0


class TestInMemory(_InMemory.TestCase):
    settings = SETTINGS


class TestTwoEnginesOnAFile(EngineMachine.TestCase):
    settings = SETTINGS
