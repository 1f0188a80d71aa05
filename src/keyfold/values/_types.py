"""The shape of attribute values, as DynamoDB's JSON has them."""

from __future__ import annotations

from typing import Any

# Exactly one entry: the type's name and its data. A TypedDict with ten optional entries would
# promise no more, and every access would need a cast.
AttributeValue = dict[str, Any]
Item = dict[str, AttributeValue]
