"""Tools for designers: review, price and try a declaration, on scratch data in memory.

The declaration is loaded again for each call, so an agent that edits it sees the effect at once. Nothing here
knows the database of the server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import Field

from keyfold.analysis import ScratchTable, find_sample, profile_table, read_workload
from keyfold.analysis.cost import read_prices, report_cost
from keyfold.analysis.lint import review_table
from keyfold.analysis.samples import fill
from keyfold.errors import KeyfoldError
from keyfold.model import Table
from keyfold.model._expected_use import Volume
from keyfold.service._arguments import ArgumentsInvalid, read_arguments
from keyfold.service._endpoints import PatternEndpoint, make_endpoints
from keyfold.service._problems import ServiceProblem, refuse
from keyfold.service._results import to_json
from keyfold.service._running import Outcome, PageLimits, make_request
from keyfold.service.mcp._calls import find_profile
from keyfold.service.mcp._explaining import explain_pattern
from keyfold.service.mcp._tool_calls import OwnTool, ToolArguments, ToolCall, make_own_tool
from keyfold.service.mcp._tools import measure_patterns
from keyfold.values import Item

T = TypeVar("T")
# Raises errors that name what is wrong with the declaration.
LoadTable = Callable[[], Table]

_MOST_SNAPSHOTS = 20


class LintArguments(ToolArguments):
    """Review the declaration of the table, as `keyfold lint` does; return what it finds.

    The declaration is read from its file as it is now.
    """


class PriceArguments(ToolArguments):
    """Forecast what the table costs in a month, by access pattern, as `keyfold cost` does.

    The declaration is read from its file as it is now.
    """


class DesignArguments(ToolArguments):
    """Explain a pattern of the declaration as it is now: its calls of DynamoDB's API and their units."""

    pattern: str = Field(description="The name of the pattern's function.")


class TryArguments(ToolArguments):
    """Run a pattern of the declaration as it is now, on scratch data in memory; writes are kept there.

    The scratch data begins as the examples of the declaration. It never is the server's database.
    """

    pattern: str = Field(description="The name of the pattern's function.")
    arguments: dict[str, Any] = Field(default_factory=dict, description="The pattern's arguments.")


class SnapshotArguments(ToolArguments):
    """Remember the scratch data as it is now; returns the number of the snapshot."""


class RollBackArguments(ToolArguments):
    """Return the scratch data to a snapshot, by default the last; snapshot 0 is the examples."""

    snapshot: int | None = Field(default=None, ge=0, description="The number of a snapshot.")


