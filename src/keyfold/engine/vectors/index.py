"""Vector indexes: encoding of their entries, and search for the nearest items.

A vector index is a column like any other index: an item's entry there is the partition key of
the search schema, or the same bytes for all items if the schema has none. So backfills, `verify`
and sparseness work as for other indexes. A search reads the entries of one partition and measures
the distance of every one: it is exact, which tables that fit in one file can afford.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from heapq import nsmallest
from operator import mul
from typing import Any, Literal, NamedTuple

from keyfold.engine.items.key_faults import KeyFault, KeyFaultKind, KeyInvalid
from keyfold.engine.items.keys import (
    KeyAttribute,
    KeySchema,
    encode_part,
    end_of,
    find_key_fault,
    join_partition,
)
from keyfold.engine.storage import Span
from keyfold.engine.tables.extras import VectorBody
from keyfold.errors import ValidationException
from keyfold.values import AttributeValue, Item, item_size_bytes
from keyfold.values.wording import INVALID

FLOAT_BYTES = 4
# Requests are metered by bytes, with this minimum.
LEAST_REQUEST_BYTES = 1_024

_FLOAT = "32-bit floating point number"
_RANGE = "[-3.4028235E38, 3.4028235E38]"

# The entry of every item if the search schema has no partition key.
_ONE_PARTITION = b"\x00"

Vector = Sequence[float]
Measure = Callable[[Vector, Vector], float]


def is_float32(number: str) -> bool:
    """Return whether a number is in the range of a 32-bit float."""
    return math.isfinite(array("f", [float(number)])[0])


class VectorInvalid(KeyInvalid):
    """A value is invalid for a vector index; `error` is the service's error for it."""

    def __init__(self, fault: KeyFault, error: ValidationException) -> None:
        super().__init__(fault)
        self.error = error


class VectorIndex(NamedTuple):
    """A vector index, built once from its body, then only read."""

    name: str
    attribute: str
    dimensions: int
    distance: str
    # The partition key of the search schema, and the attributes that a search may filter by.
    partition: KeySchema | None
    filters: tuple[KeyAttribute, ...]
    # The attributes that the index projects; None for all.
    projected: frozenset[str] | None
    column: str
    status: str
    encode: Callable[[Item], bytes | None]

    def project(self, item: Item) -> Item:
        """Return the attributes of `item` that the index projects, including the vector."""
        if self.projected is None:
            return item
        kept = self.projected
        return {name: value for name, value in item.items() if name in kept}

    def span(self, condition: Mapping[str, AttributeValue]) -> Span:
        """Return the span of the entries that a search must measure."""
        if self.partition is None:
            return Span(_ONE_PARTITION, end_of(_ONE_PARTITION), column=self.column)
        (attribute,) = self.partition.partition
        part = encode_part(attribute, condition[attribute.name])
        low = join_partition(self.partition, [part])
        return Span(low, end_of(low), column=self.column)

    def find_invalid(self, item: Item) -> KeyInvalid | None:
        """Return the error for a value that is invalid for the index, or None.

        An item without a vector or partition key is not in the index, which is not an error.
        """
        schema = self.partition
        searched = self.filters if schema is None else (*schema.partition, *self.filters)
        for attribute in searched:
            value = item.get(attribute.name)
            if value is not None and attribute.type not in value:
                detail = f"Expected: {attribute.type}, {_actual(value)}."
                fact = f"Attribute '{attribute.name}' type mismatch. {detail}"
                return self._invalid_value(attribute.name, fact)
        fault = None if schema is None else find_key_fault(schema, item, self.name)
        if fault is not None:
            return KeyInvalid(fault)
        value = item.get(self.attribute)
        return None if value is None else self._find_vector_problem(value)

    def _find_vector_problem(self, value: AttributeValue) -> VectorInvalid | None:
        where = self.attribute
        elements = value.get("L")
        if elements is None:
            expected = f"Expected: {_FLOAT} list"
            return self._invalid_value(where, f"Invalid type for parameter {where}, {expected}")
        for place, element in enumerate(elements):
            if "N" not in element:
                detail = f"{where}[{place}], Expected: {_FLOAT}, {_actual(element)}."
                return self._invalid_value(where, f"Invalid type for parameter {detail}")
        if len(elements) != self.dimensions:
            detail = f"{where}, Expected: {self.dimensions}, Actual: {len(elements)}"
            return self._invalid_value(where, f"Invalid size for parameter {detail}")
        for place, element in enumerate(elements):
            if not is_float32(element["N"]):
                shown = (
                    f"Value: {Decimal(element['N']).normalize()} is outside valid range {_RANGE}."
                )
                detail = f"Invalid value for parameter {where}[{place}], {shown}"
                return self._invalid_value(where, detail)
        return None

    def _invalid_value(self, attribute: str, detail: str) -> VectorInvalid:
        # Unlike in other messages, a full stop follows "invalid".
        message = f"{INVALID.rstrip(': ')}. {detail} IndexName: {self.name}"
        fault = KeyFault(KeyFaultKind.WRONG_TYPE, (attribute,))
        return VectorInvalid(fault, ValidationException(message))

    def write_bytes(self, old: Item | None, new: Item | None) -> int:
        """Return the metered bytes of a change of an item; 0 if its entry does not change."""
        before, after = (self._held(each) for each in (old, new))
        if before == after:
            return 0
        sizes = [self._entry_bytes(each) for each in (before, after) if each is not None]
        return max(LEAST_REQUEST_BYTES, *sizes)

    def _held(self, item: Item | None) -> Item | None:
        if item is None or self.find_invalid(item) is not None or self.encode(item) is None:
            return None
        return self.project(item)

    def _entry_bytes(self, held: Item) -> int:
        others = {name: value for name, value in held.items() if name != self.attribute}
        return self.dimensions * FLOAT_BYTES + item_size_bytes(others)


