"""Carries out edits, each on the condition that the item is still as it was read.

Items of entities are written by the store's own requests: they count versions, set times, and keep unique
values. An edit writes what differs, so that attributes which somebody adds meanwhile, or which are hidden
from a role, stay. An item of no entity is written as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from keyfold.errors import (
    ConditionalCheckFailedException,
    ConditionFailed,
    KeyfoldError,
    TransactionFailed,
    UniqueTaken,
)
from keyfold.expressions import (
    Action,
    Condition,
    FunctionCall,
    Path,
    Remove,
    RequestPrinter,
    SetTo,
    join_all,
)
from keyfold.model._operands import is_stored_as
from keyfold.model._schemas import EntitySchema
from keyfold.model._transactions import Transaction
from keyfold.model._updates import Update
from keyfold.model._writes import Delete, Presence, Put, Write
from keyfold.studio._actions import StudioCall
from keyfold.studio._problems import StudioProblem, describe_problem
from keyfold.studio._shown_items import name_item
from keyfold.studio.rooms._edit_conflicts import make_conflict
from keyfold.studio.rooms._edit_plans import ItemEdit, key_of
from keyfold.studio.rooms._edit_reads import find_hidden, read_item
from keyfold.values import AttributeValue, Item, restore_binaries

# DynamoDB takes expressions of 4 KB, and 300 operators.
MOST_CONDITIONS = 120
_MOST_ACTIONS = 100


def carry_out(call: StudioCall, edit: ItemEdit) -> Item | None:
    """Write an edit, and return the item that it left; None if it deleted it.

    Raises StudioProblem with the status 409 if the item is not as it was read any more, with 422 for a
    unique value that another item has, and the store's errors.
    """
    if edit.before == edit.after:
        return edit.after
    try:
        _write(call, edit)
    except UniqueTaken as error:
        raise _refuse_taken(error) from None
    except TransactionFailed as error:
        raise _explain_transaction(call, edit, error) from None
    except (ConditionFailed, ConditionalCheckFailedException) as error:
        raise make_conflict(call, edit, error) from None
    return _find_left(call, edit)


def _write(call: StudioCall, edit: ItemEdit) -> None:
    if edit.old is None and edit.new is None:
        _write_undeclared(call, edit)
        return
    if edit.after is None and edit.is_expired:
        # To the store's requests, there is nothing to delete; its guards have expired as well.
        _write_undeclared(call, edit)
        return
    call.store.run(_make_request(call, edit))


def _make_request(call: StudioCall, edit: ItemEdit) -> Any:
    if edit.before is None or (edit.is_expired and edit.after is not None):
        return _make_creation(edit)
    if edit.after is None:
        return _make_deletion(call, edit)
    if edit.moves:
        _check_nothing_hidden(call, edit, "A change of the key writes the item anew")
        return Transaction((_make_deletion(call, edit), _make_creation(edit)))
    return _make_change(call, edit)


def _make_creation(edit: ItemEdit) -> Put[Any]:
    assert edit.new is not None and edit.after is not None  # noqa: PT018 - as callers have checked
    item = restore_binaries(edit.after)
    # An expired item with this key counts as deleted.
    return Put(
        edit.table, edit.new, edit.value, item, Presence.MUST_NOT_EXIST, returns_nothing=True
    )


def _make_deletion(call: StudioCall, edit: ItemEdit) -> Delete[Any]:
    assert edit.old is not None  # items of no entity are written as they are
    condition = find_unchanged(call, edit)
    key = restore_binaries(edit.key)
    return Delete(edit.table, edit.old, key, {}, condition, returns_nothing=True)


def _make_change(call: StudioCall, edit: ItemEdit) -> Write[Any]:
    """Return an update of what differs; a put of the whole item where an update cannot do it."""
    assert edit.new is not None and edit.before is not None and edit.after is not None  # noqa: PT018
    condition = find_unchanged(call, edit)
    actions = tuple(_list_actions(edit))
    former = {name for each in edit.new.codec.renamed for name in each.former}
    is_current = former.isdisjoint({*edit.before, *edit.after})
    if edit.old is edit.new and is_current and len(actions) <= _MOST_ACTIONS:
        schema = edit.new if _counts_version(edit) else _without_version(edit.new)
        key = restore_binaries(edit.key)
        return Update(edit.table, schema, key, {}, actions, condition, returns_nothing=True)
    _check_nothing_hidden(call, edit, "This change writes the item anew")
    # The condition has the version that was read, and the item the next one.
    schema = _without_version(edit.new)
    item = restore_binaries(edit.after)
    return Put(
        edit.table, schema, edit.value, item, where_condition=condition, returns_nothing=True
    )


def _counts_version(edit: ItemEdit) -> bool:
    """Return whether the store can count the version up: not one that is no number."""
    version = None if edit.new is None else edit.new.version_field
    if version is None or edit.before is None:
        return True
    stored = edit.before.get(version.stored)
    return stored is None or "N" in stored


def _without_version(schema: EntitySchema) -> EntitySchema:
    return schema if schema.version_field is None else replace(schema, version_field=None)


def _list_actions(edit: ItemEdit) -> Iterator[Action]:
    """Yield what turns the item that was read into the edited one, without what the store sets."""
    assert edit.new is not None and edit.before is not None and edit.after is not None  # noqa: PT018
    before, after = restore_binaries(edit.before), restore_binaries(edit.after)
    own: set[str] = set()
    completion, version = edit.new.completion, edit.new.version_field
    if completion is not None and completion.updated is not None:
        own.add(completion.updated.stored)
    if version is not None and _counts_version(edit):
        own.add(version.stored)
    for name in dict.fromkeys([*before, *after]):
        if name in own or before.get(name) == after.get(name):
            continue
        path = Path((name,))
        yield SetTo(path, after[name]) if name in after else Remove(path)


def find_unchanged(call: StudioCall, edit: ItemEdit) -> Condition:
    """Return the condition that an item is as it was read: what it has, and what it lacks."""
    conditions = [is_stored_as(Path((name,)), value) for name, value in list_expected(call, edit)]
    partition = Path((edit.table.key.partition[0],))
    condition = join_all(FunctionCall("attribute_exists", (partition,)), *conditions)
    assert condition is not None  # there is at least one
    return condition


def list_expected(call: StudioCall, edit: ItemEdit) -> list[tuple[str, AttributeValue | None]]:
    """Return the attributes that a save checks, with the values that were read; None for absent ones.

    Those that the edit changes come first: a condition takes only so many.
    """
    before, after = restore_binaries(edit.before or {}), edit.after or {}
    schemas = [each for each in (edit.old, edit.new) if each is not None]
    declared: set[str] = set()
    declared = declared.union(after, *(each.declared_names for each in schemas))
    hidden = find_hidden(call, edit.key, declared)
    # Where an item has a former name of an attribute, requests look at both.
    renamed = {
        field.stored
        for schema in schemas
        for field in schema.codec.renamed
        if field.stored not in before and any(name in before for name in field.former)
    }
    names = [*before, *sorted(declared - before.keys() - hidden - renamed)]
    names = [name for name in names if name not in edit.table.key.names]
    changed = [name for name in names if (edit.before or {}).get(name) != after.get(name)]
    ordered = dict.fromkeys([*changed, *names])
    return [(name, before.get(name)) for name in [*ordered][:MOST_CONDITIONS]]


def count_unchecked(call: StudioCall, edit: ItemEdit) -> int:
    """Return how many attributes of an item its save does not check, as it has too many."""
    if edit.before is None:
        return 0
    checked = len(list_expected(call, edit)) + len(edit.table.key.names)
    return max(0, len(edit.before) - checked)


def _check_nothing_hidden(call: StudioCall, edit: ItemEdit, fact: str) -> None:
    """Raise StudioProblem if a write of a whole item could lose attributes that were not read."""
    declared = frozenset[str]() if edit.old is None else edit.old.declared_names
    hidden = find_hidden(call, edit.key, declared)
    if hidden:
        names = ", ".join(sorted(hidden))
        message = f"{fact}, which would lose {names}: they are hidden from the role."
        raise StudioProblem(403, "access-denied", message)


def _write_undeclared(call: StudioCall, edit: ItemEdit) -> None:
    """Write an item as it is: one of no entity, or the deletion of an expired one."""
    request: dict[str, Any] = {"TableName": edit.table.name}
    condition: Condition = FunctionCall(
        "attribute_not_exists", (Path((edit.table.key.partition[0],)),)
    )
    if edit.before is not None:
        condition = find_unchanged(call, edit)
    if edit.moves:
        fact = "An item of no entity keeps its key. Create another one, and delete this."
        raise StudioProblem(422, "edit-invalid", fact)
    printer = RequestPrinter()
    request["ConditionExpression"] = printer.write_condition(condition)
    printer.add_to(request)
    if edit.after is None:
        call.store.execute("DeleteItem", {**request, "Key": restore_binaries(edit.key)})
    else:
        call.store.execute("PutItem", {**request, "Item": restore_binaries(edit.after)})


def _find_left(call: StudioCall, edit: ItemEdit) -> Item | None:
    """Return the item that a write left. The store may have set the time of the write itself."""
    completion = None if edit.new is None else edit.new.completion
    if (
        edit.after is None
        or edit.before is None
        or completion is None
        or completion.updated is None
    ):
        return edit.after
    found = read_item(call, key_of(edit.table, edit.after))
    stored = completion.updated.stored
    expected = {**edit.after, stored: (found or {}).get(stored, {"NULL": True})}
    # Unless somebody has changed it already; an undo notices that.
    return found if found == expected else edit.after


# Errors.


def _refuse_taken(error: UniqueTaken) -> StudioProblem:
    fact = f"Another {error.entity} has this {error.field}."
    fields = [{"field": error.field, "message": fact}]
    return StudioProblem(422, error.code, fact, fields=fields)


def _explain_transaction(call: StudioCall, edit: ItemEdit, error: TransactionFailed) -> Exception:
    reasons: Iterable[KeyfoldError | None] = error.reasons
    deletion, creation = [*reasons, None, None][:2]
    for each in (deletion, creation):
        if isinstance(each, UniqueTaken):
            return _refuse_taken(each)
    if isinstance(deletion, ConditionFailed):
        return make_conflict(call, edit, deletion)
    if isinstance(creation, ConditionFailed) and edit.after is not None:
        key = key_of(edit.table, edit.after)
        fact = f"Another item has the key {name_item(edit.table, key)}."
        return StudioProblem(409, "already-exists", fact, taken=key)
    problem = describe_problem(error)
    return StudioProblem(problem.status, problem.code, problem.message)
