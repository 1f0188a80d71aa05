"""Pickles requests: tables, indexes and schemas are pickled by reference, as classes are.

A schema is found by its entity, a key part by its schema, a table by one of its entities and an index
by its table. So a request that was unpickled, in any process, refers to the same declarations.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import reduce
from typing import Any

from keyfold.errors import NotPicklable

# What `__reduce__` returns: a function, and its arguments.
Reduced = tuple[Callable[..., Any], tuple[Any, ...]]


def find_schema(entity: Any) -> Any:
    """Return the schema of an entity."""
    return entity.keyfold_schema()


def find_part(entity: Any, index: str | None, alternative: int, position: int) -> Any:
    """Return a part of an entity's key, or of one of its keys in an index."""
    schema = entity.keyfold_schema()
    found = (schema.keys,) if index is None else schema.index_alternatives[index]
    return found[alternative][position]


def reduce_part(owner: Any, part: Any) -> Reduced:
    """Return where a part is found among the keys of an entity."""
    schema = owner.keyfold_schema()
    for index, found in ((None, (schema.keys,)), *schema.index_alternatives.items()):
        for number, parts in enumerate(found):
            for position, each in enumerate(parts):
                if each is part:
                    return find_part, (owner, index, number, position)
    raise AssertionError(part)  # parts are found where they were declared


def find_table(entity: Any) -> Any:
    """Return the table of an entity."""
    return entity.keyfold_schema().table


def reduce_table(table: Any) -> Reduced:
    """Return an entity by which a table is found; raises NotPicklable if there is none."""
    for schema in table.entities.values():
        if is_importable(schema.entity):
            return find_table, (schema.entity,)
    fact = "none of its entities can be imported by name"
    raise NotPicklable(repr(table), fact, "Declare one at the top level of a module.")


def find_index(table: Any, name: str) -> Any:
    """Return an index of a table."""
    return next(each for each in table.indexes if each.name == name)


def check_function(request: object, function: Callable[..., Any]) -> None:
    """Raise NotPicklable for a request with a function that cannot be imported by name."""
    if not is_importable(function):
        name = getattr(function, "__qualname__", repr(function))
        fact = f"it holds the function {name}, which cannot be imported by name"
        advice = "Pass on the arguments of its pattern instead, or use a function of a module."
        raise NotPicklable(repr(request), fact, advice)


def is_importable(named: Any) -> bool:
    """Return whether a class or function is found under its own name, as pickle needs it."""
    try:
        module = sys.modules[named.__module__]
        return reduce(getattr, named.__qualname__.split("."), module) is named
    except (AttributeError, KeyError):
        return False
