"""Updates: compute the new item from the old one.

Every source is evaluated on the old item. Positions in lists also refer to the old list: elements
are replaced first, then those set past the end are appended in the order of their positions, and
finally the removed elements are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, assert_never

from keyfold.errors import ValidationException
from keyfold.expressions.binder import incorrect_operand
from keyfold.expressions.comparison import SET_TYPES, type_name
from keyfold.expressions.conditions import Reader, path_reader
from keyfold.expressions.faults import ExpressionFault
from keyfold.expressions.measures import ValueMeasures
from keyfold.expressions.parser import parse_update
from keyfold.expressions.paths import Projection
from keyfold.expressions.placeholders import NO_PLACEHOLDERS, Placeholders
from keyfold.expressions.projections import resolve_disjoint
from keyfold.expressions.statement_sizes import may_be_too_large, statement_size_bytes
from keyfold.expressions.trees import (
    Action,
    AddTo,
    Arithmetic,
    DeleteFrom,
    FunctionCall,
    Operand,
    Path,
    Remove,
    SetTo,
    Steps,
    Value,
    ValuePlaceholder,
)
from keyfold.values import (
    MAX_ITEM_BYTES,
    MAX_NESTING,
    NESTED_TOO_DEEP,
    AttributeValue,
    Item,
    add_numbers,
    sort_members,
    subtract_numbers,
)
from keyfold.values.sizes import ELEMENT_BYTES

Evaluate = Callable[[Item], AttributeValue | None]
"""Returns the new value of a path, computed from the old item; None removes it."""

ADDABLE_TYPES = frozenset({"N"}) | SET_TYPES

_LONG_NAMES = {
    "S": "STRING",
    "N": "NUMBER",
    "B": "BINARY",
    "BOOL": "BOOLEAN",
    "NULL": "NULL",
    "L": "LIST",
    "M": "MAP",
    "SS": "STRING_SET",
    "NS": "NUMBER_SET",
    "BS": "BINARY_SET",
}

_BAD_OPERAND = "An operand in the update expression has an incorrect data type"
UPDATE_TOO_LARGE = "Item size to update has exceeded the maximum allowed size"

# Only updates with more changes than this measure each value: together, the others are not much
# longer than an item may be.
_FEW_CHANGES = 8
# No list of an item has as many elements, since each of them counts a byte.
_MAX_APPENDED = 1 << 21

_BAD_PATH = "The document path provided in the update expression is invalid for update"
_NO_ATTRIBUTE = "The provided expression refers to an attribute that does not exist in the item"


class PathChange(NamedTuple):
    """The change of one path."""

    steps: Steps
    source: Evaluate
    given: AttributeValue | None = None
    """The value in the request, if there is one: that of `SET path = :v` or `ADD path :v`."""


class UpdatePlan(NamedTuple):
    """An update bound to a request, which can be applied to an item."""

    changes: tuple[PathChange, ...]
    only_removes: bool
    """Whether it only removes or deletes: such an update does not create a missing item."""
    paths: tuple[Steps, ...]
    """Every path that it writes or reads."""
    statement_bytes: int = 0
    """The size of its update expression, if it may be too large for UpdateItem."""

    @property
    def attributes(self) -> frozenset[str]:
        """The top-level attributes that it writes."""
        return frozenset(str(change.steps[0]) for change in self.changes)

    def apply(self, item: Item) -> Item:
        """Return the updated item; `item` itself, which may consist of its key alone, is not changed.

        Raises ValidationException if the update cannot be applied to the item.
        """
        updated = dict(item)
        inner: dict[str, list[tuple[Steps, AttributeValue | None]]] = {}
        measures = ValueMeasures() if len(self.changes) > _FEW_CHANGES else None
        bytes_left = MAX_ITEM_BYTES
        for change in self.changes:
            steps = change.steps
            name: Any = steps[0]
            if len(steps) > 1:
                _check_parent(item, steps)
            value = change.source(item)
            if value is not None:
                if measures is None:
                    _check_nesting(value, len(steps) - 1)
                else:
                    # Measured before anything else: the values of a thousand changes may be one
                    # long list of the item, which the new item would have a thousand times.
                    step = change.steps[-1]
                    bytes_left -= measures.size_bytes(value)
                    bytes_left -= len(step) if isinstance(step, str) else ELEMENT_BYTES
                    if bytes_left < 0:
                        raise ValidationException(UPDATE_TOO_LARGE)
                    if len(steps) - 1 + measures.levels(value) >= MAX_NESTING:
                        raise ValidationException(NESTED_TOO_DEEP)
            if len(steps) > 1:
                inner.setdefault(name, []).append((steps[1:], value))
            elif value is None:
                updated.pop(name, None)
            else:
                updated[name] = value
        for name, changes in inner.items():
            updated[name] = _changed_inside(item[name], changes)
        return updated

    def project_touched(self, item: Item) -> Item:
        """Return the parts of `item` at the updated paths, for UPDATED_OLD and UPDATED_NEW."""
        return Projection.of(tuple(change.steps for change in self.changes)).apply(item)


def _check_parent(item: Item, steps: Steps) -> None:
    """Raise ValidationException unless the parent of a path is a map or list, as it requires."""
    parent = path_reader(steps[:-1])(item)
    if parent is None or ("M" if isinstance(steps[-1], str) else "L") not in parent:
        raise ValidationException(_BAD_PATH)


def _check_nesting(value: AttributeValue, depth: int) -> None:
    """Raise ValidationException if a value at this depth is nested too deep."""
    for kind, data in value.items():
        if kind not in ("L", "M"):
            return
        if depth >= MAX_NESTING - 1:
            raise ValidationException(NESTED_TOO_DEEP)
        for member in data if kind == "L" else data.values():
            _check_nesting(member, depth + 1)


def _changed_inside(
    value: AttributeValue, changes: list[tuple[Steps, AttributeValue | None]]
) -> AttributeValue:
    """Return a copy of a map or list with the given changes applied."""
    here: dict[Any, AttributeValue | None] = {}
    deeper: dict[Any, list[tuple[Steps, AttributeValue | None]]] = {}
    for steps, new in changes:
        if len(steps) == 1:
            here[steps[0]] = new
        else:
            deeper.setdefault(steps[0], []).append((steps[1:], new))
    if "M" in value:
        return {"M": _changed_map(value["M"], here, deeper)}
    return {"L": _changed_list(value["L"], here, deeper)}


def _changed_map(
    members: Item,
    here: dict[str, AttributeValue | None],
    deeper: dict[str, list[tuple[Steps, AttributeValue | None]]],
) -> Item:
    updated = dict(members)
    for name, new in here.items():
        if new is None:
            updated.pop(name, None)
        else:
            updated[name] = new
    for name, changes in deeper.items():
        updated[name] = _changed_inside(members[name], changes)
    return updated


def _changed_list(
    elements: list[AttributeValue],
    here: dict[int, AttributeValue | None],
    deeper: dict[int, list[tuple[Steps, AttributeValue | None]]],
) -> list[AttributeValue]:
    length = len(elements)
    updated: list[AttributeValue | None] = list(elements)
    for position, changes in deeper.items():
        updated[position] = _changed_inside(elements[position], changes)
    for position, new in sorted(here.items()):
        if position < length:
            updated[position] = new
        else:
            updated.append(new)
    return [element for element in updated if element is not None]


def bind_update(text: str, placeholders: Placeholders) -> UpdatePlan:
    """Parse an UpdateExpression and bind it to the request's names and values.

    >>> placeholders = Placeholders(None, {":one": {"N": "1"}})
    >>> plan = bind_update("SET hits = hits + :one REMOVE fresh", placeholders)
    >>> plan.apply({"hits": {"N": "41"}, "fresh": {"BOOL": True}})
    {'hits': {'N': '42'}}

    Raises ValidationException.
    """
    try:
        actions = parse_update(text)
        plan = compile_update(actions, placeholders)
        if may_be_too_large(text, placeholders):
            plan = plan._replace(statement_bytes=statement_size_bytes(actions, placeholders))
        return plan
    except ExpressionFault as fault:
        raise fault.to_service_error("UpdateExpression") from None


def compile_update(
    actions: tuple[Action, ...], placeholders: Placeholders = NO_PLACEHOLDERS
) -> UpdatePlan:
    """Bind and compile the actions of an update; raises ExpressionFault."""
    paths = resolve_disjoint(tuple(action.path for action in actions), placeholders)
    # The service checks the sources from the last to the first as well.
    binder = _SourceBinder(placeholders)
    sources = [binder.bind(action) for action in reversed(actions)]
    changes = tuple(
        PathChange(steps, source, _literal_value(action, placeholders))
        for steps, source, action in zip(paths, reversed(sources), actions, strict=True)
    )
    only_removes = all(isinstance(action, Remove | DeleteFrom) for action in actions)
    return UpdatePlan(changes, only_removes, paths + tuple(binder.paths))


def _literal_value(action: Action, placeholders: Placeholders) -> AttributeValue | None:
    match action:
        case SetTo(_, ValuePlaceholder(name)) | AddTo(_, ValuePlaceholder(name)):
            return placeholders.value(name)
        case SetTo(_, dict(value)) | AddTo(_, dict(value)):
            return value
        case _:
            return None


def plan_of(changes: tuple[PathChange, ...], *, only_removes: bool) -> UpdatePlan:
    """Return the plan of changes whose paths do not clash, and whose sources read no other path."""
    return UpdatePlan(changes, only_removes, tuple(change.steps for change in changes))


def check_updated_keys(plan: UpdatePlan, key_names: Iterable[str]) -> None:
    """Raise ValidationException if the update writes an attribute of the table's key."""
    attributes = plan.attributes
    for name in key_names:
        if name in attributes:
            raise ValidationException(
                "One or more parameter values were invalid: "
                f"Cannot update attribute {name}. This attribute is part of the key"
            )


