"""Optional parts of a table's body, each absent until a request sets it."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict


class VectorBody(TypedDict):
    """A vector index as stored in the file; most members have the API's form."""

    name: str
    attribute: str
    dimensions: int
    distance: str
    search: list[dict[str, str]]
    projection: dict[str, Any]
    column: str
    status: str


def to_vector_definition(vector: VectorBody) -> dict[str, Any]:
    """Return the definition of a vector index in the form of API requests."""
    described: dict[str, Any] = {
        "IndexName": vector["name"],
        "VectorAttribute": {"AttributeName": vector["attribute"]},
        "Projection": vector["projection"],
        "Dimensions": vector["dimensions"],
        "DistanceFunction": vector["distance"],
    }
    if vector["search"]:
        described["SearchSchema"] = vector["search"]
    return described


class InsightsBody(TypedDict):
    """Contributor insights of a table or an index: whether its hottest keys are counted."""

    is_enabled: bool
    mode: str
    changed_at: float


class PolicyBody(TypedDict):
    """A resource policy, verbatim, and its revision."""

    document: str
    revision: str


class DestinationBody(TypedDict):
    """A Kinesis stream that is the destination of changes; nothing is sent to it."""

    arn: str
    status: str
    precision: str


class WitnessBody(TypedDict):
    """A witness region of a global table."""

    region: str


class TableExtras(TypedDict, total=False):
    """The optional members of a table's body."""

    vectors: list[VectorBody]
    # By the name of the index; "" for the table.
    insights: dict[str, InsightsBody]
    # By the rest of the resource's ARN after the table's: "", or `stream/` and a label.
    policies: dict[str, PolicyBody]
    kinesis: list[DestinationBody]
    # Replicas by region, as requested.
    replicas: dict[str, dict[str, Any]]
    witnesses: list[WitnessBody]
    # Auto scaling by region, in the form of the API's descriptions.
    auto_scaling: dict[str, ScalingBody]


class ScalingBody(TypedDict):
    """Auto scaling settings of one replica and its indexes; they have no effect."""

    read: NotRequired[dict[str, Any]]
    write: NotRequired[dict[str, Any]]
    indexes: dict[str, dict[str, dict[str, Any]]]
