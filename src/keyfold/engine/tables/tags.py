"""Validation of tags, and of the ARNs of the tables that have them."""

from __future__ import annotations

from typing import Any

from keyfold.api.shapes import plain_name
from keyfold.engine.context import EngineContext
from keyfold.engine.tables.catalog import TABLE_RECORD
from keyfold.errors import ResourceNotFoundException, ValidationException

MAX_TAGS = 50
MAX_KEY_CHARACTERS = 128
MAX_VALUE_CHARACTERS = 256

_TAG_SIGNS = "+-=._:/@"


def read_tags(tags: list[dict[str, str]]) -> dict[str, str]:
    """Return tags by key; raise ValidationException for invalid, duplicate or too many tags."""
    for tag in tags:
        _check_tag(tag)
    by_key: dict[str, str] = {}
    for tag in tags:
        key = tag["Key"]
        if key in by_key:
            raise ValidationException(
                f"Duplicate Tag Keys provided as input: Duplicate Tag Key found {key}"
            )
        by_key[key] = tag["Value"]
    check_count(by_key)
    return by_key


def _check_tag(tag: dict[str, str]) -> None:
    key, value = tag.get("Key"), tag.get("Value")
    if not key or not _is_tag_text(key, MAX_KEY_CHARACTERS):
        shown = "null" if key is None else key
        raise ValidationException(f"The Tag Key provided is invalid, Key: {shown}")
    if key.startswith("aws:"):
        raise ValidationException(f"Tag Key cannot be prefixed with aws:, Key: {key}")
    if value is None or not _is_tag_text(value, MAX_VALUE_CHARACTERS):
        shown = "null" if value is None else value
        raise ValidationException(f"The Tag Value provided is invalid, Value: {shown}")


def _is_tag_text(text: str, longest: int) -> bool:
    return len(text) <= longest and all(
        character.isalnum() or character.isspace() or character in _TAG_SIGNS for character in text
    )


def check_count(tags: dict[str, str]) -> None:
    """Raise ValidationException if a table would have more tags than the service allows."""
    if len(tags) > MAX_TAGS:
        raise ValidationException(
            "Number of Tags exceed the current limit for the provided ResourceArn"
        )


def table_of_arn(context: EngineContext, request: dict[str, Any]) -> str:
    """Return the name of the table that `ResourceArn` names.

    Raises ValidationException for an invalid ARN, ResourceNotFoundException for a missing table.
    """
    arn: str | None = request.get("ResourceArn")
    if not arn:
        raise ValidationException("Invalid TableArn")
    if not arn.startswith("arn:"):
        raise ValidationException(f"ARNs must start with 'arn:': {arn}")
    try:
        name = plain_name(arn)
    except ValidationException:
        message = f"Invalid TableArn: Invalid ResourceArn provided as input {arn}"
        raise ValidationException(message) from None
    if context.storage.read(lambda reader: reader.get_record(TABLE_RECORD, name)) is None:
        raise ResourceNotFoundException(
            f"Requested resource not found: ResourcArn: {arn} not found"
        )
    return name
