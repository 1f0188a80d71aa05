"""Batch reads: several patterns in one request, each with a result or a problem of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from keyfold.service._arguments import ArgumentsInvalid, list_problems, read_arguments
from keyfold.service._endpoints import PatternEndpoint
from keyfold.service._problems import describe_error, refuse
from keyfold.service._results import is_nothing, to_json
from keyfold.service._running import Outcome, PageLimits, make_request, run_request
from keyfold.store import AsyncStore, Handles

MAX_READS = 25


class BatchRead(BaseModel):
    """One read of a batch: the name of a pattern's endpoint, and its arguments."""

    model_config = ConfigDict(extra="forbid")

    pattern: str
    arguments: dict[str, Any] = Field(default_factory=dict[str, Any])
    cursor: str | None = None
    limit: Annotated[int, Field(ge=1)] | None = None


class BatchReads(BaseModel):
    """The body of a batch."""

    model_config = ConfigDict(extra="forbid")

    requests: Annotated[list[BatchRead], Field(min_length=1, max_length=MAX_READS)]


BATCH: TypeAdapter[BatchReads] = TypeAdapter(BatchReads)


class BatchReader:
    """Runs the reads of a batch as one caller."""

    def __init__(self, endpoints: dict[str, PatternEndpoint], pages: PageLimits) -> None:
        self._endpoints = endpoints
        self._pages = pages

    async def read(
        self,
        given: Any,
        store: AsyncStore,
        handles: Handles | None,
        charge: Callable[[float], None],
    ) -> list[dict[str, Any]]:
        """Return the result or problem of each read.

        `charge` is called with the units of each read that was run, even if it failed.
        """
        try:
            batch = BATCH.validate_python(given)
        except ValidationError as error:
            raise ArgumentsInvalid(list_problems(error, handles)) from error
        reads = (self._read(each, store, handles, charge) for each in batch.requests)
        return await asyncio.gather(*reads)

    async def _read(
        self,
        read: BatchRead,
        store: AsyncStore,
        handles: Handles | None,
        charge: Callable[[float], None],
    ) -> dict[str, Any]:
        try:
            outcome = await self._run(read, store, handles, charge)
        except Exception as error:  # noqa: BLE001 - every error is a problem
            problem = describe_error(error, handles)
            return {"status": problem.status, "problem": problem.to_json()}
        endpoint = self._endpoints[read.pattern]
        result: dict[str, Any] = {"status": 200, "result": to_json(endpoint, outcome, handles)}
        if endpoint.is_page:
            result["cursor"] = outcome.cursor
        return result

    async def _run(
        self,
        read: BatchRead,
        store: AsyncStore,
        handles: Handles | None,
        charge: Callable[[float], None],
    ) -> Outcome:
        endpoint = self._endpoints.get(read.pattern)
        if endpoint is None:
            raise refuse(404, "pattern-unknown", f"There is no pattern {read.pattern[:80]!r}.")
        if endpoint.writes:
            raise refuse(422, "batch-invalid", f"{endpoint.name} writes. A batch only reads.")
        arguments = read_arguments(endpoint, read.arguments, handles)
        made = make_request(
            endpoint, arguments, limit=read.limit, cursor=read.cursor, pages=self._pages
        )
        outcome = await run_request(store, made, charge)
        if is_nothing(outcome.value) and not endpoint.is_page:
            raise refuse(404, "not-found", "There is no such item.")
        return outcome
