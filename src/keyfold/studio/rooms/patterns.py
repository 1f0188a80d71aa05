"""The room of patterns: each as a form that runs, explains itself, has a price, and can be copied as code."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from keyfold.analysis import PatternProfile, TableProfile
from keyfold.api import find_operation
from keyfold.errors import KeyfoldError, PatternFailed, PatternUnexplained
from keyfold.model import Query, Scan
from keyfold.model._patterns import Explanation
from keyfold.store import Executor
from keyfold.studio._actions import Action, StudioCall
from keyfold.studio._problems import StudioProblem
from keyfold.studio._recording import CallRecorder
from keyfold.studio.rooms._findings import profile_once, review_once, show_review
from keyfold.studio.rooms._pattern_calls import CalledPattern, find_pattern
from keyfold.studio.rooms._pattern_code import write_code
from keyfold.studio.rooms._pattern_costs import show_cost
from keyfold.studio.rooms._pattern_forms import show_form, show_json
from keyfold.studio.rooms._pattern_results import show_result
from keyfold.studio.rooms._pattern_samples import find_declared_sample, find_stored_sample
from keyfold.studio.rooms._pattern_steps import (
    RequestStep,
    align_steps,
    show_steps,
    walk_request,
)
from keyfold.studio.rooms.overview import find_writing

# What a link may consume without being asked.
LINK_UNITS = 10.0
_MOST_UNITS = 1e9


@dataclass(frozen=True, slots=True)
class RunExecutor:
    """An executor of one run: it refuses writes in a run of a read, and stops a run that costs too much."""

    recorder: CallRecorder
    may_write: bool
    most_units: float

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out an operation; raises StudioProblem."""
        if not self.may_write and not find_operation(operation).is_read:
            raise refuse_hidden_write(operation)
        spent = sum(self.recorder.count_units())
        if spent >= self.most_units:
            message = (
                f"It was stopped after {spent:g} units: a link may use {self.most_units:g}. "
                "Press Run to run it whole."
            )
            raise StudioProblem(409, "studio-units-spent", message)
        return self.recorder.execute(operation, request)


def refuse_hidden_write(operation: str) -> StudioProblem:
    """Return the problem of a write in the run of a read."""
    message = f"The pattern calls {operation}, which writes. It was not run as a read."
    return StudioProblem(409, "pattern-writes", message)


def list_patterns(call: StudioCall) -> dict[str, Any]:
    """Return the patterns of the table; with `measured`, also their usual units, and lint's findings."""
    profile = _find_profile(call) if call.body.flag("measured") else None
    findings = _list_findings(call) if call.body.flag("measured") else {}
    shown: list[dict[str, Any]] = []
    for pattern in call.table.patterns.values():
        measured = None if profile is None else profile.patterns.get(pattern.name)
        shown.append(
            {
                "name": pattern.__name__,
                "title": pattern.name,
                "description": pattern.description,
                "writes": find_writing(pattern),
                "units": _show_units(measured),
                "problem": None if measured is None else measured.problem,
                "findings": findings.get(pattern.__name__, []),
            }
        )
    return {"patterns": shown, "measured": profile is not None}


def _find_profile(call: StudioCall) -> TableProfile | None:
    """Return the profile of the table on its examples; None if it cannot be made."""
    try:
        return profile_once(call.workspace, call.subject)
    except KeyfoldError:
        return None


def _find_pattern_profile(call: StudioCall, found: CalledPattern) -> PatternProfile | None:
    profile = _find_profile(call)
    return None if profile is None else profile.patterns.get(found.pattern.name)


def _list_findings(call: StudioCall) -> dict[str, list[dict[str, Any]]]:
    try:
        review = show_review(call.table, review_once(call.workspace, call.subject))
    except KeyfoldError:
        return {}
    found: dict[str, list[dict[str, Any]]] = {}
    for each in review["findings"]:
        if each["subject"]["kind"] == "pattern" and each["accepted"] is None:
            kept = {name: each[name] for name in ("code", "severity", "message", "fix")}
            found.setdefault(each["subject"]["name"], []).append(kept)
    return found


def _show_units(profile: PatternProfile | None) -> dict[str, float] | None:
    if profile is None or profile.problem is not None:
        return None
    return {"read": round(profile.read_units, 3), "write": round(profile.write_units, 3)}


def show_pattern(call: StudioCall) -> dict[str, Any]:
    """Return the form of a pattern; with `measured`, also its usual units, and whether a link may run it."""
    found = find_pattern(call)
    pattern = found.pattern
    is_measured = call.body.flag("measured")
    profile = _find_pattern_profile(call, found) if is_measured else None
    units = _show_units(profile)
    steps, problem = _explain_plainly(found)
    writes = find_writing(pattern)
    sample = find_declared_sample(found, profile, call.principal)
    return {
        "name": pattern.__name__,
        "title": pattern.name,
        "description": pattern.description,
        "writes": writes,
        "inputs": None if found.endpoint is None else show_form(pattern, sample),
        "problem": found.problem,
        "sample": sample,
        "units": units,
        "path": None if found.endpoint is None else found.endpoint.path,
        "method": None if found.endpoint is None else found.endpoint.method,
        "explainable": problem is None,
        "measured": is_measured,
        # Whether a link to it may run it.
        "linkable": not writes
        and units is not None
        and units["read"] < LINK_UNITS
        and not any(each.step.scans for each in steps),
    }


