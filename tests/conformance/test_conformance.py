"""Every conformance case, put to the engine by each of its entries, or to an endpoint.

    pytest tests/conformance
    pytest tests/conformance -k "put_item and replaces"
    pytest tests/conformance --endpoint http://127.0.0.1:8000 --implementation "DynamoDB Local 3.3.1"

An endpoint must have no tables that matter: what is in the way of a case is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from keyfold.api.wordings import Wording
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

# The ways to call an engine. `make test-endpoints` adds our client.
ENTRIES: dict[str, Callable[[Engine], Implementation]] = {
    "json": EngineByJson,
    "dict": EngineByDict,
    "wire": EngineByWire,
}

# A server that is not ours may have either.
WORDINGS: tuple[Wording, ...] = ("2026", "2025")

USE_BUCKETS = frozenset({"ExportTableToPointInTime", "ImportTable", "StartBulkPutItems"})

every_case = pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])


@dataclass(slots=True)
class Clock:
    """A clock that a case moves."""

    now: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@every_case
def test_case(case: Case, pytestconfig: pytest.Config) -> None:
    url = pytestconfig.getoption("--endpoint")
    if url:
        if any(step.advance_seconds for step in case.steps):
            pytest.skip("an endpoint's clock cannot be moved")
        endpoint = Endpoint(str(url))
        _delete_tables(endpoint)
        name = str(pytestconfig.getoption("--implementation"))
        _fail_with(_find_failures(case, endpoint, name, Clock(), WORDINGS))
        return
    # One test for all entries: pytest's own work for a test costs more than most cases do.
    _fail_with(
        [
            f"{name}: {failure}"
            for name, entry in ENTRIES.items()
            for failure in _find_failures_on_engine(case, entry, "2026")
        ]
    )


@every_case
def test_case_in_the_wording_of_2025(case: Case) -> None:
    if any(step.answer_2025 is not None for step in case.steps):
        _fail_with(_find_failures_on_engine(case, EngineByWire, "2025"))
    _fail_with(_find_failures_on_engine(case, EngineByJson, "2025"))


@pytest.mark.endpoints
@every_case
def test_case_by_our_client(case: Case) -> None:
    _fail_with(_find_failures_on_engine(case, EngineByClient, "2026"))


def test_a_case_that_contradicts_an_implementation_names_another_source() -> None:
    for case in CASES:
        for step in case.steps:
            assert case.source not in step.differences, case.id


def test_no_two_cases_of_a_file_have_one_name() -> None:
    ids = [case.id for case in CASES]
    assert len(set(ids)) == len(ids)


def _find_failures_on_engine(
    case: Case, entry: Callable[[Engine], Implementation], wording: Wording
) -> list[str]:
    """Put a case to a new engine; return what failed."""
    clock = Clock()
    with (
        _open_buckets(case) as buckets,
        Engine.open(
            ":memory:", clock=clock, upkeep_seconds=None, buckets=buckets, wording=wording
        ) as engine,
    ):
        with closing(entry(engine)) as implementation:
            failures = _find_failures(case, implementation, "keyfold", clock, (wording,))
        return failures + [f"verify: {problem}" for problem in engine.verify()]


@contextmanager
def _open_buckets(case: Case) -> Generator[Path | None]:
    """Make a folder with a bucket, for the cases that use one."""
    if all(step.operation not in USE_BUCKETS for step in (*case.setup, *case.steps)):
        yield None
        return
    with TemporaryDirectory() as folder:
        (Path(folder) / "bucket").mkdir()
        yield Path(folder)


def _find_failures(
    case: Case,
    target: Implementation,
    implementation: str,
    clock: Clock,
    wordings: Sequence[Wording],
) -> list[str]:
    """Put a case to `target`, which may have any of these wordings; return the first failure."""
    answers: list[dict[str, Any]] = []
    for step in case.setup:
        answer = _run(target, step, answers)
        if "error" in answer:
            return [f"setup failed: {step.operation}: {answer['error']}"]
    for step in case.steps:
        clock.now += step.advance_seconds
        if not step.operation:
            continue
        answer = _run(target, step, answers)
        differs = step.differences.get(implementation)
        expected = [step.answer_in(each) for each in wordings] if differs is None else [differs]
        if expected[0] is None:
            return ["the case has no answer: run tests/conformance/record.py"]
        found, *others = [mismatches(each, answer) for each in expected]
        if found and all(others):
            # The steps after it build on what this one should have done.
            return [_report(case, step, found)]
    return []


def _fail_with(failures: list[str]) -> None:
    if failures:
        pytest.fail("\n".join(failures), pytrace=False)


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
