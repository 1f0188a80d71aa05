"""Encoding of keys: from attribute values to the bytes by which rows and index entries sort."""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from keyfold.engine.items.key_faults import (
    MAX_HALF_BYTES,
    MAX_PARTITION_BYTES,
    MAX_SORT_BYTES,
    KeyFault,
    KeyFaultKind,
    KeyHalf,
    KeyInvalid,
)
from keyfold.values import (
    AttributeValue,
    Item,
    encode_number,
    encode_partition,
    prefix_end,
    terminate_part,
    value_size_bytes,
)
from keyfold.values.fast_scalars import read_fast_scalar

# Sorts after every row key and index entry: those start with a hash of four bytes and a length of
# two, and no length starts with 255.
END = b"\xff" * 5

_ENCODERS: dict[str, Callable[[str], bytes]] = {
    "S": str.encode,
    "N": encode_number,
    "B": a2b_base64,
}


class KeyAttribute(NamedTuple):
    """An attribute of a key, and the type its values have."""

    name: str
    type: Literal["S", "N", "B"]


@dataclass(frozen=True, slots=True)
class KeySchema:
    """The attributes of a partition key and a sort key.

    A table has at most one of each; a global index up to four.
    """

    partition: tuple[KeyAttribute, ...]
    sort: tuple[KeyAttribute, ...]
    # All of them, partition first, and their names.
    attributes: tuple[KeyAttribute, ...] = field(init=False)
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        attributes = self.partition + self.sort
        object.__setattr__(self, "attributes", attributes)
        object.__setattr__(self, "names", tuple(attribute.name for attribute in attributes))


def part_encoder(attribute: KeyAttribute) -> Callable[[str], bytes]:
    """Return the function that encodes the data of one key attribute."""
    return _ENCODERS[attribute.type]


def encode_part(attribute: KeyAttribute, value: AttributeValue) -> bytes:
    """Encode the value of one key attribute, which must have the right type."""
    return _ENCODERS[attribute.type](value[attribute.type])


def join_partition(schema: KeySchema, parts: list[bytes]) -> bytes:
    """Return the prefix of every row, or index entry, with this partition key."""
    if len(schema.partition) == 1:
        return encode_partition(parts[0])
    return encode_partition(b"".join(map(terminate_part, parts)))


def join_sort(schema: KeySchema, parts: list[bytes]) -> bytes:
    """Return the bytes that follow the partition in a row key or an index entry."""
    if len(schema.sort) == 1 and parts:
        return parts[0]
    return b"".join(map(terminate_part, parts))


def row_key_encoder(schema: KeySchema) -> Callable[[Item], bytes]:
    """Return a function that encodes the row key of an item in normal form.

    The function raises KeyError if a key attribute is missing, of the wrong type, empty or too
    long; `find_key_fault` then returns the fault.
    """
    partition = schema.partition[0]
    name, kind, encode = partition.name, partition.type, part_encoder(partition)
    if not schema.sort:

        def encode_simple(item: Item) -> bytes:
            part = encode(item[name][kind])
            if not 0 < len(part) <= MAX_PARTITION_BYTES:
                raise KeyError(name)
            return encode_partition(part)

        return encode_simple
    sort = schema.sort[0]
    sort_name, sort_kind, encode_sort = sort.name, sort.type, part_encoder(sort)

    def encode_composite(item: Item) -> bytes:
        part = encode(item[name][kind])
        sort_part = encode_sort(item[sort_name][sort_kind])
        if not (0 < len(part) <= MAX_PARTITION_BYTES and 0 < len(sort_part) <= MAX_SORT_BYTES):
            raise KeyError(name)
        return encode_partition(part) + sort_part

    return encode_composite


def fast_key_encoder(schema: KeySchema) -> Callable[[dict[str, Any]], bytes | None]:
    """Return a function that encodes `Key` parameters before validation, for the fast path.

    The function returns None if a key may be invalid or is not in normal form.
    """
    partition = schema.partition[0]
    name, kind, encode = partition.name, partition.type, part_encoder(partition)
    if not schema.sort:

        def encode_simple(key: dict[str, Any]) -> bytes | None:
            data = read_fast_scalar(kind, key.get(name), MAX_PARTITION_BYTES)
            return encode_partition(encode(data)) if data and len(key) == 1 else None

        return encode_simple
    sort = schema.sort[0]
    sort_name, sort_kind, encode_sort = sort.name, sort.type, part_encoder(sort)

    def encode_composite(key: dict[str, Any]) -> bytes | None:
        data = read_fast_scalar(kind, key.get(name), MAX_PARTITION_BYTES)
        sort_data = read_fast_scalar(sort_kind, key.get(sort_name), MAX_SORT_BYTES)
        if not data or not sort_data or len(key) != 2:  # noqa: PLR2004 - the two of them
            return None
        return encode_partition(encode(data)) + encode_sort(sort_data)

    return encode_composite


