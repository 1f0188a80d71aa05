"""Errors take the facts that they declare, and have them as attributes."""

from __future__ import annotations

from typing import assert_type

from keyfold.errors import AlreadyExists, ConditionFailed, KeyfoldError, OptionInvalid

invalid = OptionInvalid("page", 0, advice="Give 1.")
assert_type(invalid.option, str)
assert_type(invalid.received, object)
assert_type(AlreadyExists("Order", "7", "it exists").found, object)


def wrong_facts() -> None:
    OptionInvalid("page", 0)  # error: reportCallIssue
    OptionInvalid(1, 0, "Give 1.")  # error: reportArgumentType
    OptionInvalid("page", 0, "Give 1.", "Give 2.")  # error: reportCallIssue
    invalid.fact  # error: reportAttributeAccessIssue, reportUnknownMemberType


def read_key(error: KeyfoldError) -> str:
    match error:
        case ConditionFailed(_, key):
            return assert_type(key, str)
        case _:
            return ""
