"""Tags of tables, and the ARNs by which requests name the tables."""

from __future__ import annotations

from typing import Any

from keyfold.api.shapes import plain_name
from keyfold.engine.metadata_operations import MetadataCall
from keyfold.engine.storage import StorageReader
from keyfold.engine.tables.catalog import read_body
from keyfold.engine.tables.table import TableBody
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
    _check_count(by_key)
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


def _check_count(tags: dict[str, str]) -> None:
    if len(tags) > MAX_TAGS:
        raise ValidationException(
            "Number of Tags exceed the current limit for the provided ResourceArn"
        )


def check_tags(request: dict[str, Any]) -> None:
    """Raise ValidationException for a request that adds no tags."""
    if not request.get("Tags"):
        raise ValidationException("Atleast one Tag needs to be provided as Input.")


def check_tag_keys(request: dict[str, Any]) -> None:
    """Raise ValidationException for a request that removes no tags."""
    if not request.get("TagKeys"):
        raise ValidationException("Atleast one Tag Key needs to be provided as Input.")


def find_tagged(reader: StorageReader, call: MetadataCall) -> TableBody:
    """Return the table that `ResourceArn` names.

    Raises ValidationException for an invalid ARN, ResourceNotFoundException for a missing table.
    """
    arn: str | None = call.request.get("ResourceArn")
    if not arn:
        raise ValidationException("Invalid TableArn")
    if not arn.startswith("arn:"):
        raise ValidationException(f"ARNs must start with 'arn:': {arn}")
    try:
        name = plain_name(arn)
    except ValidationException:
        message = f"Invalid TableArn: Invalid ResourceArn provided as input {arn}"
        raise ValidationException(message) from None
    body = read_body(reader, name)
    if body is None:
        raise ResourceNotFoundException(
            f"Requested resource not found: ResourcArn: {arn} not found"
        )
    return body


def add_tags(body: TableBody, call: MetadataCall) -> dict[str, Any]:
    """Add tags to a table, replacing those with the same keys."""
    body["tags"].update(read_tags(call.request["Tags"]))
    _check_count(body["tags"])
    return {}


def remove_tags(body: TableBody, call: MetadataCall) -> dict[str, Any]:
    """Remove tags from a table; keys that it does not have are ignored."""
    for key in call.request["TagKeys"]:
        body["tags"].pop(key, None)
    return {}


def list_tags(body: TableBody, _: MetadataCall) -> dict[str, Any]:
    """Return the tags of a table; never in pages, since a table has at most 50."""
    return {"Tags": [{"Key": key, "Value": value} for key, value in body["tags"].items()]}
