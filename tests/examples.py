"""How many examples Hypothesis tries: a few in `make test`, many new ones in `make test-long`."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

LONG = "long"

# How many times as many a long run tries, where a test does not say.
_TIMES = 20


def examples(few: int, many: int | None = None, **options: Any) -> settings:
    """Return the settings of a test that tries `few` examples, or `many` in a long run."""
    in_long_run = many if many is not None else few * _TIMES
    return settings(max_examples=in_long_run if is_long_run() else few, **options)


def is_long_run() -> bool:
    """Tell whether this run explores."""
    return settings.get_current_profile_name() == LONG
