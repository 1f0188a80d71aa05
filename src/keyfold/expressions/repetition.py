"""Decides whether an update is idempotent, so that it can be retried after an unknown outcome."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import assert_never

from keyfold.expressions.trees import (
    Action,
    AddTo,
    Arithmetic,
    DeferredValue,
    DeleteFrom,
    FunctionCall,
    Path,
    Remove,
    SetTo,
    Source,
    Steps,
    Value,
    ValuePlaceholder,
)
from keyfold.values import AttributeValue

_SETS = frozenset({"BS", "NS", "SS"})


def is_repeatable(
    actions: Iterable[Action],
    names: Mapping[str, str] | None = None,
    values: Mapping[str, AttributeValue] | None = None,
) -> bool:
    """Return whether running an update twice has the same effect as running it once.

    `names` and `values` are those of the request, for actions with placeholders.

    >>> counted = AddTo(Path(("hits",)), {"N": "1"})
    >>> is_repeatable([SetTo(Path(("name",)), {"S": "Ada"})]), is_repeatable([counted])
    (True, False)
    """
    check = _RepeatabilityCheck(names or {}, values or {})
    all_actions = tuple(actions)
    changed = {check.steps_of(action.path)[0] for action in all_actions}
    return all(check.may_repeat(action, changed) for action in all_actions)


class _RepeatabilityCheck:
    def __init__(self, names: Mapping[str, str], values: Mapping[str, AttributeValue]) -> None:
        self._names, self._values = names, values

    def steps_of(self, path: Path) -> Steps:
        if not path.has_placeholders:
            return path.steps
        return tuple(
            self._names.get(step, step) if isinstance(step, str) else step for step in path.steps
        )

    def may_repeat(self, action: Action, changed: set[str | int]) -> bool:
        steps = self.steps_of(action.path)
        # Setting a position past the end of a list appends each time. Removing an element moves
        # the elements after it.
        if any(isinstance(step, int) for step in steps):
            return False
        match action:
            case SetTo(_, source):
                return self._is_stable(source, steps, changed)
            case Remove():
                return True
            case AddTo(_, value) | DeleteFrom(_, value):
                # Adding members to a set, or deleting them, is idempotent. Adding numbers is not.
                return self._is_set(value)
            case _:
                assert_never(action)

    def _is_stable(self, source: Source, target: Steps, changed: set[str | int]) -> bool:
        """Return whether a source has the same value after the update as before it."""
        match source:
            case Path():
                return self.steps_of(source)[0] not in changed
            case FunctionCall("if_not_exists", (Path() as path, fallback)):
                # A path that is set to itself unless absent keeps its value from then on.
                is_same = self.steps_of(path) == target
                return (is_same or self._is_stable(path, target, changed)) and self._is_stable(
                    fallback, target, changed
                )
            case FunctionCall() | Arithmetic():
                return False
            case ValuePlaceholder() | DeferredValue() | dict():
                return True
            case _:
                assert_never(source)

    def _is_set(self, value: Value) -> bool:
        match value:
            case ValuePlaceholder(name):
                return not _SETS.isdisjoint(self._values.get(name, ()))
            case DeferredValue():
                return False
            case dict():
                return not _SETS.isdisjoint(value)
            case _:
                assert_never(value)
