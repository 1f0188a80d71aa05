"""The JSON schemas of tools: each has the definitions that it refers to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from keyfold.service._endpoints import CURSOR, PatternEndpoint
from keyfold.service._openapi import SchemaBook

LIMIT = "limit"

_START = "#/$defs/"
# The members of a schema that are values, not schemas.
_VALUES = frozenset({"const", "default", "enum", "examples"})
_NOTE = {"type": "string", "description": "What to know about this answer, and how to go on."}
_UNITS = {"type": "number", "description": "The capacity units that the call consumed."}
_NEXT = {"type": "string", "description": "Give it with the same arguments to get what follows."}


class ToolSchemas:
    """The schemas of endpoints as tools."""

    def __init__(self, endpoints: Iterable[PatternEndpoint], most_items: int) -> None:
        self._book = SchemaBook(endpoints, _START + "{model}")
        self._definitions = {
            name: drop_titles(each) for name, each in self._book.definitions.items()
        }
        self._most_items = most_items

    def of_input(self, endpoint: PatternEndpoint) -> dict[str, Any]:
        """Return the schema of a tool's arguments: the pattern's, and those that continue a list."""
        schema = self._book.resolve(self._book.of_arguments(endpoint))
        properties = {**schema.get("properties", {})}
        for name in paging_parameters(endpoint):
            properties[name] = self._describe_paging(name)
        found = {**schema, "properties": properties, "additionalProperties": False}
        return with_definitions(drop_titles(found), self._definitions)

    def of_output(self, endpoint: PatternEndpoint) -> dict[str, Any]:
        """Return the schema of a tool's answer: an object with the result."""
        schema = self._book.of_result(endpoint)
        if endpoint.is_page:
            properties = {"items": schema, CURSOR: _NEXT}
            required = ["items"]
        else:
            # A result that is too large is left out.
            properties, required = {"result": schema}, []
        document = {
            "type": "object",
            "properties": {**properties, "note": _NOTE, "units": _UNITS},
            "required": [*required, "units"],
        }
        return with_definitions(drop_titles(document), self._definitions)

    def _describe_paging(self, name: str) -> dict[str, Any]:
        if name == LIMIT:
            return {
                "type": "integer",
                "minimum": 1,
                "maximum": self._most_items,
                "description": "How many items to return at most.",
            }
        fact = "The cursor of an earlier answer, to get what follows it."
        return {"type": "string", "description": fact}


def with_definitions(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema with the definitions that it refers to, directly or not."""
    needed: dict[str, Any] = {}
    pending = [*find_references(schema)]
    while pending:
        name = pending.pop()
        if name not in needed:
            needed[name] = definitions[name]
            pending += find_references(needed[name])
    return {**schema, "$defs": dict(sorted(needed.items()))} if needed else dict(schema)


def paging_parameters(endpoint: PatternEndpoint) -> tuple[str, ...]:
    """Return the parameters that a tool has besides the pattern's: `limit` and `cursor` of a list."""
    if not endpoint.continues:
        return ()
    own = {each.name for each in endpoint.parameters}
    return tuple(each for each in (LIMIT, CURSOR) if each not in own)


def drop_titles(schema: Any) -> Any:
    """Return a schema without titles: they repeat names, and every word is read by an agent.

    >>> drop_titles({"properties": {"title": {"title": "Title", "type": "string"}}})
    {'properties': {'title': {'type': 'string'}}}
    """
    match schema:
        case Mapping():
            members = cast("Mapping[str, Any]", schema).items()
            return {
                name: each if name in _VALUES else drop_titles(each)
                for name, each in members
                if not (name == "title" and isinstance(each, str))
            }
        case list():
            return [drop_titles(each) for each in cast("list[Any]", schema)]
        case _:
            return schema


def find_references(schema: Any) -> Iterator[str]:
    """Yield the names of the definitions that a schema refers to, discriminators included."""
    match schema:
        case str() if schema.startswith(_START):
            yield schema.removeprefix(_START)
        case Mapping():
            for each in cast("Mapping[str, Any]", schema).values():
                yield from find_references(each)
        case list():
            for each in cast("list[Any]", schema):
                yield from find_references(each)
        case _:
            pass