def _check_section_type(section: str, value: AttributeValue, allowed: frozenset[str]) -> None:
    kind = type_name(value)
    if kind not in allowed:
        raise ExpressionFault(
            f"Incorrect operand type for operator or function; operator: {section}, "
            f"operand type: {_LONG_NAMES[kind]}, typeSet: ALLOWED_FOR_{section}_OPERAND"
        )


def add_to(
    current: AttributeValue | None, value: AttributeValue, *, mismatch: str
) -> AttributeValue:
    """Return `current` plus a number, a set's members, or a list's elements.

    Raises ValidationException with the message `mismatch` if the types differ.
    """
    if current is None:
        return value
    for kind, data in value.items():
        present = current.get(kind)
        if present is None:
            break
        if kind == "N":
            return {"N": add_numbers(present, data)}
        if kind == "L":
            return {"L": [*present, *data]}
        known = set(present)
        new = [member for member in data if member not in known]
        return {kind: sort_members(kind, [*present, *new])} if new else current
    raise ValidationException(mismatch)


def delete_from(
    current: AttributeValue | None, value: AttributeValue, *, mismatch: str
) -> AttributeValue | None:
    """Return a set without the members of another; None if no members are left.

    Raises ValidationException with the message `mismatch` if the types differ.
    """
    if current is None:
        return None
    for kind, data in value.items():
        present = current.get(kind)
        if present is None:
            break
        unwanted = set(data)
        left = [member for member in present if member not in unwanted]
        return {kind: left} if left else None
    raise ValidationException(mismatch)


