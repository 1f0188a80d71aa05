"""Pagination of lists of exports, imports and bulk operations."""

from __future__ import annotations

from typing import Any, TypeVar

from keyfold.errors import ValidationException

T = TypeVar("T")

# How long the service lists finished jobs.
LISTED_SECONDS = 90 * 86_400
# The service's tokens consist of groups of eight bytes, seven groups at least.
_GROUP_BYTES = 8
_LEAST_BYTES = 56


def take_page(
    named: list[tuple[str, T]], limit: int, token: str | None
) -> tuple[list[T], dict[str, Any]]:
    """Return a page of objects that are named by ARNs or ids, in descending order of name.

    The second value holds the response's `NextToken`, if there are more. Raises
    ValidationException if `token` is invalid.
    """
    after = None if token is None else _read_token(token)
    ordered = sorted(named, key=lambda each: each[0], reverse=True)
    left = [each for each in ordered if after is None or each[0] < after]
    page = left[:limit]
    rest = {"NextToken": _to_token(page[-1][0])} if len(left) > limit else {}
    return [each for _, each in page], rest


def _to_token(arn: str) -> str:
    text = arn.encode()
    length = max(len(text) + -len(text) % _GROUP_BYTES, _LEAST_BYTES)
    return text.ljust(length).hex()


def _read_token(token: str) -> str:
    try:
        return bytes.fromhex(token).decode().rstrip()
    except ValueError:
        raise ValidationException("The provided NextToken is invalid") from None
