"""Explanations of patterns: the calls that one would make, and their units, without making them."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from keyfold.analysis import PatternProfile
from keyfold.errors import KeyfoldError
from keyfold.model import Pattern
from keyfold.service.mcp._tool_calls import ToolArguments

EXPLAIN = "explain-pattern"


class ExplainArguments(ToolArguments):
    """Explain what a tool would do, without running it: its calls of DynamoDB's API and their units.

    With arguments, they are checked as in a call, and so is the right to make it.
    """

    pattern: str = Field(description="The name of a tool.")
    arguments: dict[str, Any] | None = Field(
        default=None,
        description="The arguments of that tool; without them, values are placeholders.",
    )


def explain_pattern(
    pattern: Pattern[..., Any], profile: PatternProfile | None, *, shows_keys: bool
) -> dict[str, Any]:
    """Return what a pattern does; end users do not see keys."""
    document: dict[str, Any] = {
        "pattern": pattern.name,
        "description": pattern.description,
        "units_of_a_call": _show_units(profile),
    }
    try:
        explained = pattern.explain()
    except KeyfoldError as error:
        return {**document, "calls": None, "note": error.public}
    calls = [
        {
            "operation": each.operation,
            "index": each.index,
            **({"key": each.key} if shows_keys else {}),
        }
        for each in explained.steps
    ]
    return {
        **document,
        "calls": calls,
        "scans": explained.scans,
        "filters": explained.filters,
        "atomic": explained.is_atomic,
        "lagging_indexes": list(explained.lagging_indexes),
    }


def _show_units(profile: PatternProfile | None) -> dict[str, float] | None:
    """Return the mean units of a call on the table's examples; None if they are not known."""
    if profile is None or profile.problem is not None:
        return None
    return {"read": round(profile.read_units, 3), "write": round(profile.write_units, 3)}
