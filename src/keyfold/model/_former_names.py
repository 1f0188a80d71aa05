"""Renamed attributes: requests that also work for items stored under former attribute names.

`attr("name", was="fullname")` renames an attribute without a rewrite of the table. An item is read
by the current name, or by the newest former name that it has. Conditions and updates are rewritten
to match: a condition tests the attribute that a read would use, and an update that sets the current
name removes the former ones in the same call, so that an old value never comes back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import assert_never

from keyfold.expressions import (
    Action,
    AddTo,
    And,
    Arithmetic,
    Between,
    Comparison,
    Condition,
    DeleteFrom,
    FunctionCall,
    In,
    Not,
    Operand,
    Or,
    Path,
    Remove,
    SetTo,
    Source,
    Value,
    paths_in,
)
from keyfold.model._codecs import ModelCodec
from keyfold.model._value_codecs import SETS, ValueCodec
from keyfold.values import AttributeValue

_ZERO: AttributeValue = {"N": "0"}


def has_former_names(codec: ModelCodec, seen: set[int] | None = None) -> bool:
    """Return whether a field of a model, or of a model nested in it, was renamed."""
    seen = set() if seen is None else seen
    if id(codec) in seen:
        return False
    seen.add(id(codec))
    return bool(codec.renamed) or any(
        has_former_names(nested, seen)
        for field in codec.fields.values()
        for nested in _nested_models(field.codec)
    )


def find_former_problems(
    owner: str, codec: ModelCodec, reserved: Iterable[str], seen: set[int] | None = None
) -> Iterator[str]:
    """Yield the problems of former names, which no other attribute of the item may have."""
    seen = set() if seen is None else seen
    if id(codec) in seen:
        return
    seen.add(id(codec))
    taken = {*reserved, *codec.by_stored}
    for field in codec.fields.values():
        for former in field.former:
            if former in taken:
                yield (
                    f"{owner}.{field.name}: was={former!r} is the name of another attribute, or "
                    "listed twice. Remove it from was."
                )
            taken.add(former)
        for nested in _nested_models(field.codec):
            yield from find_former_problems(nested.model.__name__, nested, (), seen)


def _nested_models(codec: ValueCodec) -> Iterator[ModelCodec]:
    if codec.model is not None:
        yield codec.model
    for each in codec.positions if codec.members is None else (codec.members,):
        yield from _nested_models(each)


# Paths.


def _former_steps(codec: ModelCodec, path: Path) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the position and the former names of each renamed step of a path."""
    model: ModelCodec | None = codec
    inner: ValueCodec | None = None
    for position, step in enumerate(path.steps):
        field = None if model is None else model.by_stored.get(str(step))
        if field is not None:
            inner = field.codec
            if field.former:
                yield position, field.former
        else:
            inner = None if inner is None else inner.member_at(step)
        model = None if inner is None else inner.model


def _former_paths(codec: ModelCodec, path: Path) -> list[Path]:
    """Return every other path that a value may be stored under, the newest first."""
    paths = [path]
    for position, names in _former_steps(codec, path):
        paths += [_rename(each, position, name) for each in paths for name in names]
    return paths[1:]


# Conditions.


def cover_former_names(
    codec: ModelCodec, condition: Condition, *, owner: str | None = None
) -> Condition:
    """Return a condition that tests an item under the names that a read would use.

    With an `owner`, only the paths of that entity are covered.
    """
    match condition:
        case And(conditions):
            return And(tuple(cover_former_names(codec, each, owner=owner) for each in conditions))
        case Or(conditions):
            return Or(tuple(cover_former_names(codec, each, owner=owner) for each in conditions))
        case Not(inner):
            return Not(cover_former_names(codec, inner, owner=owner))
        case Comparison() | Between() | In() | FunctionCall():
            covered: Condition = condition
            for path in dict.fromkeys(paths_in(condition)):
                is_own = owner is None or path.owner == owner
                former = _former_paths(codec, path) if is_own else []
                if former:
                    covered = _cover(covered, path, former)
            return covered
        case _:
            assert_never(condition)


def _cover(condition: Condition, path: Path, former: list[Path]) -> Condition:
    """Return a condition on `path` that tests the first of it and its former paths that exists."""
    first, *rest = former
    other = _substitute(condition, path, first)
    if rest:
        other = _cover(other, first, rest)
    match condition:
        case FunctionCall("attribute_exists"):
            return Or((condition, other))
        case FunctionCall("attribute_not_exists"):
            return And((condition, other))
        case _:
            is_present = FunctionCall("attribute_exists", (path,))
            is_absent = FunctionCall("attribute_not_exists", (path,))
            return Or((And((is_present, condition)), And((is_absent, other))))