def _actual(value: AttributeValue) -> str:
    (kind,) = value
    return f"Actual: {kind}"


def build_vector_index(
    body: VectorBody, table_key: KeySchema, types: Mapping[str, Literal["S", "N", "B"]]
) -> VectorIndex:
    """Build a vector index from its body."""

    def of_kind(kind: str) -> tuple[KeyAttribute, ...]:
        return tuple(
            KeyAttribute(each["AttributeName"], types[each["AttributeName"]])
            for each in body["search"]
            if each["SearchSchemaElementType"] == kind
        )

    partition, filters = of_kind("HASH"), of_kind("INLINE_FILTER")
    projected = None
    if body["projection"]["ProjectionType"] != "ALL":
        searched = [each["AttributeName"] for each in body["search"]]
        named = body["projection"].get("NonKeyAttributes", [])
        projected = frozenset((*table_key.names, *searched, *named, body["attribute"]))
    schema = KeySchema(partition, ()) if partition else None
    index: VectorIndex

    def encode(item: Item) -> bytes | None:
        error = index.find_invalid(item)
        if error is not None:
            raise error
        if index.attribute not in item:
            return None
        if schema is None:
            return _ONE_PARTITION
        (attribute,) = schema.partition
        if attribute.name not in item:
            return None
        return join_partition(schema, [encode_part(attribute, item[attribute.name])])

    index = VectorIndex(
        name=body["name"],
        attribute=body["attribute"],
        dimensions=body["dimensions"],
        distance=body["distance"],
        partition=schema,
        filters=filters,
        projected=projected,
        column=body["column"],
        status=body["status"],
        encode=encode,
    )
    return index


def read_vector(elements: list[dict[str, Any]]) -> Vector:
    """Return the numbers of a list as 32-bit floats."""
    return array("f", [float(element["N"]) for element in elements])


def _dot_product(one: Vector, other: Vector) -> float:
    return math.fsum(map(mul, one, other))


def _cosine_distance(one: Vector, other: Vector) -> float:
    """Return 1 minus the cosine of the angle: 0 for the same direction, 2 for the opposite one.

    A zero vector has no direction; its distance from every vector is 1, as for a right angle.
    """
    lengths = math.hypot(*one) * math.hypot(*other)
    if not lengths:
        return 1.0
    # Rounding may produce a value outside the range of a cosine.
    return 1.0 - max(-1.0, min(1.0, _dot_product(one, other) / lengths))


_MEASURES: dict[str, Measure] = {
    "COSINE": _cosine_distance,
    "DOT_PRODUCT": _dot_product,
    "EUCLIDEAN": math.dist,
}


class Scored(NamedTuple):
    """An item, and its distance or dot product."""

    score: float
    item: Item


def rank(index: VectorIndex, vector: Vector, items: Iterable[Item], limit: int) -> list[Scored]:
    """Return the `limit` items that are nearest to a vector, nearest first."""
    measure = _MEASURES[index.distance]
    # A dot product, unlike a distance, is greater for nearer items.
    sign = -1.0 if index.distance == "DOT_PRODUCT" else 1.0
    scored = (
        Scored(measure(vector, read_vector(item[index.attribute]["L"])), item) for item in items
    )
    return nsmallest(limit, scored, key=lambda each: sign * each.score)