def partition_span(schema: KeySchema, item: Item) -> tuple[bytes, bytes]:
    """Return the range of row keys that share the item's partition key."""
    partition = schema.partition[0]
    low = encode_partition(encode_part(partition, item[partition.name]))
    return low, end_of(low)


def end_of(prefix: bytes) -> bytes:
    """Return the exclusive end of the row keys, or index entries, that start with `prefix`."""
    return prefix_end(prefix) or END


def find_key_fault(schema: KeySchema, item: Item, index: str | None = None) -> KeyFault | None:
    """Return the first fault of the key of an item in normal form, or None.

    `index` names the index whose key it is. Attributes of its key may be missing; those of a
    table's key (`index` is None) may not.
    """
    if index is None:
        for attribute in schema.attributes:
            if attribute.name not in item:
                return KeyFault(KeyFaultKind.MISSING, (attribute.name,))
    present = [attribute for attribute in schema.attributes if attribute.name in item]
    for attribute in present:
        (actual,) = item[attribute.name]
        if actual != attribute.type:
            names, expected = (attribute.name,), attribute.type
            return KeyFault(KeyFaultKind.WRONG_TYPE, names, expected, actual, index=index)
    for attribute in present:
        if not item[attribute.name][attribute.type]:
            names, expected = (attribute.name,), attribute.type
            return KeyFault(KeyFaultKind.EMPTY, names, expected, index=index)
    halves: dict[KeyHalf, tuple[KeyAttribute, ...]] = {
        "HASH": schema.partition,
        "RANGE": schema.sort,
    }
    for half, attributes in halves.items():
        size = sum(value_size_bytes(item[each.name]) for each in attributes if each.name in item)
        if size > MAX_HALF_BYTES[half]:
            names = tuple(attribute.name for attribute in attributes)
            return KeyFault(KeyFaultKind.TOO_LONG, names, half=half, size_bytes=size, index=index)
    return None


def index_entry_encoder(index_name: str, schema: KeySchema) -> Callable[[Item], bytes | None]:
    """Return a function that encodes an item's entry in an index.

    The function returns None for an item that lacks one of the index's key attributes, since
    indexes are sparse. It raises KeyInvalid for a key attribute that is of the wrong type, empty,
    or too long.
    """
    names = schema.names

    def error(item: Item) -> KeyInvalid:
        fault = find_key_fault(schema, item, index_name)
        assert fault is not None  # the caller has found that there is one
        return KeyInvalid(fault)

    def check(item: Item) -> None:
        fault = find_key_fault(schema, item, index_name)
        if fault is not None:
            raise KeyInvalid(fault)

    if len(schema.partition) == 1 and len(schema.sort) <= 1:
        partition = schema.partition[0]
        name, kind, encode = partition.name, partition.type, part_encoder(partition)
        if not schema.sort:

            def encode_simple(item: Item) -> bytes | None:
                if name not in item:
                    return None
                data = item[name].get(kind)
                if not data or len(part := encode(data)) > MAX_PARTITION_BYTES:
                    raise error(item)
                return encode_partition(part)

            return encode_simple
        sort = schema.sort[0]
        sort_name, sort_kind, encode_sort = sort.name, sort.type, part_encoder(sort)

        def encode_composite(item: Item) -> bytes | None:
            try:
                part, sort_part = encode(item[name][kind]), encode_sort(item[sort_name][sort_kind])
            except KeyError:
                # An attribute that is present must be valid even if the other is missing.
                check(item)
                return None
            if not (0 < len(part) <= MAX_PARTITION_BYTES and 0 < len(sort_part) <= MAX_SORT_BYTES):
                raise error(item)
            return encode_partition(part) + sort_part

        return encode_composite

    def encode_several(item: Item) -> bytes | None:
        check(item)
        if any(name not in item for name in names):
            return None
        partition = [encode_part(each, item[each.name]) for each in schema.partition]
        sort = [encode_part(each, item[each.name]) for each in schema.sort]
        return join_partition(schema, partition) + join_sort(schema, sort)

    return encode_several


def entry_or_none(encode: Callable[[Item], bytes | None], item: Item) -> bytes | None:
    """Return an item's index entry, or None if the item is invalid for the index.

    For items that were written before the index existed: they are left out of it.
    """
    try:
        return encode(item)
    except KeyInvalid:
        return None
