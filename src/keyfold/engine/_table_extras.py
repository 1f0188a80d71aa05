"""Parts of a table's body that few tables have: each is absent until it is asked for."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict


class VectorBody(TypedDict):
    """A vector index as it is kept in the file; most members as the API has them."""

    name: str
    attribute: str
    dimensions: int
    distance: str
    search: list[dict[str, str]]
    projection: dict[str, Any]
    column: str
    status: str


class InsightsBody(TypedDict):
    """Whether the hottest keys of a table, or of an index, are counted."""

    is_enabled: bool
    mode: str
    changed_at: float


class PolicyBody(TypedDict):
    """A resource policy, word for word, and its revision."""

    document: str
    revision: str


class DestinationBody(TypedDict):
    """A Kinesis stream that changes would go to."""

    arn: str
    status: str
    precision: str


class WitnessBody(TypedDict):
    """A region that would witness what is replicated."""

    region: str


class TableExtras(TypedDict, total=False):
    """What a table's body may have beside what every table has."""

    vectors: list[VectorBody]
    # By the name of the index; the table's own has the empty name.
    insights: dict[str, InsightsBody]
    # By what follows the table's ARN: nothing, or the name of a stream.
    policies: dict[str, PolicyBody]
    kinesis: list[DestinationBody]
    # Replicas by their regions, as they were asked for.
    replicas: dict[str, dict[str, Any]]
    witnesses: list[WitnessBody]
    # Auto scaling by region, in the form of the API's descriptions.
    auto_scaling: dict[str, ScalingBody]


class ScalingBody(TypedDict):
    """How the capacity of one replica would be scaled, and that of its indexes."""

    read: NotRequired[dict[str, Any]]
    write: NotRequired[dict[str, Any]]
    indexes: dict[str, dict[str, dict[str, Any]]]
