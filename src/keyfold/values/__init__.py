"""Attribute values: their types, sizes, order, and the canonical form the engine stores.

>>> from keyfold.values import normalise_item, encode_number
>>> normalise_item({"n": {"N": "1e2"}})
({'n': {'N': '100'}}, 3)
>>> encode_number("9") < encode_number("10")
True
"""

from __future__ import annotations

from keyfold.values._types import AttributeValue, Item
from keyfold.values.attributes import (
    MAX_NAME_BYTES,
    MAX_NESTING,
    NESTED_TOO_DEEP,
    normalise_item,
    normalise_value,
    restore_binaries,
    to_json,
)
from keyfold.values.numbers import (
    add_numbers,
    compare_numbers,
    is_plain_number,
    normalise_number,
    number_size_bytes,
    subtract_numbers,
)
from keyfold.values.order import (
    encode_number,
    encode_partition,
    encode_scalar,
    hash_row_key,
    prefix_end,
    terminate_part,
)
from keyfold.values.set_order import sort_members
from keyfold.values.sizes import (
    MAX_ITEM_BYTES,
    item_size_bytes,
    text_size_bytes,
    value_size_bytes,
)

__all__ = [
    "MAX_ITEM_BYTES",
    "MAX_NAME_BYTES",
    "MAX_NESTING",
    "NESTED_TOO_DEEP",
    "AttributeValue",
    "Item",
    "add_numbers",
    "compare_numbers",
    "encode_number",
    "encode_partition",
    "encode_scalar",
    "hash_row_key",
    "is_plain_number",
    "item_size_bytes",
    "normalise_item",
    "normalise_number",
    "normalise_value",
    "number_size_bytes",
    "prefix_end",
    "restore_binaries",
    "sort_members",
    "subtract_numbers",
    "terminate_part",
    "text_size_bytes",
    "to_json",
    "value_size_bytes",
]