def _data_of(value: AttributeValue, kind: str) -> Any:
    data = value.get(kind)
    if data is None:
        raise ValidationException(_BAD_OPERAND)
    return data


class _SourceBinder:
    """Compiles the sources of actions, and collects the paths that they read."""

    def __init__(self, placeholders: Placeholders) -> None:
        self._placeholders = placeholders
        self.paths: list[Steps] = []

    def bind(self, action: Action) -> Evaluate:
        match action:
            case SetTo(_, source):
                return self._bind_operand(source)
            case Remove():
                return lambda _: None
            case AddTo(path, operand):
                value = self._value(operand)
                _check_section_type("ADD", value, ADDABLE_TYPES)
                read = self._bind_path(path)
                return lambda item: add_to(read(item), value, mismatch=_BAD_OPERAND)
            case DeleteFrom(path, operand):
                value = self._value(operand)
                _check_section_type("DELETE", value, SET_TYPES)
                read = self._bind_path(path)
                return lambda item: delete_from(read(item), value, mismatch=_BAD_OPERAND)
            case _:
                assert_never(action)

    def _bind_path(self, path: Path) -> Reader:
        steps = self._placeholders.resolve(path)
        self.paths.append(steps)
        return path_reader(steps)

    def _value(self, operand: Value) -> AttributeValue:
        if isinstance(operand, ValuePlaceholder):
            return self._placeholders.value(operand.name)
        assert isinstance(operand, dict), operand  # the printer has resolved deferred values
        return operand

    def _bind_operand(self, operand: Operand | Arithmetic) -> Callable[[Item], AttributeValue]:
        if isinstance(operand, ValuePlaceholder):
            value = self._placeholders.value(operand.name)
            return lambda _: value
        if isinstance(operand, Path):
            read = self._bind_path(operand)

            def read_present(item: Item) -> AttributeValue:
                found = read(item)
                if found is None:
                    raise ValidationException(_NO_ATTRIBUTE)
                return found

            return read_present
        if isinstance(operand, FunctionCall):
            return self._bind_call(operand)
        if isinstance(operand, Arithmetic):
            return self._bind_arithmetic(operand)
        assert isinstance(operand, dict), operand
        return lambda _: operand

    def _bind_arithmetic(self, source: Arithmetic) -> Callable[[Item], AttributeValue]:
        operands = (source.left, source.right)
        read_left, read_right = map(self._bind_operand, operands)
        self._check_literals(source.operator, operands, "N")
        compute = add_numbers if source.operator == "+" else subtract_numbers

        def result(item: Item) -> AttributeValue:
            first = _data_of(read_left(item), "N")
            return {"N": compute(first, _data_of(read_right(item), "N"))}

        return result

    def _bind_call(self, call: FunctionCall) -> Callable[[Item], AttributeValue]:
        function, operands = call.function, call.operands
        sources = list(map(self._bind_operand, operands))
        if len(operands) != 2:  # noqa: PLR2004 - both functions of updates take two
            raise ExpressionFault(
                "Incorrect number of operands for operator or function; "
                f"operator or function: {function}, number of operands: {len(operands)}"
            )
        first, second = sources
        if function == "list_append":
            self._check_literals(function, operands, "L")

            def append(item: Item) -> AttributeValue:
                head, tail = _data_of(first(item), "L"), _data_of(second(item), "L")
                if len(head) + len(tail) > _MAX_APPENDED:
                    raise ValidationException(UPDATE_TOO_LARGE)
                return {"L": [*head, *tail]}

            return append
        assert function == "if_not_exists", function  # the parser rejects all others
        path = operands[0]
        if not isinstance(path, Path):
            raise ExpressionFault(
                f"Operator or function requires a document path; operator or function: {function}"
            )
        read = self._bind_path(path)

        def present_or_given(item: Item) -> AttributeValue:
            # The service evaluates the fallback even if it is not needed.
            given = second(item)
            present = read(item)
            return given if present is None else present

        return present_or_given

    def _check_literals(
        self, function: str, operands: tuple[Operand | Arithmetic, ...], allowed: str
    ) -> None:
        for operand in operands:
            if isinstance(operand, ValuePlaceholder | dict):
                kind = type_name(self._value(operand))
                if kind != allowed:
                    raise incorrect_operand(function, kind)
