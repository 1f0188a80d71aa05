"""Every conformance case, put to the engine by its entries and by the server, or to an endpoint.

    pytest tests/conformance
    pytest tests/conformance --endpoint http://127.0.0.1:8000 --implementation "DynamoDB Local 3.3.1"

An endpoint must have no tables that matter: what is in the way of a case is deleted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from keyfold.engine import Engine
from tests.conformance.cases import Case, Step, fill_in, load_cases, with_said
from tests.conformance.implementations import (
    Answer,
    Endpoint,
    EngineByClient,
    EngineByDict,
    EngineByJson,
    EngineByWire,
    Implementation,
)
from tests.conformance.matching import mismatches

CASES = load_cases()


@dataclass(slots=True)
class Clock:
    """A clock that a case moves."""

    now: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(
    params=["json", "dict", "wire", pytest.param("client", marks=pytest.mark.endpoints)]
)
def implementation(
    request: pytest.FixtureRequest, clock: Clock, tmp_path: Path
) -> Iterator[tuple[Implementation, str]]:
    """What answers, and the name under which cases list its differences."""
    url = request.config.getoption("--endpoint")
    if url:
        if request.param != "json":
            pytest.skip("an endpoint has one entry")
        endpoint = Endpoint(str(url))
        _delete_tables(endpoint)
        yield endpoint, str(request.config.getoption("--implementation"))
        return
    (tmp_path / "bucket").mkdir()
    with Engine.open(":memory:", clock=clock, upkeep_seconds=None, buckets=tmp_path) as engine:
        if request.param in ("wire", "client"):
            server = (EngineByWire if request.param == "wire" else EngineByClient)(engine)
            yield server, "keyfold"
            server.close()
        else:
            yield (EngineByJson if request.param == "json" else EngineByDict)(engine), "keyfold"
        assert engine.verify() == []


@pytest.fixture
def clock() -> Clock:
    """The time that the engine of this case sees."""
    return Clock()


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_case(case: Case, implementation: tuple[Implementation, str], clock: Clock) -> None:
    target, name = implementation
    if isinstance(target, Endpoint) and any(step.advance_seconds for step in case.steps):
        pytest.skip("an endpoint's clock cannot be moved")
    answers: list[dict[str, Any]] = []
    for step in case.setup:
        answer = _run(target, step, answers)
        assert "error" not in answer, f"setup failed: {step.operation}: {answer['error']}"
    for step in case.steps:
        clock.now += step.advance_seconds
        if not step.operation:
            continue
        answer = _run(target, step, answers)
        expected = step.differences.get(name, step.answer)
        assert expected is not None, "the case has no answer: run tests/conformance/record.py"
        found = mismatches(expected, answer)
        if found:
            pytest.fail(_report(case, step, found), pytrace=False)


def test_a_case_that_contradicts_an_implementation_names_another_source() -> None:
    for case in CASES:
        for step in case.steps:
            assert case.source not in step.differences, case.id


def test_no_two_cases_of_a_file_have_one_name() -> None:
    ids = [case.id for case in CASES]
    assert len(set(ids)) == len(ids)


def _run(target: Implementation, step: Step, answers: list[dict[str, Any]]) -> Answer:
    """Put a step to whatever answers; `answers` are those that came before, and get this one."""

    def look_up(operation: str, request: dict[str, Any]) -> dict[str, Any]:
        return target.ask(operation, request)["response"]

    request = with_said(fill_in(step.request, look_up), answers)
    answer = target.ask(step.operation, request)
    answers.append(answer.get("response", {}))
    if step.operation == "UpdateTable":
        target.settle()
    return answer


def _delete_tables(endpoint: Endpoint) -> None:
    for name in endpoint.ask("ListTables", {})["response"]["TableNames"]:
        endpoint.ask("DeleteTable", {"TableName": name})


def _report(case: Case, step: Step, found: list[str]) -> str:
    request = repr(step.request)
    shown = request if len(request) < 2_000 else f"{request[:2_000]}… ({len(request)} characters)"
    lines = [f"{case.id}", f"source: {case.source}", f"{step.operation} {shown}", *found]
    return "\n  ".join(lines)
