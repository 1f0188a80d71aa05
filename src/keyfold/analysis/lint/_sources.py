"""What the sources of rules stand for."""

from __future__ import annotations

_TOOLKIT = "AWS agent toolkit, skill amazon-dynamodb, axiom {}"
_SOURCES = {
    "AR": "AWS DynamoDB MCP server, prompt of the architect",
    "DV": "DynamoDB developer guide",
    "†": "Keyfold",
}
_AXIOMS = ("DM", "IN", "ME", "PA", "F")


def describe_source(source: str) -> str:
    """Return what a rule's source stands for; several sources are separated by commas.

    >>> describe_source("AR, ME16")
    'AWS DynamoDB MCP server, prompt of the architect; AWS agent toolkit, skill amazon-dynamodb, axiom ME16'
    """
    return "; ".join(_describe(each.strip()) for each in source.split(","))


def _describe(source: str) -> str:
    if source in _SOURCES:
        return _SOURCES[source]
    if source.rstrip("0123456789") in _AXIOMS:
        return _TOOLKIT.format(source)
    return source
