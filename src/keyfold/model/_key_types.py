"""Types of fields as parts of a key template."""

from __future__ import annotations

from typing import Any

from keyfold.keys._annotations import ConvertedType, find_type
from keyfold.model._codecs import StoredField, is_email
from keyfold.model._own_codecs import find_own_codec
from keyfold.model._scalar_codecs import find_plain_type


def find_key_type(field: StoredField) -> Any:
    """Return the type by which a key template renders and parses a field."""
    own = find_own_codec(field.metadata)
    if own is not None:
        return ConvertedType(field.type_name, own.kind, own.encode, own.decode)
    if field.codec.is_secret:
        return str  # which is refused with its own reason
    kind = find_type(field.annotation)
    return str if is_email(kind) else find_plain_type(kind)


def find_secret_problem(owner: str, field: StoredField, use: str) -> str:
    """Return why a secret cannot be in a key or unique."""
    return (
        f"{owner}.{field.name}: it is a secret, so it cannot be {use}: keys are shown in messages "
        "and logs. Store a hash of it in another field, and use that."
    )
