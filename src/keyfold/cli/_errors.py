"""Errors as commands print them: with command-line option names, as text or as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from keyfold.errors import (
    AccessDenied,
    ConditionFailed,
    KeyfoldError,
    OptionInvalid,
    ServiceError,
    TransactionFailed,
)

if TYPE_CHECKING:
    UsageError = typer.BadParameter
else:
    # The class of typer's usage errors, which typer does not export by name.
    UsageError = typer.BadParameter.__mro__[1]

ErrorFields = dict[str, str]

# Options whose command-line flag has another name, whether they were given or not.
_OPTION_NAMES = {"declared": "--table", "cursor_key": "KEYFOLD_CURSOR_KEY"}


class PublicError(Exception):
    """An error as an end user sees it: its code, and a message without keys."""

    def __init__(self, code: str, message: str, *, is_negative: bool) -> None:
        super().__init__(code, message)
        self.code, self.message, self.is_negative = code, message, is_negative

    def __str__(self) -> str:
        return f"{self.message} [{self.code}]"


def is_negative(error: BaseException) -> bool:
    """Return whether an error is a negative result: a failed condition, or a denial."""
    if isinstance(error, PublicError):
        return error.is_negative
    return isinstance(error, AccessDenied | ConditionFailed | TransactionFailed)


def asks_for_json(words: Sequence[str]) -> bool:
    """Return whether a command line asks for JSON.

    >>> asks_for_json(["verify", "shop.db", "--json"]), asks_for_json(["run", "--", "--json"])
    (True, False)
    """
    end = words.index("--") if "--" in words else len(words)
    return "--json" in words[:end]


def name_option(error: KeyfoldError, words: Sequence[str]) -> KeyfoldError:
    """Return an error with the option's command-line flag in place of its Python name.

    >>> print(name_option(OptionInvalid("read_rate", 0, "Give more."), ["--read-rate=0"]))
    --read-rate: got 0. Give more. [option-invalid]
    """
    if not isinstance(error, OptionInvalid):
        return error
    flag = "--" + error.option.replace("_", "-")
    is_given = any(word == flag or word.startswith(f"{flag}=") for word in words)
    called = flag if is_given else _OPTION_NAMES.get(error.option, error.option)
    return OptionInvalid(called, error.received, error.advice)


def to_json(error: KeyfoldError | PublicError | UsageError) -> dict[str, ErrorFields]:
    """Return an error as a JSON object: a stable code and the message."""
    if isinstance(error, PublicError):
        return {"error": {"code": error.code, "message": str(error)}}
    if isinstance(error, KeyfoldError):
        code = error.type if isinstance(error, ServiceError) else error.code
        return {"error": {"code": code, "message": str(error)}}
    return {"error": {"code": "usage", "message": error.format_message()}}


def print_error(error: KeyfoldError | PublicError | UsageError, *, as_json: bool) -> None:
    """Print an error to standard error; JSON is one line, so that it can be found in a log."""
    if as_json:
        print(json.dumps(to_json(error), ensure_ascii=False), file=sys.stderr)
    else:
        notes: list[str] = getattr(error, "__notes__", [])
        print("\n".join((f"keyfold: {error}", *notes)), file=sys.stderr)
