"""Resources: what an agent can read about a table before it calls a tool.

The design document is that of `keyfold doc`. It shows keys, so it is not for end users.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import quote

from keyfold.analysis import TableProfile, read_workload
from keyfold.analysis.cost import read_prices, report_cost
from keyfold.analysis.lint import Design, review
from keyfold.export import export_jsonschema
from keyfold.export.documents import describe_design, write_markdown
from keyfold.model import Table
from keyfold.service._endpoints import PatternEndpoint
from keyfold.service.mcp._explaining import explain_pattern
from keyfold.service.mcp._schemas import with_definitions

MARKDOWN, JSON, JSON_SCHEMA = "text/markdown", "application/json", "application/schema+json"


@dataclass(frozen=True, slots=True)
class AgentResource:
    """A text about a table, made when it is read."""

    uri: str
    name: str
    description: str
    mime_type: str
    write: Callable[[], str]


def list_resources(
    profile: TableProfile | None,
    table: Table,
    endpoints: Iterable[PatternEndpoint],
    *,
    shows_keys: bool,
) -> dict[str, AgentResource]:
    """Return the resources of a table, by URI."""
    start = f"keyfold://{quote(table.name, safe='')}"
    found: list[AgentResource] = []
    if shows_keys and profile is not None:
        fact = f"The design of {table.name}: keys, entities, indexes, patterns, roles, costs."
        write = _cached(lambda: write_design(profile))
        found.append(AgentResource(f"{start}/design", "Design", fact, MARKDOWN, write))
    if shows_keys:
        document = cast("Mapping[str, Any]", export_jsonschema(table).content)
        definitions: Mapping[str, Any] = document["$defs"]
        for name in table.entities:
            if name in definitions:
                uri = f"{start}/entities/{quote(name, safe='')}"
                fact = f"The JSON schema of {name}, and where it is stored."
                found.append(
                    AgentResource(uri, name, fact, JSON_SCHEMA, _write_schema(name, definitions))
                )
    for each in endpoints:
        fact = f"What {each.name} does: its calls and their units."
        measured = None if profile is None else profile.patterns.get(each.pattern.name)
        found.append(
            AgentResource(
                f"{start}/patterns/{each.name}",
                each.name,
                fact,
                JSON,
                lambda each=each, measured=measured: _to_json(
                    explain_pattern(each.pattern, measured, shows_keys=shows_keys)
                ),
            )
        )
    return {each.uri: each for each in found}


def write_design(profile: TableProfile) -> str:
    """Return the design document of a table, as `keyfold doc` prints it."""
    found = review(Design(profile.table, read_workload(profile.table), profile, None))
    return write_markdown(describe_design(profile, found, report_cost(profile, read_prices())))


def _write_schema(name: str, definitions: Mapping[str, Any]) -> Callable[[], str]:
    return lambda: _to_json(with_definitions(definitions[name], definitions))


def _to_json(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False, indent=2)


def _cached(write: Callable[[], str]) -> Callable[[], str]:
    kept: list[str] = []

    def read() -> str:
        if not kept:
            kept.append(write())
        return kept[0]

    return read
