"""Tools as agents see them: names, schemas, descriptions, and hints about what they change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from keyfold.analysis import (
    PatternProfile,
    TableProfile,
    find_sample,
    profile_table,
    read_workload,
)
from keyfold.errors import KeyfoldError
from keyfold.model import Table
from keyfold.model._writes import Check, Delete, Presence, Put, Write
from keyfold.service._endpoints import PatternEndpoint
from keyfold.service._openapi import find_example
from keyfold.service.mcp._schemas import ToolSchemas


@dataclass(frozen=True, slots=True)
class AgentTool:
    """A tool: what an agent can call.

    `destroys` says that it may change or delete what is stored; `is_idempotent`, that calling it again
    with the same arguments changes nothing more.
    """

    name: str
    title: str
    description: str
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None = None
    writes: bool = False
    destroys: bool = False
    is_idempotent: bool = True


def measure_patterns(table: Table) -> TableProfile | None:
    """Return what each pattern consumes on the table's examples; None if that cannot be measured."""
    try:
        return profile_table(table, find_sample(table), read_workload(table))
    except KeyfoldError:
        return None


def make_tool(
    endpoint: PatternEndpoint,
    schemas: ToolSchemas,
    profile: PatternProfile | None,
    *,
    has_examples: bool,
) -> AgentTool:
    """Return the tool of an access pattern; examples have ids, which end users do not see."""
    given = dict(schemas.of_input(endpoint))
    example = find_example(endpoint) if has_examples else {}
    if example:
        given["examples"] = [example]
    writes = [*find_writes(endpoint)]
    return AgentTool(
        name=endpoint.name,
        title=endpoint.pattern.name,
        description=_describe(endpoint, profile),
        input_schema=given,
        output_schema=schemas.of_output(endpoint),
        writes=endpoint.writes,
        # What cannot be known is taken for the worst.
        destroys=endpoint.writes and not (writes and all(map(_creates, writes))),
        is_idempotent=not endpoint.writes
        or bool(writes and all(isinstance(each, Delete) for each in writes)),
    )


def find_writes(endpoint: PatternEndpoint) -> Iterator[Write[Any]]:
    """Yield the writes that a pattern is known to make."""
    try:
        steps = endpoint.pattern.explain().steps
    except KeyfoldError:
        return
    for step in steps:
        members: Sequence[Any] = getattr(step.request, "requests", (step.request,))
        for each in members:
            if isinstance(each, Write) and not isinstance(each, Check):
                yield each


def show_units(profile: PatternProfile | None) -> str:
    """Return what a call consumes, as a sentence."""
    if profile is None or profile.problem is not None:
        return "The capacity units of a call are not known."
    kinds = ((profile.read_units, "read"), (profile.write_units, "write"))
    shown = " and ".join(f"{units:.3g} {kind}" for units, kind in kinds if units) or "0"
    return f"A call consumes about {shown} units."


def _describe(endpoint: PatternEndpoint, profile: PatternProfile | None) -> str:
    kind = "It writes." if endpoint.writes else "It only reads."
    return f"{endpoint.description}\n\n{kind} {show_units(profile)}"


def _creates(write: Write[Any]) -> bool:
    return isinstance(write, Put) and write.presence is Presence.MUST_NOT_EXIST