class DesignWorkbench:
    """Scratch data of one designer, and the tools that use it. One thread does its work, in order."""

    def __init__(self, load: LoadTable) -> None:
        self._load = load
        self._moment = 0.0
        self._worker = ThreadPoolExecutor(1, "keyfold-designing")
        self._items: tuple[Item, ...] | None = None
        self._snapshots: list[tuple[Item, ...]] = []

    def make_tools(self) -> list[OwnTool[Any]]:
        """Return the tools."""
        return [
            make_own_tool("lint-design", "Review the design", LintArguments, self._lint),
            make_own_tool("price-design", "Price the design", PriceArguments, self._price),
            make_own_tool("explain-design", "Explain a pattern", DesignArguments, self._explain),
            make_own_tool("try-pattern", "Try a pattern", TryArguments, self._try, writes=True),
            make_own_tool(
                "take-snapshot", "Take a snapshot", SnapshotArguments, self._snapshot, writes=True
            ),
            make_own_tool(
                "roll-back", "Roll back", RollBackArguments, self._roll_back, writes=True
            ),
        ]

    async def _work(self, do: Callable[[], T]) -> T:
        """Return the result of some work; errors say all, since all is the designer's own."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._worker, do)
        except (ArgumentsInvalid, ServiceProblem):
            raise
        except KeyfoldError as error:
            detail = str(error).removesuffix(f" [{error.code}]")
            raise refuse(422, error.code, detail) from error
        except Exception as error:
            detail = f"{type(error).__name__}: {error}"
            raise refuse(422, "declaration-failed", detail) from error

    async def _lint(self, _: ToolCall, __: LintArguments) -> dict[str, Any]:
        def work() -> dict[str, Any]:
            found = review_table(self._load())
            return {
                "findings": [each.to_json() for each in found.findings],
                "ignored": len(found.ignored),
                "skipped": found.skipped,
            }

        return await self._work(work)

    async def _price(self, _: ToolCall, __: PriceArguments) -> dict[str, Any]:
        def work() -> dict[str, Any]:
            table = self._load()
            profile = profile_table(table, find_sample(table), read_workload(table))
            forecast = report_cost(profile, read_prices()).forecast.to_json()
            return {name: each for name, each in forecast.items() if each not in ({}, [])}

        return await self._work(work)

    async def _explain(self, _: ToolCall, given: DesignArguments) -> dict[str, Any]:
        def work() -> dict[str, Any]:
            table = self._load()
            endpoint = _find(table, given.pattern)
            measured = find_profile(measure_patterns(table), endpoint)
            return explain_pattern(endpoint.pattern, measured, shows_keys=True)

        return await self._work(work)

    async def _try(self, call: ToolCall, given: TryArguments) -> dict[str, Any]:
        def work() -> dict[str, Any]:
            table = self._load()
            endpoint = _find(table, given.pattern)
            values = read_arguments(endpoint, given.arguments, None)
            request = make_request(endpoint, values, pages=PageLimits())
            stored = [*self._stored(table)]
            with self._open(table) as scratch:
                scratch.load(stored)
                value: Any = scratch.store.run(request)
                calls = scratch.take_calls()
                self._items = tuple(scratch.scan())
            shown = to_json(endpoint, Outcome(value, None, 0, 0.0, 0.0), None)
            return {
                "result": shown,
                "calls": [
                    {
                        "operation": each.operation,
                        "index": each.index,
                        "units": each.units,
                        "items_read": each.scanned if each.is_read else 0,
                        "items_changed": len(each.changes),
                    }
                    for each in calls
                ],
                "stored_items": len(self._items),
            }

        document = await self._work(work)
        call.items = document["stored_items"]
        return document

    async def _snapshot(self, _: ToolCall, __: SnapshotArguments) -> dict[str, Any]:
        def work() -> dict[str, Any]:
            if len(self._snapshots) == _MOST_SNAPSHOTS:
                detail = f"There are {_MOST_SNAPSHOTS} snapshots already. Roll back to one of them."
                raise refuse(409, "snapshots-full", detail)
            self._snapshots.append(self._stored(self._load()))
            return {"snapshot": len(self._snapshots), "stored_items": len(self._snapshots[-1])}

        return await self._work(work)

    async def _roll_back(self, _: ToolCall, given: RollBackArguments) -> dict[str, Any]:
        def work() -> dict[str, Any]:
            number = len(self._snapshots) if given.snapshot is None else given.snapshot
            if number > len(self._snapshots):
                detail = f"There is no snapshot {number}; there are {len(self._snapshots)}."
                raise refuse(404, "snapshot-unknown", detail)
            # Later snapshots are of a future that has not happened.
            del self._snapshots[number:]
            self._items = self._snapshots[-1] if number else None
            return {"snapshot": number, "stored_items": len(self._stored(self._load()))}

        return await self._work(work)

    def _open(self, table: Table) -> ScratchTable:
        """Return a scratch table, at a time at which none of the examples has expired."""
        return ScratchTable(table, clock=lambda: self._moment)

    def _stored(self, table: Table) -> tuple[Item, ...]:
        """Return the scratch data, which begins as the declaration's examples."""
        if self._items is None:
            sample = find_sample(table)
            self._moment = sample.live_at()
            plain = replace(
                read_workload(table), volumes={name: Volume() for name in table.entities}
            )
            with self._open(table) as scratch:
                fill(scratch, sample, plain)
                self._items = tuple(scratch.scan())
        return self._items


def _find(table: Table, name: str) -> PatternEndpoint:
    endpoints = make_endpoints(table)
    if name not in endpoints:
        detail = f"{table.name} has no pattern {name!r}; it has {', '.join(endpoints)}."
        raise refuse(404, "pattern-unknown", detail)
    return endpoints[name]