def _substitute(condition: Condition, old: Path, new: Path) -> Condition:
    def swap(operand: Operand) -> Operand:
        if isinstance(operand, FunctionCall):
            return FunctionCall(operand.function, tuple(map(swap, operand.operands)))
        return new if operand == old else operand

    match condition:
        case Comparison(comparator, left, right):
            return Comparison(comparator, swap(left), swap(right))
        case Between(value, low, high):
            return Between(swap(value), swap(low), swap(high))
        case In(value, options):
            return In(swap(value), tuple(map(swap, options)))
        case FunctionCall(function, operands):
            return FunctionCall(function, tuple(map(swap, operands)))
        case And(conditions):
            return And(tuple(_substitute(each, old, new) for each in conditions))
        case Or(conditions):
            return Or(tuple(_substitute(each, old, new) for each in conditions))
        case Not(inner):
            return Not(_substitute(inner, old, new))
        case _:
            assert_never(condition)


# Updates.


def replace_former_names(codec: ModelCodec, actions: Iterable[Action]) -> tuple[Action, ...]:
    """Return actions that read values under any of their names, and remove the former names."""
    replaced: list[Action] = []
    for action in actions:
        path = action.path
        # Former names of the value that is changed; a renamed value around it is not moved.
        names = dict(_former_steps(codec, path)).get(len(path.steps) - 1, ())
        match action:
            case SetTo(_, source):
                replaced.append(SetTo(path, _read_any_name(codec, source)))
            case AddTo(_, value) if names and not _is_set(value):
                # ADD cannot read another attribute, but a sum can.
                current = _read_any_name(codec, FunctionCall("if_not_exists", (path, _ZERO)))
                replaced.append(SetTo(path, Arithmetic("+", current, value)))
            case Remove() | AddTo() | DeleteFrom():
                replaced.append(action)
            case _:
                assert_never(action)
        if not _is_set_change(action):
            replaced += (Remove(_rename(path, len(path.steps) - 1, name)) for name in names)
    return tuple(replaced)


def need_current_names(codec: ModelCodec, actions: Iterable[Action]) -> list[Condition]:
    """Return the conditions of actions that fail for an item stored under former names.

    DynamoDB cannot add to, or delete from, a set while it moves the set to another attribute, nor
    change a value inside one that it moves.
    """
    return [
        Or(
            (
                FunctionCall("attribute_exists", (_cut(action.path, position),)),
                FunctionCall(
                    "attribute_not_exists", (_rename(_cut(action.path, position), position, name),)
                ),
            )
        )
        for action, position, name in _immovable(codec, actions)
    ]


def find_former_name(
    codec: ModelCodec, actions: Iterable[Action], item: Mapping[str, AttributeValue]
) -> str | None:
    """Return a former name in an item because of which `need_current_names` fails; None if none."""
    for action, position, name in _immovable(codec, actions):
        if position == 0 and name in item and str(action.path.steps[0]) not in item:
            return name
    return None


def _immovable(codec: ModelCodec, actions: Iterable[Action]) -> Iterator[tuple[Action, int, str]]:
    """Yield the renamed steps of changes that cannot move a value to its current name."""
    for action in actions:
        for position, names in _former_steps(codec, action.path):
            if position < len(action.path.steps) - 1 or _is_set_change(action):
                yield from ((action, position, name) for name in names)


def _read_any_name(codec: ModelCodec, source: Source) -> Source:
    """Return a source that reads each path under the first of its names that exists."""
    if isinstance(source, Arithmetic):
        left, right = (_read_any_name(codec, each) for each in (source.left, source.right))
        return Arithmetic(source.operator, left, right)
    return _read_operand(codec, source)


def _read_operand(codec: ModelCodec, operand: Operand) -> Operand:
    match operand:
        case Path():
            *paths, last = operand, *_former_paths(codec, operand)
            return _first_of(paths, last)
        case FunctionCall("if_not_exists", (Path() as path, fallback)):
            paths = [path, *_former_paths(codec, path)]
            return _first_of(paths, _read_operand(codec, fallback))
        case FunctionCall(function, operands):
            return FunctionCall(function, tuple(_read_operand(codec, each) for each in operands))
        case _:
            return operand


def _first_of(paths: Iterable[Path], last: Operand) -> Operand:
    for path in reversed([*paths]):
        last = FunctionCall("if_not_exists", (path, last))
    return last


def _is_set_change(action: Action) -> bool:
    return isinstance(action, DeleteFrom) or (isinstance(action, AddTo) and _is_set(action.value))


def _is_set(value: Value) -> bool:
    return isinstance(value, dict) and not SETS.isdisjoint(value)


def _cut(path: Path, position: int) -> Path:
    return path._replace(steps=path.steps[: position + 1])


def _rename(path: Path, position: int, name: str) -> Path:
    return path._replace(steps=(*path.steps[:position], name, *path.steps[position + 1 :]))
