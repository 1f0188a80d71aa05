"""Values as text for the messages of errors."""

from __future__ import annotations

MAX_SHOWN = 80
_KEPT = 60


def show(value: object) -> str:
    """Return a value as text for a message; a long one is cut off.

    >>> show("x#O"), show(7)
    ("'x#O'", '7')
    >>> show("x" * 81)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'… (81 characters)"
    """
    if isinstance(value, str):
        # Show an instance of a str subclass, such as an id or enum member, as its plain text.
        text = str.__str__(value)
        if len(text) <= MAX_SHOWN:
            return repr(text)
        return f"{text[:_KEPT]!r}… ({len(text)} characters)"
    try:
        shown = repr(value)
    except Exception:  # noqa: BLE001 # a failing __repr__ must not hide the error being reported
        return f"<{type(value).__name__}>"
    return shown if len(shown) <= MAX_SHOWN else f"{shown[:_KEPT]}… ({len(shown)} characters)"
