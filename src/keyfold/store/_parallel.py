"""Runs plans at the same time: in threads for the sync store, in tasks for the async one."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

P = TypeVar("P")

# How many plans run at the same time. Boto3 and Keyfold's client have connections for about as many.
MAX_PARALLEL = 10


def run_in_threads(plans: Sequence[P], run: Callable[[P], Any]) -> list[Any]:
    """Run plans in threads, and return their results in order.

    Raises the error of the first that fails. Plans that have not begun are then left out; those in
    other threads end first.
    """
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - few programs need it

    with ThreadPoolExecutor(min(MAX_PARALLEL, len(plans)), "keyfold-segment") as pool:
        running = [pool.submit(run, plan) for plan in plans]
        try:
            return [each.result() for each in running]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


async def run_in_tasks(
    plans: Sequence[P], run: Callable[[P], Coroutine[Any, Any, Any]]
) -> list[Any]:
    """Async version of `run_in_threads`; after an error, the other tasks are cancelled."""
    import asyncio  # noqa: PLC0415 - sync stores do not need it

    places = asyncio.Semaphore(MAX_PARALLEL)

    async def run_one(plan: P) -> Any:
        async with places:
            return await run(plan)

    tasks = [asyncio.create_task(run_one(plan)) for plan in plans]
    try:
        return [await each for each in tasks]
    finally:
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
