"""Request shapes: what every request must be before any rule about its meaning applies.

The service passes a request through two gates. The first refuses wrong JSON types with a
`SerializationException`; the second refuses values outside the constraints of the API's model
(required members, lengths, ranges, patterns, enumerations) with one `ValidationException` that
lists up to ten of them. `check` is both, and cheap for a request that passes; `check_types` is
the first one in full, down to every attribute value.

>>> check("GetItem", {"TableName": "Music", "Key": {"Artist": {"S": "Fela"}}})
>>> check("GetItem", {"TableName": "Music"})
Traceback (most recent call last):
...
keyfold.errors.ValidationException: ValidationException: 1 validation error detected: \
Value null at 'key' failed to satisfy constraint: Member must not be null
"""

from __future__ import annotations

from keyfold.api.shapes._check import check, check_types, known_part
from keyfold.api.shapes._names import plain_name, table_name

__all__ = ["check", "check_types", "known_part", "plain_name", "table_name"]
