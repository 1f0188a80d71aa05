"""Request shapes: checks of requests against the API's model, before any semantic validation.

The service checks a request in two stages. The first rejects wrong JSON types with a
`SerializationException`. The second rejects values that break the constraints of the API's model
(required members, lengths, ranges, patterns, enumerations) with one `ValidationException` that
lists up to ten of them. `check` runs both stages, and is cheap for a valid request; `check_types`
is the full first stage, down to every attribute value.

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
