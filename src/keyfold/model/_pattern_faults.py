"""Why a pattern cannot be explained: a placeholder that it cannot take, or a fault of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, cast

from pydantic import ValidationError

from keyfold.errors import (
    IdInvalid,
    KeyfoldError,
    KeyPartInvalid,
    PatternFailed,
    PatternUnexplained,
    QueryInvalid,
    ValueInvalid,
)
from keyfold.model._index_reads import check_countable, check_readable
from keyfold.model._moments import SAMPLE_TIME
from keyfold.model._paged_reads import Count, Query, Scan
from keyfold.model._placeholders import Placeholder, has_placeholder
from keyfold.model._requests import Request
from keyfold.model._writes import Check, refuse_alone

_NAME = Placeholder.__name__
# Placeholders are shown as their text in braces.
_SHOWN = re.compile(r"\{[^{}]+\}")
# Type errors about the arguments of a function, or about values whose types they name.
_ABOUT_ARGUMENTS = re.compile(r"positional argument|keyword argument|required keyword-only")
_NAMES_TYPE = re.compile(r"'\w+'|\bnot \w+$")


def check_runnable(request: Request[Any]) -> None:
    """Raise the error that running a request would raise before its first call, whatever is stored."""
    match request:
        case Count():
            check_countable(request)
        case Query() | Scan():
            check_readable(cast("Query[Any] | Scan[Any]", request))
        case Check():
            refuse_alone(request)
        case Request():
            pass
        case _:
            raise QueryInvalid("its result", f"{request!r:.80} is not a request", "Return one.")
    try:
        request.calls(SAMPLE_TIME)
    except Exception as error:
        # Where a call depends on the value of a placeholder, nothing is known about it.
        if not _is_about_placeholder(error, ()):
            raise


def pattern_error(
    name: str, error: Exception, placeholders: Iterable[object]
) -> PatternFailed | PatternUnexplained:
    """Return the error of a pattern whose function raised `error` when it was explained."""
    if isinstance(error, ValidationError):
        fields = ", ".join(".".join(map(str, each["loc"])) for each in error.errors())
        if _is_about_placeholder(error, placeholders):
            return PatternUnexplained(name, f"{error.title} validates {fields} when it is created")
        return PatternFailed(name, type(error).__name__, f"{error.title} refuses {fields}")
    detail = str(error)
    if isinstance(error, KeyfoldError):
        detail = detail.removesuffix(f" [{error.code}]")
    detail = detail.rstrip(".")
    if _is_about_placeholder(error, placeholders):
        return PatternUnexplained(name, detail)
    return PatternFailed(name, type(error).__name__, detail)


def _is_about_placeholder(error: Exception, placeholders: Iterable[object]) -> bool:
    """Return whether an error is due to a placeholder, and not to the pattern itself."""
    match error:
        case ValidationError():
            return any(has_placeholder(each["input"]) for each in error.errors())
        case IdInvalid(received=shown) | KeyPartInvalid(received=shown) | ValueInvalid(fact=shown):
            return _SHOWN.search(shown) is not None
        case KeyfoldError():
            # Builders of requests let placeholders through, so it is the request that is wrong.
            return False
        case AttributeError():
            return isinstance(error.obj, Placeholder)
        case LookupError():
            return any(has_placeholder(each) for each in error.args)
        case TypeError():
            text = str(error)
            if _NAME in text or _is_raised_by_placeholder(error):
                return True
            is_clear = _ABOUT_ARGUMENTS.search(text) or _NAMES_TYPE.search(text)
            # Some functions do not say what they got, such as date.fromisoformat.
            return not is_clear and any(map(has_placeholder, placeholders))
        case ValueError():
            return _NAME in str(error) or _SHOWN.search(str(error)) is not None
        case _:
            return False


def _is_raised_by_placeholder(error: Exception) -> bool:
    """Return whether an operation of a placeholder raised the error, such as a comparison."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    return place is not None and isinstance(place.tb_frame.f_locals.get("self"), Placeholder)
