"""Validation of the vector index definitions in requests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from keyfold.engine.tables.definitions import check_projection
from keyfold.engine.tables.extras import VectorBody
from keyfold.engine.tables.table import TableBody
from keyfold.errors import ValidationException
from keyfold.values.wording import INVALID

MAX_VECTOR_INDEXES = 5
MAX_DIMENSIONS = 4_096
MAX_FILTERS = 18
# The limit of named attributes, the vector and the filters together.
MAX_PROJECTED = 20


def check_vector_indexes(
    indexes: list[dict[str, Any]], mode: str, defined: Iterable[str], taken: Iterable[str]
) -> None:
    """Raise ValidationException unless the vector indexes are valid and their names are free."""
    if not indexes:
        raise ValidationException(f"{INVALID}List of VectorIndexes is empty")
    check_vector_billing(mode)
    names = set(taken)
    known = set(defined)
    for index in indexes:
        if index["IndexName"] in names:
            raise ValidationException(f"{INVALID}Duplicate index name: {index['IndexName']}")
        names.add(index["IndexName"])
        _check_vector_index(index, known)
    check_vector_count(len(indexes))
    _check_dimensions([(_attribute_of(index), index["Dimensions"]) for index in indexes])


def check_new_vector_index(index: dict[str, Any], body: TableBody, defined: Iterable[str]) -> None:
    """Raise ValidationException unless a vector index may be added to a table."""
    check_vector_billing(body["billing_mode"])
    vectors = body.get("vectors", [])
    if any(each["name"] == index["IndexName"] for each in (*body["indexes"], *vectors)):
        raise ValidationException("Attempting to create an index which already exists")
    _check_vector_index(index, set(defined))
    check_vector_count(len(vectors) + 1)
    _check_dimensions(
        [
            *((each["attribute"], each["dimensions"]) for each in vectors),
            (_attribute_of(index), index["Dimensions"]),
        ]
    )


def check_vector_billing(mode: str) -> None:
    """Raise ValidationException for vector indexes on a table with provisioned capacity."""
    if mode != "PAY_PER_REQUEST":
        raise ValidationException(
            f"{INVALID}Vector indexes are only supported for PAY_PER_REQUEST tables"
        )


def check_vector_count(count: int) -> None:
    """Raise ValidationException if a table would have too many vector indexes."""
    if count > MAX_VECTOR_INDEXES:
        raise ValidationException(
            f"{INVALID}VectorIndex count exceeds the per-table limit of {MAX_VECTOR_INDEXES}"
        )


def _attribute_of(index: dict[str, Any]) -> str:
    return index["VectorAttribute"]["AttributeName"]


def _check_dimensions(vectors: list[tuple[str, int]]) -> None:
    """Raise ValidationException if an attribute is indexed with different dimensions."""
    known: dict[str, int] = {}
    for attribute, dimensions in vectors:
        if known.setdefault(attribute, dimensions) != dimensions:
            raise ValidationException(
                f"{INVALID}Conflicting attribute definition for '{attribute}'. All VectorIndexes "
                "on the same vector attribute must use the same dimensions."
            )


def _check_vector_index(index: dict[str, Any], defined: set[str]) -> None:
    name, attribute = index["IndexName"], _attribute_of(index)
    schema: list[dict[str, str]] = index.get("SearchSchema") or []
    searched = [each["AttributeName"] for each in schema]
    if not set(searched) <= defined:
        message = "One element in SearchSchema is not defined in attribute definitions"
        raise ValidationException(f"{INVALID}{message}")
    if len(set(searched)) != len(searched) or attribute in searched:
        message = f"An attribute is used more than once for vector index: {name}"
        raise ValidationException(f"{INVALID}{message}")
    if attribute in defined:
        message = f"The vector attribute {attribute} cannot be in AttributeDefinitions"
        raise ValidationException(f"{INVALID}{message}")
    kinds = [each["SearchSchemaElementType"] for each in schema]
    if kinds.count("HASH") > 1:
        message = f"SearchSchema has more than one HASH element for vector index: {name}"
        raise ValidationException(f"{INVALID}{message}")
    if kinds.count("INLINE_FILTER") > MAX_FILTERS:
        message = f"SearchSchema exceeds the limit of {MAX_FILTERS} INLINE_FILTER elements"
        raise ValidationException(f"{INVALID}{message} for vector index: {name}")
    if index["Dimensions"] > MAX_DIMENSIONS:
        raise ValidationException(
            f"{INVALID}Number of dimensions must be between 1 and {MAX_DIMENSIONS} inclusive."
        )
    check_projection(index["Projection"])
    named: list[str] = index["Projection"].get("NonKeyAttributes") or []
    if len(named) + 1 + kinds.count("INLINE_FILTER") > MAX_PROJECTED:
        raise ValidationException(
            f"{INVALID}Number of projected attributes exceeds the limit of {MAX_PROJECTED} "
            f"for vector index: {name}"
        )


def vector_body(definition: dict[str, Any], *, column: str, status: str) -> VectorBody:
    """Return the stored form of a vector index from its definition in a request."""
    return VectorBody(
        name=definition["IndexName"],
        attribute=_attribute_of(definition),
        dimensions=definition["Dimensions"],
        distance=definition["DistanceFunction"],
        search=definition.get("SearchSchema") or [],
        projection=definition["Projection"],
        column=column,
        status=status,
    )


def searched_names(vectors: Iterable[VectorBody]) -> list[str]:
    """Return the attributes that the search schemas of vector indexes use."""
    return [each["AttributeName"] for vector in vectors for each in vector["search"]]
