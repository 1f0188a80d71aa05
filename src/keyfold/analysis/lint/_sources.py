"""What the sources of rules stand for."""

from __future__ import annotations

_SOURCES = {
    "AR": "AWS DynamoDB MCP server, prompt of the architect",
    "DV": "DynamoDB developer guide",
    "†": "Keyfold",
}
_TOOLKIT = "AWS agent toolkit, skill amazon-dynamodb"
# What the numbers of the toolkit's axioms begin with.
_AXIOMS = ("DM", "IN", "ME", "PA", "F")


def describe_source(source: str) -> str:
    """Return what a rule's source stands for; several sources are separated by commas.

    >>> describe_source("AR"), describe_source("DM3, DM5")[-20:]
    ('AWS DynamoDB MCP server, prompt of the architect', ', axioms DM3 and DM5')
    """
    named = [each.strip() for each in source.split(",")]
    axioms = [each for each in named if each.rstrip("0123456789") in _AXIOMS]
    others = [_SOURCES.get(each, each) for each in named if each not in axioms]
    if axioms:
        noun = "axiom" if len(axioms) == 1 else "axioms"
        others.append(f"{_TOOLKIT}, {noun} {' and '.join(axioms)}")
    return "; ".join(others)
