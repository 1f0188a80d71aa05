"""The options of an engine, checked before anything is opened."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from keyfold.api import WriteCheck
from keyfold.engine.storage import Durability
from keyfold.errors import OptionInvalid

MEMORY = ":memory:"
# By what requests are refused, besides on-demand maximums.
Throttling = Literal["partitions"]
NO_CHECKS: Mapping[str, WriteCheck] = MappingProxyType({})


def check_path(path: str | os.PathLike[str]) -> str:
    """Return the path of a file as text, or `":memory:"`; raises OptionInvalid."""
    advice = 'Name a file, or ":memory:".'
    try:
        name = os.fsdecode(path)
        name.encode()
    except (TypeError, ValueError):
        raise OptionInvalid("path", path, advice) from None
    if not name or "\0" in name:
        raise OptionInvalid("path", path, advice)
    return name


def check_buckets(buckets: str | os.PathLike[str] | None) -> Path | None:
    """Return the folder of buckets, as an absolute path; raises OptionInvalid."""
    if buckets is None:
        return None
    try:
        folder = Path(os.fsdecode(buckets))
        if folder.is_dir():
            return folder.absolute()
    except (TypeError, ValueError):
        pass
    raise OptionInvalid("buckets", buckets, "Name an existing folder.")


def check_write_checks(checks: Mapping[str, WriteCheck] | None) -> Mapping[str, WriteCheck]:
    """Return the checks of writes by table, which nobody can change; raises OptionInvalid."""
    if checks is None:
        return NO_CHECKS
    advice = "Give a mapping from table names to functions, as make_write_checks returns it."
    if not isinstance(checks, Mapping) or not all(map(callable, checks.values())):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not check types
        raise OptionInvalid("write_checks", checks, advice)
    return MappingProxyType(dict(checks))


def check_seconds(option: str, value: float | None, minimum: float) -> None:
    """Raise OptionInvalid for a duration that is too short, or that no thread can wait for."""
    if value is None and option == "upkeep_seconds":
        return
    if isinstance(value, int | float) and minimum <= value <= threading.TIMEOUT_MAX:
        return
    raise OptionInvalid(option, value, f"Give a number of seconds, {minimum:g} or more.")


def check_throttling(throttling: str | None) -> Throttling | None:
    """Return the option; raises OptionInvalid."""
    if throttling is None or throttling == "partitions":
        return throttling
    raise OptionInvalid("throttling", throttling, 'Give "partitions", or omit it.')


def check_durability(path: str, durability: Durability | None) -> Durability:
    """Return the durability of a database: the default if none is given; raises OptionInvalid."""
    default: Durability = "memory" if path == MEMORY else "durable"
    level = default if durability is None else durability
    if level not in ("durable", "process", "memory"):
        advice = 'Give "durable", "process" or, for ":memory:", "memory".'
        raise OptionInvalid("durability", durability, advice)
    if (level == "memory") is not (path == MEMORY):
        advice = 'Only ":memory:" has durability "memory"; files have "durable" or "process".'
        raise OptionInvalid("durability", durability, advice)
    return level
