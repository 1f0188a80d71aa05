"""Keys of items: from attribute values to the bytes that rows and index entries sort by."""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from keyfold.engine.expressions import KeyAttribute
from keyfold.errors import ValidationException
from keyfold.values import (
    AttributeValue,
    Item,
    encode_number,
    encode_partition,
    prefix_end,
    terminate_part,
    value_size_bytes,
)

MAX_PARTITION_BYTES = 2_048
MAX_SORT_BYTES = 1_024

# Above every row key and index entry: those start with a hash and a length of two bytes, and
# no length starts with 255.
END = b"\xff" * 5

KEY_MISMATCH = "The provided key element does not match the schema"
_INVALID = "One or more parameter values were invalid: "
_NOT_VALID = "One or more parameter values are not valid. "
PARTITION_TOO_LONG = (
    f"{_INVALID}Size of hashkey has exceeded the maximum size limit of{MAX_PARTITION_BYTES} bytes"
)
SORT_TOO_LONG = (
    f"{_INVALID}Aggregated size of all range keys has exceeded "
    f"the size limit of {MAX_SORT_BYTES} bytes"
)

_ENCODERS: dict[str, Callable[[str], bytes]] = {
    "S": str.encode,
    "N": encode_number,
    "B": a2b_base64,
}


@dataclass(frozen=True, slots=True)
class KeySchema:
    """The attributes that make a partition key and a sort key.

    A table has one of each at most; a global index up to four.
    """

    partition: tuple[KeyAttribute, ...]
    sort: tuple[KeyAttribute, ...]
    # All of them, partition first, and their names.
    attributes: tuple[KeyAttribute, ...] = field(init=False)
    names: tuple[str, ...] = field(init=False)
    # What plain key conditions mean for this key, by their text.
    plans: dict[str, Any] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        attributes = self.partition + self.sort
        object.__setattr__(self, "attributes", attributes)
        object.__setattr__(self, "plans", {})
        object.__setattr__(self, "names", tuple(attribute.name for attribute in attributes))


def encode_part(attribute: KeyAttribute, value: AttributeValue) -> bytes:
    """Encode the value of one key attribute, which has the right type."""
    return _ENCODERS[attribute.type](value[attribute.type])


def join_partition(schema: KeySchema, parts: list[bytes]) -> bytes:
    """Return the prefix of every row, or index entry, with this partition key."""
    if len(schema.partition) == 1:
        return encode_partition(parts[0])
    return encode_partition(b"".join(map(terminate_part, parts)))


def join_sort(schema: KeySchema, parts: list[bytes]) -> bytes:
    """Return what follows the partition in a row key or an index entry."""
    if len(schema.sort) == 1 and parts:
        return parts[0]
    return b"".join(map(terminate_part, parts))


def row_key_encoder(schema: KeySchema) -> Callable[[Item], bytes]:
    """Compile the encoder of a table's row keys.

    It takes an item in normal form whose key attributes are there, of the right types;
    otherwise it raises KeyError, and `explain_item_key` or `explain_key` says what is wrong. A
    key that is too long or empty gives a KeyError too.
    """
    partition = schema.partition[0]
    name, kind, encode = partition.name, partition.type, _ENCODERS[partition.type]
    if not schema.sort:

        def encode_simple(item: Item) -> bytes:
            part = encode(item[name][kind])
            if not 0 < len(part) <= MAX_PARTITION_BYTES:
                raise KeyError(name)
            return encode_partition(part)

        return encode_simple
    sort = schema.sort[0]
    sort_name, sort_kind, encode_sort = sort.name, sort.type, _ENCODERS[sort.type]

    def encode_composite(item: Item) -> bytes:
        part = encode(item[name][kind])
        sort_part = encode_sort(item[sort_name][sort_kind])
        if not (0 < len(part) <= MAX_PARTITION_BYTES and 0 < len(sort_part) <= MAX_SORT_BYTES):
            raise KeyError(name)
        return encode_partition(part) + sort_part

    return encode_composite


def quick_key_encoder(schema: KeySchema) -> Callable[[dict[str, Any]], bytes | None]:
    """Compile the encoder of `Key` parameters as they come, for keys of plain text.

    It returns None for whatever takes a closer look, keys with faults among them.
    """
    if any(attribute.type != "S" for attribute in schema.attributes):
        return lambda _: None
    name = schema.partition[0].name
    sort_name = schema.sort[0].name if schema.sort else None
    count = len(schema.names)

    def text_of(value: Any, longest: int) -> str | None:
        if value.__class__ is not dict or len(value) != 1:
            return None
        data = value.get("S")
        if data.__class__ is not str or not data.isascii() or not 0 < len(data) <= longest:
            return None
        return data

    def encode(key: dict[str, Any]) -> bytes | None:
        part = text_of(key.get(name), MAX_PARTITION_BYTES)
        if part is None or len(key) != count:
            return None
        if sort_name is None:
            return encode_partition(part.encode())
        sort_part = text_of(key.get(sort_name), MAX_SORT_BYTES)
        if sort_part is None:
            return None
        return encode_partition(part.encode()) + sort_part.encode()

    return encode


def explain_item_key(schema: KeySchema, item: Item) -> ValidationException:
    """Return the service's words for why an item to be put has no valid key."""
    for attribute in schema.attributes:
        if attribute.name not in item:
            message = f"{_INVALID}Missing the key {attribute.name} in the item"
            return ValidationException(message)
    for attribute in schema.attributes:
        (actual,) = item[attribute.name]
        if actual != attribute.type:
            return ValidationException(
                f"{_INVALID}Type mismatch for key {attribute.name} "
                f"expected: {attribute.type} actual: {actual}"
            )
    return _explain_sizes(schema, item)


