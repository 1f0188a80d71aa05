"""Calls and answers of tools, and Keyfold's own tools beside those of patterns.

Own tools have names with a hyphen, such as `explain-pattern`. The names of patterns are identifiers, so
no pattern can have the name of one, now or later.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from keyfold.service._arguments import ArgumentsInvalid, list_problems
from keyfold.service._running import Meter
from keyfold.service.mcp._lists import to_text
from keyfold.service.mcp._schemas import drop_titles
from keyfold.service.mcp._tools import AgentTool
from keyfold.store import AsyncStore, Handles

M = TypeVar("M", bound="ToolArguments")


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a call returns: a JSON object, which says what went wrong if `is_error`."""

    document: Mapping[str, Any]
    is_error: bool = False

    @property
    def text(self) -> str:
        """The answer as compact JSON."""
        return to_text(self.document)


@dataclass(slots=True)
class ToolCall:
    """A call that runs: what it may use, and what is known of it when it ends."""

    store: AsyncStore
    handles: Handles | None
    meter: Meter
    most_bytes: int
    most_units: float
    items: int = 0


class ToolArguments(BaseModel):
    """The arguments of one of Keyfold's own tools."""

    model_config = ConfigDict(extra="forbid", strict=True)


@dataclass(frozen=True, slots=True)
class OwnTool(Generic[M]):
    """One of Keyfold's own tools."""

    tool: AgentTool
    arguments: type[M]
    answer: Callable[[ToolCall, M], Awaitable[dict[str, Any]]]

    async def run(self, call: ToolCall, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a call; raises ArgumentsInvalid, and what the tool raises."""
        try:
            values = self.arguments.model_validate(given)
        except ValidationError as error:
            raise ArgumentsInvalid(list_problems(error, call.handles)) from error
        return await self.answer(call, values)


def make_own_tool(
    name: str,
    title: str,
    arguments: type[M],
    answer: Callable[[ToolCall, M], Awaitable[dict[str, Any]]],
    *,
    writes: bool = False,
) -> OwnTool[M]:
    """Return a tool, described by the docstring of its arguments; `writes` is about scratch data."""
    assert "-" in name  # else it could be the name of a pattern
    schema = drop_titles(arguments.model_json_schema())
    description = schema.pop("description")
    tool = AgentTool(
        name, title, description, schema, writes=writes, destroys=writes, is_idempotent=not writes
    )
    return OwnTool(tool, arguments, answer)
