"""What mutations start from: the requests of the conformance cases, with what comes before them.

The minimal requests of tests/operations are among them, so that every operation has some.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from keyfold.engine import Engine
from keyfold.errors import ServiceError
from tests.conformance.cases import Step, fill_in, load_cases, with_said

_MOST_CHARACTERS = 10_000
_SCENARIOS = Path(__file__).parents[1] / "operations" / "scenarios.json"


@dataclass(frozen=True, slots=True)
class Seed:
    """A request, and the requests before it that it is about."""

    case: str
    operation: str
    request: dict[str, Any]
    before: tuple[Step, ...]

    def _repr_pretty_(self, printer: Any, _: bool) -> None:
        printer.text(f"a request of the case {self.case!r}")


@cache
def seeds_of(operation: str) -> list[Seed]:
    """The seeds of an operation; whoever is large is left out."""
    return [seed for seed in _all_seeds() if seed.operation == operation]


@cache
def _all_seeds() -> list[Seed]:
    seeds: list[Seed] = []
    for case in load_cases():
        steps = [step for step in (*case.setup, *case.steps) if step.operation]
        if sum(len(json.dumps(step.request)) for step in steps) > _MOST_CHARACTERS:
            continue
        for i in range(len(case.setup), len(steps)):
            step = steps[i]
            seeds.append(Seed(case.id, step.operation, step.request, tuple(steps[:i])))
    return seeds + _minimal_seeds()


def _minimal_seeds() -> list[Seed]:
    """The minimal requests that need nothing of what was answered before."""
    known: dict[str, Any] = json.loads(_SCENARIOS.read_text())
    seeds: list[Seed] = []
    for group in known["groups"].values():
        for operation, scenario in group.items():
            before = [known["fixtures"][name] for name in scenario.get("setup", ())]
            if "$take" not in json.dumps([before, scenario["valid"]]):
                steps = tuple(Step(name, request, None) for name, request in before)
                seeds.append(Seed(f"minimal {operation}", operation, scenario["valid"], steps))
    return seeds


def prepare(engine: Engine, seed: Seed) -> dict[str, Any]:
    """Do what comes before a seed; its request, with the names of what is there now."""
    answers: list[dict[str, Any]] = []
    for step in seed.before:
        try:
            answers.append(engine.execute(step.operation, _resolve(engine, step.request, answers)))
        except (LookupError, ServiceError):
            continue  # the case is about that
    try:
        return _resolve(engine, seed.request, answers)
    except (LookupError, ServiceError):
        # What it is about is not there after all.
        return seed.request


def _resolve(
    engine: Engine, request: dict[str, Any], answers: list[dict[str, Any]]
) -> dict[str, Any]:
    return with_said(fill_in(request, engine.execute), answers)