def explain_key(schema: KeySchema, key: Item) -> ValidationException:
    """Return the service's words for why a `Key` parameter is not valid."""
    for attribute in schema.attributes:
        if attribute.type not in key.get(attribute.name, ()):
            return ValidationException(KEY_MISMATCH)
    if len(key) != len(schema.attributes):
        return ValidationException(KEY_MISMATCH)
    return _explain_sizes(schema, key)


def explain_batch_key(schema: KeySchema, item: Item) -> ValidationException:
    """Return the service's words for why an item to be put by a batch has no valid key."""
    return explain_key(schema, {name: item[name] for name in schema.names if name in item})


def partition_span(schema: KeySchema, item: Item) -> tuple[bytes, bytes]:
    """Return the range of row keys that share the item's partition key."""
    partition = schema.partition[0]
    low = encode_partition(encode_part(partition, item[partition.name]))
    return low, prefix_end(low) or END


def _explain_sizes(schema: KeySchema, item: Item) -> ValidationException:
    for attribute in schema.attributes:
        if not item[attribute.name][attribute.type]:
            kind = "string" if attribute.type == "S" else "binary"
            return ValidationException(
                f"{_NOT_VALID}The AttributeValue for a key attribute "
                f"cannot contain an empty {kind} value. Key: {attribute.name}"
            )
    partition = schema.partition[0]
    if len(encode_part(partition, item[partition.name])) > MAX_PARTITION_BYTES:
        return ValidationException(PARTITION_TOO_LONG)
    return ValidationException(SORT_TOO_LONG)


def index_entry_encoder(index_name: str, schema: KeySchema) -> Callable[[Item], bytes | None]:
    """Compile the encoder of an index's entries.

    It returns None for an item that lacks one of the index's key attributes: the index is
    sparse. It raises ValidationException for a key attribute of the wrong type, empty, or too
    long.
    """
    names = schema.names

    def explain(item: Item) -> ValidationException | None:
        return explain_entry(index_name, schema, item)

    if len(schema.partition) == 1 and len(schema.sort) <= 1:
        partition = schema.partition[0]
        name, kind, encode = partition.name, partition.type, _ENCODERS[partition.type]
        if not schema.sort:

            def encode_simple(item: Item) -> bytes | None:
                if name not in item:
                    return None
                data = item[name].get(kind)
                if not data or len(part := encode(data)) > MAX_PARTITION_BYTES:
                    raise explain(item) or AssertionError
                return encode_partition(part)

            return encode_simple
        sort = schema.sort[0]
        sort_name, sort_kind, encode_sort = sort.name, sort.type, _ENCODERS[sort.type]

        def encode_composite(item: Item) -> bytes | None:
            value, sort_value = item.get(name), item.get(sort_name)
            if value is None or sort_value is None:
                # One that is present must be valid even when the other is absent.
                if (fault := explain(item)) is not None:
                    raise fault
                return None
            data, sort_data = value.get(kind), sort_value.get(sort_kind)
            if not data or not sort_data:
                raise explain(item) or AssertionError
            part, sort_part = encode(data), encode_sort(sort_data)
            if len(part) > MAX_PARTITION_BYTES or len(sort_part) > MAX_SORT_BYTES:
                raise explain(item) or AssertionError
            return encode_partition(part) + sort_part

        return encode_composite

    def encode_several(item: Item) -> bytes | None:
        if (fault := explain(item)) is not None:
            raise fault
        if any(name not in item for name in names):
            return None
        partition = [encode_part(each, item[each.name]) for each in schema.partition]
        sort = [encode_part(each, item[each.name]) for each in schema.sort]
        return join_partition(schema, partition) + join_sort(schema, sort)

    return encode_several


def explain_entry(index_name: str, schema: KeySchema, item: Item) -> ValidationException | None:
    """Return the service's words for why an item is not fit for an index; None if it is."""
    present = [attribute for attribute in schema.attributes if attribute.name in item]
    for attribute in present:
        (actual,) = item[attribute.name]
        if actual != attribute.type:
            return ValidationException(
                f"{_INVALID}Type mismatch for Index Key {attribute.name} "
                f"Expected: {attribute.type} Actual: {actual} IndexName: {index_name}"
            )
    for attribute in present:
        if not item[attribute.name][attribute.type]:
            kind = "string" if attribute.type == "S" else "binary"
            return ValidationException(
                f"{_NOT_VALID}A value specified for a secondary index key is not supported. "
                f"The AttributeValue for a key attribute cannot contain an empty {kind} value. "
                f"IndexName: {index_name}, IndexKey: {attribute.name}"
            )
    return __explain_entry_sizes(index_name, schema, item)


def __explain_entry_sizes(
    index_name: str, schema: KeySchema, item: Item
) -> ValidationException | None:
    for kind, attributes, limit, message in (
        ("HASH", schema.partition, MAX_PARTITION_BYTES, PARTITION_TOO_LONG),
        ("RANGE", schema.sort, MAX_SORT_BYTES, SORT_TOO_LONG),
    ):
        present = [attribute for attribute in attributes if attribute.name in item]
        size = sum(value_size_bytes(item[attribute.name]) for attribute in present)
        if size <= limit:
            continue
        if len(attributes) == 1:
            return ValidationException(message)
        names = ", ".join(attribute.name for attribute in attributes)
        return ValidationException(
            f"Aggregate size for {kind} key attributes {names} of index {index_name} "
            f"has exceeded limit {limit} bytes, with actual size {size} bytes"
        )
    return None


def entry_or_none(encode: Callable[[Item], bytes | None], item: Item) -> bytes | None:
    """Return an item's index entry, leaving out an item that is not fit for the index.

    For backfills: an item that was written before the index existed is skipped, not refused.
    """
    try:
        return encode(item)
    except ValidationException:
        return None
