"""Types of attribute values and items in DynamoDB JSON."""

from __future__ import annotations

from typing import Any

# Exactly one entry: the type's name and its data. A TypedDict with ten optional entries would
# guarantee nothing more, and every access would need a cast.
AttributeValue = dict[str, Any]
Item = dict[str, AttributeValue]
