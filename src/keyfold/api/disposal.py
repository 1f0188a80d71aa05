"""Frees large values bit by bit, so that other threads get a turn in between.

Python frees a list with everything in it at once, with the interpreter's lock held: a tenth of a second for
what 16 MB of JSON become.
"""

from __future__ import annotations

from sys import getrefcount
from typing import Any

# So many members are freed at once.
_PART = 500
# The references to a value that nobody else has: a variable, and the argument of `getrefcount`.
_OWN_REFERENCES = 2


def free_in_parts(values: list[Any]) -> None:
    """Empty a list of JSON values, and free what nobody else refers to.

    What somebody else does refer to stays as it is.

    >>> kept = {"a": [1, 2]}
    >>> values = [{"b": [3, 4]}, kept]
    >>> free_in_parts(values)
    >>> values, kept
    ([], {'a': [1, 2]})
    """
    part: list[Any]
    while values:
        value: Any = values.pop()
        # Otherwise, they would count as references.
        part, member, inner = [], None, None
        if getrefcount(value) > _OWN_REFERENCES:
            continue
        if value.__class__ is list:
            part = value[-_PART:]
            del value[-_PART:]
        elif value.__class__ is dict:
            part = [value.popitem()[1] for _ in range(min(_PART, len(value)))]
        if value and part:
            values.append(value)
        for member in part:
            if member.__class__ is dict:
                # Attribute values such as {"N": "1"} are freed as they are.
                for inner in member.values():
                    if inner.__class__ is dict or inner.__class__ is list:
                        values.append(member)
                        break
            elif member.__class__ is list and member:
                values.append(member)
