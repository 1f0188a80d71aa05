"""Drivers of plans: one blocks on each call, pause and handler, the other awaits them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar, cast

from keyfold.errors import KeyfoldError
from keyfold.model._calls import ApiCall, Calls
from keyfold.model._changes import Reaction
from keyfold.store._parallel import run_in_tasks, run_in_threads
from keyfold.store._plans import HandlerCall, ParallelPlans, Plan, Response, Steps, requests_of
from keyfold.store._retries import Pause

V = TypeVar("V")
CleanUp = Callable[[], Plan[None]]


def drive(
    steps: Steps[V],
    execute: Callable[[str, dict[str, Any]], Response],
    sleep: Callable[[float], object],
    observe: Callable[[ApiCall], Response] | None = None,
    check: Callable[[ApiCall], None] | None = None,
    admitted: Calls = (),
    clean_up: CleanUp | None = None,
) -> V:
    """Run a plan and return its result.

    `check` raises an error for a call that must not be made. It is not asked about the first of the
    `admitted` calls, which has passed it already; if there are several, they are the store's own.
    `observe` makes the calls instead of `execute`. `clean_up` returns a plan to run after any error,
    Ctrl-C included; the error is raised even if that plan fails.
    """
    try:
        step = next(steps)
        while True:
            if not isinstance(step, ApiCall):
                if isinstance(step, Pause):
                    sleep(step.seconds)
                    step = next(steps)
                    continue
                try:
                    result = _handle_step(
                        step, lambda plan: drive(plan, execute, sleep, observe, check)
                    )
                except Exception as error:  # noqa: BLE001 - the plan decides whether to retry
                    step = steps.throw(error)
                else:
                    step = steps.send(result)
                continue
            try:
                if check is not None and not (admitted and step is admitted[0]):
                    check(step)
                if observe is None:
                    response = execute(step.operation, step.request)
                else:
                    response = observe(step)
            except KeyfoldError as error:
                step = steps.throw(error)
            else:
                step = steps.send(response)
    except StopIteration as stop:
        return stop.value
    except BaseException:
        if clean_up is not None:
            with suppress(KeyfoldError):
                drive(clean_up(), execute, sleep, observe=observe)
        raise


def _handle_step(step: ParallelPlans | HandlerCall, run: Callable[[Steps[Any]], Any]) -> Any:
    """Handle a step that is not an API call or a pause; return its result."""
    if isinstance(step, ParallelPlans):
        return run_in_threads(step.plans, run)
    return requests_of(cast(Reaction, step.handler(step.change)))


async def drive_async(
    steps: Steps[V],
    execute: Callable[[str, dict[str, Any]], Awaitable[Response]],
    sleep: Callable[[float], Awaitable[object]],
    *,
    observe: Callable[[ApiCall], Awaitable[Response]] | None = None,
    check: Callable[[ApiCall], None] | None = None,
    admitted: Calls = (),
    clean_up: CleanUp | None = None,
) -> V:
    """Async version of `drive`; handlers may be coroutine functions."""
    try:
        step = next(steps)
        while True:
            if not isinstance(step, ApiCall):
                if isinstance(step, Pause):
                    await sleep(step.seconds)
                    step = next(steps)
                    continue
                try:
                    result = await _handle_step_async(
                        step,
                        lambda plan: drive_async(
                            plan, execute, sleep, observe=observe, check=check
                        ),
                    )
                except Exception as error:  # noqa: BLE001 - the plan decides whether to retry
                    step = steps.throw(error)
                else:
                    step = steps.send(result)
                continue
            try:
                if check is not None and not (admitted and step is admitted[0]):
                    check(step)
                if observe is None:
                    response = await execute(step.operation, step.request)
                else:
                    response = await observe(step)
            except KeyfoldError as error:
                step = steps.throw(error)
            else:
                step = steps.send(response)
    except StopIteration as stop:
        return stop.value
    except GeneratorExit:
        # A closed coroutine cannot await anything more.
        raise
    except BaseException:
        if clean_up is not None:
            with suppress(KeyfoldError):
                await drive_async(clean_up(), execute, sleep, observe=observe)
        raise


async def _handle_step_async(
    step: ParallelPlans | HandlerCall, run: Callable[[Steps[Any]], Coroutine[Any, Any, Any]]
) -> Any:
    if isinstance(step, ParallelPlans):
        return await run_in_tasks(step.plans, run)
    reaction = step.handler(step.change)
    if isinstance(reaction, Awaitable):
        reaction = await reaction
    return requests_of(reaction)
