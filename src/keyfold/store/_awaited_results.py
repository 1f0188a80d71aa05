"""Running a read until its result is as awaited: what was written shows up in an index later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from keyfold.api import find_operation
from keyfold.errors import OptionInvalid, ResultAwaited
from keyfold.model._calls import ApiCall
from keyfold.model._requests import Request
from keyfold.store._dispatch import plan_calls
from keyfold.store._plans import Steps
from keyfold.store._retries import BACKOFF
from keyfold.store._settings import StoreSettings

V = TypeVar("V")


def plan_until(
    settings: StoreSettings, request: Request[V], condition: Callable[[V], object], attempts: int
) -> Steps[V]:
    """Return the plan that runs a request up to `attempts` times, with pauses as between retries.

    Its calls have to be checked with `check_reads`. Raises OptionInvalid.
    """
    if not isinstance(attempts, int) or isinstance(attempts, bool) or attempts < 1:  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not check types
        raise OptionInvalid("attempts", attempts, "Give a whole number, 1 or more.")
    return _run_until(settings, request, condition, attempts)


def _run_until(
    settings: StoreSettings, request: Request[V], condition: Callable[[V], object], attempts: int
) -> Steps[V]:
    attempt = 1
    while True:
        steps, _ = plan_calls(settings, request)
        result = yield from steps
        if condition(result):
            return result
        if attempt == attempts:
            raise ResultAwaited(f"{request!r:.200}", attempts, f"{result!r:.200}")
        yield BACKOFF.pause(attempt, settings.jitter())
        attempt += 1


def check_reads(
    check: Callable[[ApiCall], None] | None, request: Request[Any]
) -> Callable[[ApiCall], None]:
    """Return a check of calls that also refuses writes, which must not be repeated."""

    def check_call(call: ApiCall) -> None:
        if not find_operation(call.operation).is_read:
            advice = "Give a request that only reads: it may run several times."
            raise OptionInvalid("request", f"{request!r:.200}", advice)
        if check is not None:
            check(call)

    return check_call
