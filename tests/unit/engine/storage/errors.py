"""Comparison of errors with those that are expected."""

from __future__ import annotations


def assert_same(found: object, expected: Exception) -> None:
    """Assert that an error has the type and the text of another."""
    assert type(found) is type(expected)
    assert str(found) == str(expected)
