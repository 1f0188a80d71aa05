"""The call of a pattern as code: Keyfold, boto3, the AWS CLI, PartiQL, and curl of its service."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from keyfold.errors import KeyfoldError
from keyfold.studio._actions import StudioCall
from keyfold.studio.rooms._code_boto3 import write_boto3
from keyfold.studio.rooms._code_filters import FOUND
from keyfold.studio.rooms._code_partiql import write_partiql
from keyfold.studio.rooms._code_plans import CodePlan, plan_code
from keyfold.studio.rooms._code_python import write_keyfold
from keyfold.studio.rooms._code_shell import write_cli, write_curl
from keyfold.studio.rooms._code_targets import find_target
from keyfold.studio.rooms._pattern_calls import CalledPattern


def write_code(
    call: StudioCall, found: CalledPattern, arguments: Mapping[str, Any]
) -> dict[str, dict[str, str | None]]:
    """Return the code of a call in each language, or the reason why there is none."""
    target = find_target(call)
    now = datetime.fromtimestamp(call.now, UTC)
    plan = make_plan(found, arguments, now)
    endpoint = found.endpoint

    def write_request() -> str:
        assert endpoint is not None  # checked below
        return write_curl(target, endpoint, arguments, call.store.handles)

    written = {
        "python": _try(lambda: write_keyfold(target, found.pattern, arguments)),
        "boto3": _try(lambda: write_boto3(target, plan)),
        "cli": _try(lambda: write_cli(target, plan)),
        "partiql": _try(lambda: write_partiql(target, plan, int(call.now))),
        "curl": _without(found.problem) if endpoint is None else _try(write_request),
    }
    if not plan.steps:
        reason = plan.problem or "It makes no call."
        written |= {name: _without(reason) for name in ("boto3", "cli", "partiql")}
    return written


def make_plan(found: CalledPattern, arguments: Mapping[str, Any], now: datetime) -> CodePlan:
    """Return the calls that a pattern makes for some arguments, as code can make them."""
    if FOUND in repr(arguments):
        # It could not be told from a value that a call finds.
        return CodePlan(found.table, problem=f"An argument contains {FOUND}.")
    return plan_code(found.table, found.make_whole(arguments), now)


def _try(write: Callable[[], str]) -> dict[str, str | None]:
    try:
        return {"text": write(), "reason": None}
    except KeyfoldError as error:
        return _without(str(error))


def _without(reason: str | None) -> dict[str, str | None]:
    return {"text": None, "reason": reason}