def _explain_plainly(found: CalledPattern) -> tuple[tuple[RequestStep, ...], str | None]:
    """Return the calls of a pattern with placeholders for its arguments, or why these are not known."""
    try:
        return walk_request(found.pattern.placeholder_request()), None
    except KeyfoldError as error:
        return (), str(error)


def sample_pattern(call: StudioCall) -> dict[str, Any]:
    """Return arguments to try: by stored items if `stored`, otherwise by the declaration."""
    found = find_pattern(call)
    if call.body.flag("stored"):
        stored = find_stored_sample(call, found)
        if stored is not None:
            example = {name: show_json(value) for name, value in found.pattern.example.items()}
            is_mixed = any(stored.get(name) == value for name, value in example.items())
            source = "stored items and its example" if is_mixed else "stored items"
            return {"arguments": stored, "source": source}
    profile = _find_pattern_profile(call, found)
    declared = find_declared_sample(found, profile, call.principal)
    return {"arguments": declared, "source": "the table's examples"}


def explain_pattern(call: StudioCall) -> dict[str, Any]:
    """Return the calls that a pattern makes, without making them; with arguments, the requests themselves."""
    found = find_pattern(call)
    given = call.body.optional_text("arguments")
    if given is None:
        steps, problem = _explain_plainly(found)
        if problem is not None:
            raise _unexplained(problem)
    else:
        steps = walk_request(found.make(found.read(given)))
    explained = Explanation(found.name, tuple(each.step for each in steps))
    return {
        "steps": show_steps(call.table, steps, call.now),
        "concrete": given is not None,
        "writes": any(each.writes for each in steps),
        "atomic": explained.is_atomic,
        "scans": explained.scans,
        "filters": explained.filters,
        "lagging": list(explained.lagging_indexes),
    }


def _unexplained(problem: str) -> StudioProblem:
    for code in (PatternUnexplained.code, PatternFailed.code):
        if problem.endswith(f"[{code}]"):
            return StudioProblem(422, code, problem.removesuffix(f"[{code}]").rstrip())
    return StudioProblem(422, PatternUnexplained.code, problem)


def run_pattern(call: StudioCall) -> dict[str, Any]:
    """Run a pattern that reads, and return its result; with `link`, only up to a few units."""
    found = find_pattern(call)
    if find_writing(found.pattern):
        message = f"{found.name} writes, so it is not run as a read. Press Write to run it."
        raise StudioProblem(409, "pattern-writes", message)
    return _run(call, found, may_write=False)


def write_pattern(call: StudioCall) -> dict[str, Any]:
    """Run a pattern that writes, and return its result."""
    return _run(call, find_pattern(call), may_write=True)


def _run(call: StudioCall, found: CalledPattern, *, may_write: bool) -> dict[str, Any]:
    arguments = found.read(call.body.optional_text("arguments") or "{}")
    limit = call.body.integer("limit", least=1, most=1_000, default=0) or None
    request = found.make(arguments, cursor=call.body.optional_text("cursor"), limit=limit)
    most = LINK_UNITS if call.body.flag("link") else _MOST_UNITS
    executor: Executor = RunExecutor(call.recorder, may_write, most)
    store = call.workspace.open_store(call.subject, call.principal, executor)
    value: Any = store.run(request)
    steps = walk_request(request)
    continues = found.endpoint is not None and found.endpoint.cursor is not None
    shown = show_result(call.table, value, call.now, writes=may_write)
    return {
        **shown,
        "handed": align_steps(steps, call.recorder.calls),
        "continues": continues and shown["cursor"] is not None,
        "limit": request.page_limit if isinstance(request, Query | Scan) else None,
        "at": datetime.fromtimestamp(call.now, UTC).isoformat(),
    }


def cost_pattern(call: StudioCall) -> dict[str, Any]:
    """Return what a number of calls a month costs."""
    found = find_pattern(call)
    steps, _ = _explain_plainly(found)
    return show_cost(call.body, _find_pattern_profile(call, found), steps)


def code_pattern(call: StudioCall) -> dict[str, Any]:
    """Return the call of a pattern as code, in several languages."""
    found = find_pattern(call)
    arguments = found.read(call.body.optional_text("arguments") or "{}")
    return write_code(call, found, arguments)


ACTIONS: tuple[Action, ...] = (
    Action("patterns/list", list_patterns),
    Action("patterns/form", show_pattern),
    Action("patterns/sample", sample_pattern),
    Action("patterns/explain", explain_pattern),
    Action("patterns/run", run_pattern),
    Action("patterns/write", write_pattern, writes=True),
    Action("patterns/cost", cost_pattern),
    Action("patterns/code", code_pattern),
)
